"""The values of a benchmark run: who competes, what was sampled, what the table shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

Sample = Mapping[str, float]  # always "ns"; more facts where the operation has them
Figures = dict[str, float]  # what a row shows, by column key


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that a row's figure should keep."""

    key: str
    limit: float
    text: str
    at_least: bool = False

    def met_by(self, figures: Figures) -> bool | None:
        """None: the figure was not measured."""
        if self.key not in figures:
            return None
        figure = figures[self.key]
        return figure >= self.limit if self.at_least else figure <= self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One row to be: a worker process that does the operation as often as it is told to."""

    name: str
    argv: tuple[str, ...]
    floor: bool = False
    against: str | None = None  # the row to divide by, where it is not the floor
    targets: tuple[Target, ...] = ()
    gate: Path | None = None  # opened while a batch runs: lets its floods loose
    batch: int | None = None  # instead of the pace's
    warm: int | None = None
    missing: str | None = None  # why there is nothing to start


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a case is repeated: batches in turn, until `rounds` or its share of the time is used."""

    batch: int
    warm: int = 1  # unmeasured runs before each batch
    first_warm: int = 1  # at least so many before the first: compiled modules, warm files
    rounds: int = 1000
    share: float = 1.0  # of the time of a run, relative to the other cases
    patience: float = 30.0  # for one batch, in seconds


@dataclass(slots=True)
class Outcome:
    """What one contender did: the samples of each round it was in, or why there are none."""

    rounds: dict[int, list[Sample]] = field(default_factory=dict)
    missing: str | None = None
    note: str = ""
    used: float = 0.0  # seconds, of the time of all

    @property
    def samples(self) -> list[Sample]:
        return [sample for batch in self.rounds.values() for sample in batch]


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of a table: its heading, its key, how it is printed."""

    heading: str
    key: str
    show: Callable[[float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A finished line of a table."""

    name: str
    figures: Figures
    count: int
    targets: tuple[tuple[Target, bool | None], ...] = ()
    missing: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What every case may use: the built floors, the peers' place, the room for scratch files."""

    floors: Path
    peers: Path
    scratch: Path
    quick: bool

    def floor(self, program: str, *args: str) -> tuple[str, ...]:
        return (str(self.floors / program), *args)


class Case(Protocol):
    """What a module of `cases/` offers."""

    @property
    def TITLE(self) -> str: ...
    @property
    def COLUMNS(self) -> Sequence[Column]: ...
    @property
    def RATIO_OF(self) -> str: ...  # the figure that the ratio divides; "" for none

    def pace(self, bench: Bench) -> Pace: ...
    def contenders(self, bench: Bench) -> list[Contender]: ...
    def figures(self, samples: Sequence[Sample]) -> Figures: ...
