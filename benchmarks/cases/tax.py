"""What being confined costs while a command runs: system calls and opened files, by thousands."""

from __future__ import annotations

from benchmarks.cases.common import LATENCY, fairlead
from benchmarks.figures import latency as figures
from benchmarks.model import Bench, Contender, Pace, Target

TITLE = "1,000 system calls and 1,000 opened files, inside and outside"
COLUMNS = LATENCY
RATIO_OF = "p50"
OUTSIDE = "getppid, outside"


def pace(bench: Bench) -> Pace:
    return Pace(batch=50, warm=5, rounds=200, share=0.5)


def contenders(bench: Bench) -> list[Contender]:
    """The program that is the floor is what runs inside, too: it answers through the sandbox."""
    scratch = bench.scratch
    opened = scratch / "opened"
    opened.touch()
    inside = (*fairlead(), "sandbox", "--cwd", str(scratch), "--")
    calls, filtered = bench.floor("calls", "getppid"), bench.floor("calls", "--filter", "getppid")
    opens = bench.floor("calls", "open", str(opened))
    opens_filtered = bench.floor("calls", "--filter", "open", str(opened))
    return [
        Contender(name=OUTSIDE, argv=calls, floor=True),
        Contender(name="getppid, any filter", argv=filtered),
        Contender(name="getppid, inside", argv=(*inside, *calls)),
        Contender(name="open+close, outside", argv=opens, against="open+close, outside"),
        Contender(
            name="open+close, any filter", argv=opens_filtered, against="open+close, outside"
        ),
        Contender(
            name="open+close, inside",
            argv=(*inside, *opens),
            against="open+close, outside",
            targets=(Target("ratio", 1.25, "≤ 1.25 x outside"),),
        ),
    ]


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
