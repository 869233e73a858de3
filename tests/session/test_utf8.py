"""Cutting bytes without cutting a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.session.utf8 import cut, incomplete_head, incomplete_tail


@pytest.mark.parametrize(
    ("data", "missing"),
    [
        (b"", 0),
        (b"a", 0),
        (b"a\xc3", 1),
        (b"a\xe2\x82", 2),
        (b"\xf0\x9f\x98", 3),
        ("é€😀".encode(), 0),
        (b"\xff", 0),
        (b"\xf8", 0),
        (b"\x80\x80\x80\x80", 0),
        (b"\xe2a", 0),
    ],
)
def test_the_start_of_a_character_at_the_end_is_seen(data: bytes, missing: int) -> None:
    """Bytes that may become a character with what follows are counted, others never."""
    assert incomplete_tail(data) == missing


@pytest.mark.parametrize(
    ("data", "belonging"),
    [(b"", 0), (b"a", 0), (b"\xac", 1), (b"\x82\xac.", 2), (b"\x9f\x98\x80", 3), (b"\x80" * 9, 3)],
)
def test_the_end_of_a_character_at_the_start_is_seen(data: bytes, belonging: int) -> None:
    """Continuation bytes at the start belong to what came before, at most three of them."""
    assert incomplete_head(data) == belonging


@given(st.text(min_size=1, max_size=60), st.integers(4, 20))
def test_text_is_cut_between_characters(text: str, limit: int) -> None:
    """Pieces of valid text are within the limit, valid themselves, and together the text."""
    data, pieces = text.encode("utf-8", "ignore"), []
    while data:
        size = cut(data, limit)
        pieces.append(data[:size])
        data = data[size:]
    assert all(0 < len(piece) <= limit for piece in pieces)
    assert "".join(piece.decode() for piece in pieces) == text.encode("utf-8", "ignore").decode()


@given(st.binary(max_size=100), st.integers(1, 20))
def test_any_bytes_are_cut_somewhere(data: bytes, limit: int) -> None:
    """Bytes that are no text are cut as well: never nothing, never more than the limit."""
    size = cut(data, limit)
    assert size <= limit
    assert (size == 0) == (data == b"")
