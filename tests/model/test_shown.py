"""Words that others chose."""

from __future__ import annotations

import pytest

from fairlead.model.shown import MOST, escaped, in_a_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("naïve ☃", "naïve ☃"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\u202eb", r"a\u202eb"),
        ("\udcff", r"\udcff"),
        ("x" * MOST, "x" * MOST),
        ("x" * (MOST + 1), "x" * MOST + "…"),
    ],
)
def test_nothing_breaks_the_line(text: str, shown: str) -> None:
    """What prints stays as it is, what does not is escaped, what is long is cut."""
    assert in_a_line(text) == shown


def test_some_may_stay() -> None:
    """Where several lines are meant, line breaks are no danger."""
    assert escaped("a\n\tb\r", keep="\n\t") == "a\n\tb\\r"
