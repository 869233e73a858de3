"""Words that others chose, made fit to stand in a sentence of ours."""

from __future__ import annotations

MOST = 200  # characters


def in_a_line(text: object) -> str:
    """Cut when long; what does not print (a line break, control, bidi, half a character) is shown
    as an escape, so that it can't break the line or turn it around."""
    whole = str(text)
    cut = whole if len(whole) <= MOST else f"{whole[:MOST]}…"
    return cut if cut.isprintable() else escaped(cut)


def escaped(text: str, *, keep: str = "") -> str:
    """The text with an escape for each character that does not print, except those to `keep`."""
    return "".join(one if one.isprintable() or one in keep else ascii(one)[1:-1] for one in text)
