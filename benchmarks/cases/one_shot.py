"""A process from its start to its end, its output read."""

from __future__ import annotations

from benchmarks.cases.common import LATENCY, program
from benchmarks.figures import latency as figures
from benchmarks.model import Bench, Contender, Pace, Target
from benchmarks.rivals import enter_all

TITLE = "one-shot `true`"
COLUMNS = LATENCY
RATIO_OF = "p50"
TARGET = Target("ratio", 1.5, "≤ 1.5 x floor")


def pace(bench: Bench) -> Pace:
    return Pace(batch=8, warm=2)


def contenders(bench: Bench) -> list[Contender]:
    true = program("true")
    return [
        Contender(name="C vfork+exec+wait", argv=bench.floor("spawn", true), floor=True),
        Contender(name="C, reading two pipes", argv=bench.floor("spawn", "--capture", true)),
        *enter_all(bench, "spawn", {"argv": [true]}, targets=(TARGET,)),
    ]


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
