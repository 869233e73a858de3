"""100 MB of output through a PTY."""

from __future__ import annotations

from benchmarks.cases import output
from benchmarks.cases.common import RATES
from benchmarks.cases.output import pace
from benchmarks.figures import rate as figures
from benchmarks.model import Bench, Contender, Target

TITLE = "100 MB of output by PTY (--quick: 20 MB)"
COLUMNS = RATES
RATIO_OF = "rate"
TARGET = Target("ratio", 0.90, "≥ 90 % of a C read loop", at_least=True)


def contenders(bench: Bench) -> list[Contender]:
    return output.contenders(bench, tty=True, target=TARGET)


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
