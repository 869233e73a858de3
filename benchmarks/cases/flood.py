"""64 sessions flood while one answers: the echo of that one."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.cases.common import LATENCY, program
from benchmarks.figures import latency, show_rate
from benchmarks.model import Bench, Column, Contender, Figures, Pace, Sample, Target
from benchmarks.rivals import enter_all, new_gate

TITLE = "echo of one session while 64 flood (flood MB/s: what was read of them meanwhile)"
COLUMNS = (*LATENCY, Column("flood MB/s", "flood_rate", show_rate))
RATIO_OF = "p50"
TARGET = Target("p99", 5e6, "p99 ≤ 5 ms")
FLOODS = 64


def pace(bench: Bench) -> Pace:
    return Pace(batch=40, warm=2, share=2.0)


def contenders(bench: Bench) -> list[Contender]:
    producer, gate = str(bench.floors / "flood"), new_gate(bench, "floor.gate")
    least = bench.floor("echo", program("bash"), str(FLOODS), producer, str(gate))
    return [
        Contender(name="C, floods in a thread", argv=least, floor=True, gate=gate),
        *enter_all(
            bench,
            "flood",
            {"count": FLOODS, "producer": producer},
            targets=(TARGET,),
            gated=True,
        ),
    ]


def figures(samples: Sequence[Sample]) -> Figures:
    rates = [sample["flood_rate"] for sample in samples]
    return {**latency(samples), "flood_rate": statistics.median(rates)}


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
