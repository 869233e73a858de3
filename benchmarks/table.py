"""Rows as text: one table per case, every missing peer in its place."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.model import Case, Column, Row

VERDICT = {True: "met", False: "MISSED", None: "not measured"}


def render(title: str, columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """The table of one case."""
    headings = ["", *(column.heading for column in columns), "n", "target"]
    lines = [headings, *(_cells(row, columns) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    text = [f"\n{title}", "-" * len(title)]
    for line, row in zip(lines, (None, *rows), strict=True):
        text.append(_line(line, widths, row))
    return "\n".join(text)


def verdicts(row: Row) -> str:
    """What became of a row's targets."""
    return ", ".join(f"{target.text}: {VERDICT[met]}" for target, met in row.targets)


def summary(results: Sequence[tuple[Case, Sequence[Row]]]) -> str:
    """Every target of the run in one list."""
    lines = ["", "Targets", "-------"]
    for case, rows in results:
        lines += [f"{case.TITLE}: {row.name}: {verdicts(row)}" for row in rows if row.targets]
    return "\n".join(lines)


def _cells(row: Row, columns: Sequence[Column]) -> list[str]:
    figures = [
        column.show(row.figures[column.key]) if column.key in row.figures else ""
        for column in columns
    ]
    return [row.name, *figures, str(row.count) if row.count else "", verdicts(row)]


def _line(cells: Sequence[str], widths: Sequence[int], row: Row | None) -> str:
    if row is not None and row.missing is not None:
        wanted = f"  ({verdicts(row)})" if row.targets else ""
        return f"{cells[0].ljust(widths[0])}  missing: {row.missing}{wanted}"
    numbers = [cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:-1], strict=True)]
    note = f"  {row.note}" if row is not None and row.note else ""
    return "  ".join([cells[0].ljust(widths[0]), *numbers, cells[-1]]).rstrip() + note
