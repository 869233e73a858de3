"""A command in a live shell, with its output alone, its exit code and the directory after it."""

from __future__ import annotations

from benchmarks.cases.common import LATENCY, program
from benchmarks.figures import latency as figures
from benchmarks.model import Bench, Contender, Pace, Target
from benchmarks.rivals import RIVALS, SMALL, enter, enter_all

TITLE = "`echo hi` in a live shell, with exit code and directory"
COLUMNS = LATENCY
RATIO_OF = "p50"
TARGET = Target("p50", 1e6, "p50 ≤ 1 ms")


def pace(bench: Bench) -> Pace:
    return Pace(batch=20, warm=3)


def contenders(bench: Bench) -> list[Contender]:
    openhands = next(rival for rival in RIVALS if rival.name == "OpenHands")
    return [
        Contender(
            name="C, bash on pipes",
            argv=bench.floor("session", program("bash")),
            floor=True,
        ),
        *enter_all(bench, "session_command", {}, targets=(TARGET,)),
        enter(
            bench,
            openhands,
            "session_command",
            {"kind": "subprocess"},
            name="OpenHands, without tmux",
            **SMALL,
        ),
    ]


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
