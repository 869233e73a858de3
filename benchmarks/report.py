"""From outcomes to rows: figures, ratios to the floor, what became of the targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.figures import paired_ratio
from benchmarks.model import Case, Contender, Figures, Outcome, Row


def rows(case: Case, contenders: Sequence[Contender], outcomes: Mapping[str, Outcome]) -> list[Row]:
    """One row for each contender, the missing ones too."""
    floor = next(contender.name for contender in contenders if contender.floor)
    finished = []
    for contender in contenders:
        outcome = outcomes[contender.name]
        figures: Figures = {}
        if outcome.samples:
            figures = case.figures(outcome.samples)
            figures |= _compared(case, outcome, outcomes[contender.against or floor])
        finished.append(
            Row(
                name=contender.name,
                figures=figures,
                count=len(outcome.samples),
                targets=tuple((target, target.met_by(figures)) for target in contender.targets),
                missing=outcome.missing,
                note=outcome.note,
            )
        )
    return finished


def _compared(case: Case, own: Outcome, floor: Outcome) -> Figures:
    """The ratio to the floor and, for times, the difference."""
    if not case.RATIO_OF or not floor.samples:
        return {}
    key = case.RATIO_OF
    mine = {turn: case.figures(batch)[key] for turn, batch in own.rounds.items()}
    least = {turn: case.figures(batch)[key] for turn, batch in floor.rounds.items()}
    ratio = paired_ratio(mine, least)
    over = case.figures(own.samples)[key] - case.figures(floor.samples)[key]
    return {"over": over} if ratio is None else {"ratio": ratio, "over": over}
