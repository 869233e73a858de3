"""A command line tool from a cold start to its end, beside an empty Python."""

from __future__ import annotations

import sys

from benchmarks.cases.common import LATENCY, fairlead, program
from benchmarks.figures import latency as figures
from benchmarks.model import Bench, Contender, Pace, Target
from benchmarks.rivals import NOT_INSTALLED, codex_binary

TITLE = "command line, cold start"
COLUMNS = LATENCY
RATIO_OF = "p50"
TARGET = Target("ratio", 2.5, "≤ 2.5 x python -c pass")


def pace(bench: Bench) -> Pace:
    return Pace(batch=1, warm=0, rounds=100)


def contenders(bench: Bench) -> list[Contender]:
    true, codex = program("true"), codex_binary(bench.peers)
    bare = bench.floor("spawn", sys.executable, "-c", "pass")
    bare_run = (*fairlead(), "run", "--preset", "full-access", "--", true)
    confined_run = (*fairlead(), "run", "--cwd", str(bench.scratch), "--", true)
    sandbox = (*fairlead(), "sandbox", "--cwd", str(bench.scratch), "--", true)
    call = (*fairlead(), "call", "shell", '{"command": ["true"]}')
    return [
        Contender(name="python -c pass", argv=bare, floor=True),
        Contender(
            name="fairlead run, full access",
            argv=bench.floor("spawn", *bare_run),
            targets=(TARGET,),
        ),
        Contender(name="fairlead run, confined", argv=bench.floor("spawn", *confined_run)),
        Contender(name="fairlead sandbox", argv=bench.floor("spawn", *sandbox)),
        Contender(name="fairlead call shell, confined", argv=bench.floor("spawn", *call)),
        Contender(
            name="codex sandbox -- true",
            argv=bench.floor("spawn", codex or "", "sandbox", "--", true),
            missing=None if codex else NOT_INSTALLED,
        ),
    ]


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
