"""100 MB of output through a pipe."""

from __future__ import annotations

from benchmarks.cases import output
from benchmarks.cases.common import RATES
from benchmarks.cases.output import pace
from benchmarks.figures import rate as figures
from benchmarks.model import Bench, Contender, Target

TITLE = "100 MB of output by pipe"
COLUMNS = RATES
RATIO_OF = "rate"
TARGET = Target("ratio", 0.70, "≥ 70 % of a C read loop", at_least=True)


def contenders(bench: Bench) -> list[Contender]:
    return output.contenders(bench, tty=False, target=TARGET)


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
