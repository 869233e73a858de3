"""What `import` costs in time and memory, beside an empty Python."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

from benchmarks.cases.common import RATIO, TIMES
from benchmarks.figures import latency, show_kib, show_time
from benchmarks.model import Bench, Column, Contender, Figures, Pace, Sample, Target
from benchmarks.rivals import LEFT_OUT, NOT_INSTALLED

TITLE = "import time and memory (peers under their own Python)"
COLUMNS = (
    *TIMES,
    RATIO,
    Column("over floor", "over", show_time),
    Column("memory", "rss", show_kib),
)
RATIO_OF = "p50"
TARGET = Target("over", 80e6, "≤ 80 ms over bare Python")
OURS = ("import asyncio", "import fairlead", "import fairlead; fairlead.Engine")
PEERS = {
    "pexpect": "import pexpect",
    "swe-rex": "import swerex.runtime.local",
    "openhands-tools": "import openhands.tools.terminal",
    "openai-agents": "import agents.sandbox.sandboxes.unix_local",
}


def pace(bench: Bench) -> Pace:
    return Pace(batch=1, warm=0, rounds=100, share=1.5)


def contenders(bench: Bench) -> list[Contender]:
    def run(python: str, code: str) -> tuple[str, ...]:
        return bench.floor("spawn", python, "-c", code)

    def entered(peer: str, code: str) -> Contender:
        python = bench.peers / peer / "bin" / "python"
        missing = None if python.exists() else NOT_INSTALLED
        if bench.quick and peer != "pexpect":
            missing = missing or LEFT_OUT
        return Contender(name=code, argv=run(str(python), code), missing=missing)

    bare = Contender(name="python -c pass", argv=run(sys.executable, "pass"), floor=True)
    ours = [
        Contender(
            name=code,
            argv=run(sys.executable, code),
            targets=(TARGET,) if "fairlead" in code else (),
        )
        for code in OURS
    ]
    return [bare, *ours, *(entered(peer, code) for peer, code in PEERS.items())]


def figures(samples: Sequence[Sample]) -> Figures:
    resident = statistics.median(sample["rss_kib"] for sample in samples)
    return {**latency(samples), "rss": resident}


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
