"""A command line tool from a cold start to its end, beside an empty Python."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.cases.common import LATENCY, program
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
    run = (*_fairlead(), "run", "--", true)
    call = (*_fairlead(), "call", "shell", '{"command": ["true"]}')
    return [
        Contender(name="python -c pass", argv=bare, floor=True),
        Contender(name="fairlead run -- true", argv=bench.floor("spawn", *run), targets=(TARGET,)),
        Contender(name="fairlead call shell", argv=bench.floor("spawn", *call)),
        Contender(
            name="codex sandbox -- true",
            argv=bench.floor("spawn", codex or "", "sandbox", "--", true),
            missing=None if codex else NOT_INSTALLED,
        ),
    ]


def _fairlead() -> tuple[str, ...]:
    """The installed command of this Python, else its module."""
    beside = Path(sys.executable).with_name("fairlead")
    found = str(beside) if beside.exists() else shutil.which("fairlead")
    return (found,) if found else (sys.executable, "-m", "fairlead")


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
