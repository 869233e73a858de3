"""1,000 PTY sessions in which nothing happens: what each costs in the process that holds them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.figures import show_kib, show_time
from benchmarks.model import Bench, Column, Contender, Figures, Pace, Sample, Target
from benchmarks.rivals import enter_all

TITLE = "1,000 idle PTY sessions: memory in the process that holds them (--quick: 200)"
COLUMNS = (Column("memory each", "each", show_kib), Column("opening each", "opening", show_time))
RATIO_OF = ""
TARGET = Target("each", 32, "≤ 32 KiB each")
FULL = 1000
QUICK = 200


def pace(bench: Bench) -> Pace:
    return Pace(batch=1, warm=0, first_warm=0, rounds=1)


def contenders(bench: Bench) -> list[Contender]:
    idler, count = str(bench.floors / "idler"), QUICK if bench.quick else FULL
    return [
        Contender(name="C, posix_openpt", argv=bench.floor("idle", str(count), idler), floor=True),
        *enter_all(bench, "idle", {"count": count, "argv": [idler]}, targets=(TARGET,)),
    ]


def figures(samples: Sequence[Sample]) -> Figures:
    return {
        "each": statistics.median(sample["rss_kib"] / sample["sessions"] for sample in samples),
        "opening": statistics.median(sample["ns"] / sample["sessions"] for sample in samples),
    }


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
