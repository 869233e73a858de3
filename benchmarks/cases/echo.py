"""A line typed into a live bash on a PTY, until its answer is there."""

from __future__ import annotations

from benchmarks.cases.common import LATENCY, program
from benchmarks.figures import latency as figures
from benchmarks.model import Bench, Contender, Pace, Target
from benchmarks.rivals import enter_all

TITLE = "PTY round trip of `echo hi` in a live bash"
COLUMNS = LATENCY
RATIO_OF = "p50"
TARGET = Target("ratio", 1.5, "≤ 1.5 x bare PTY loop")


def pace(bench: Bench) -> Pace:
    return Pace(batch=20, warm=5)


def contenders(bench: Bench) -> list[Contender]:
    bare = bench.floor("echo", program("bash"))
    return [
        Contender(name="C, bare PTY loop", argv=bare, floor=True),
        *enter_all(bench, "echo", {}, targets=(TARGET,)),
    ]


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
