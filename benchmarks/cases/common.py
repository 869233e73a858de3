"""What several cases share: their columns, and where the programs are."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.figures import show_kib, show_rate, show_ratio, show_time
from benchmarks.model import Column

RATIO = Column("x floor", "ratio", show_ratio)
TIMES = (
    Column("p50", "p50", show_time),
    Column("p95", "p95", show_time),
    Column("p99", "p99", show_time),
)
LATENCY = (*TIMES, RATIO)
RATES = (
    Column("MB/s", "rate", show_rate),
    Column("worst", "worst", show_rate),
    Column("memory +", "grown", show_kib),
    RATIO,
)


def program(name: str) -> str:
    """Its full path: a search is not to be measured."""
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name}: the benchmarks need it")
    return found


def fairlead() -> tuple[str, ...]:
    """The installed command of this Python, else its module."""
    beside = Path(sys.executable).with_name("fairlead")
    found = str(beside) if beside.exists() else shutil.which("fairlead")
    return (found,) if found else (sys.executable, "-m", "fairlead")
