"""`resize`: a size that a terminal can have."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.params import Size
from fairlead.tools.resize import parse
from tests.tools.refusals import refusal


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (50, 132), (1000, 1000)])
def test_accepted(rows: int, cols: int) -> None:
    """From one cell to a thousand each way."""
    assert parse({"session_id": 1, "rows": rows, "cols": cols}).size == Size(rows, cols)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, 'resize: missing required fields "session_id", "rows", "cols"'),
        (
            {"session_id": 1, "rows": 0, "cols": 1},
            "resize.rows: must be between 1 and 1000, got 0",
        ),
        (
            {"session_id": 1, "rows": 1, "cols": 1001},
            "resize.cols: must be between 1 and 1000, got 1001",
        ),
        (
            {"session_id": 1, "columns": 80, "rows": 1},
            'resize: unknown field "columns" (did you mean "cols"?); '
            "allowed: session_id, rows, cols",
        ),
    ],
)
def test_refused(given: dict[str, Any], text: str) -> None:
    """A size beyond that is refused, never clamped."""
    assert refusal(parse, given) == text
