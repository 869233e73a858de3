"""Output as text that fits a model's context."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.output import StreamOutput
from fairlead.session.buffer import HeadTailBuffer
from fairlead.tools.text import (
    Shaped,
    shape,
    split_string,
    token_count,
    truncate,
    truncate_formatted,
)

CASES = json.loads((Path(__file__).parents[1] / "cases" / "output.json").read_text())
CUT = re.compile(r"…\d+ tokens truncated…")


@pytest.mark.parametrize("row", CASES["truncate_formatted"], ids=lambda row: str(row["policy"]))
def test_known_formatted_cases(row: dict[str, Any]):
    """Text and warning are word for word those of the table."""
    assert truncate_formatted(row["text"], **row["policy"]) == row["expect"]


@pytest.mark.parametrize("row", CASES["truncate_raw"], ids=lambda row: str(row["policy"]))
def test_known_raw_cases(row: dict[str, Any]):
    """The text without warning is that of the table, and so is the count where it was cut."""
    shown = truncate(row["text"], **row["policy"])
    assert shown == row["expect"]
    counted = None if shown == row["text"] else token_count(row["text"])
    assert counted == row.get("original_tokens", counted)


@pytest.mark.parametrize("row", CASES["split_string"], ids=lambda row: repr(row["text"]))
def test_known_splits(row: dict[str, Any]):
    """Head, tail and the number of characters between are those of the table."""
    head, removed, tail = split_string(row["text"], row["head"], row["tail"])
    assert [head, tail] == row["expect"]
    assert removed == row["removed_chars"]


@given(st.text(), st.integers(0, 40), st.integers(0, 40))
def test_a_split_loses_nothing_but_the_middle(text: str, head_bytes: int, tail_bytes: int):
    """Head, removed characters and tail add up to the text, within their bytes."""
    head, removed, tail = split_string(text, head_bytes, tail_bytes)
    assert text == head + text[len(head) : len(head) + removed] + tail
    assert len(head.encode()) <= head_bytes
    assert len(tail.encode()) <= tail_bytes


def test_a_token_is_four_bytes():
    """Bytes of UTF-8 count, not characters, and a rest is a token."""
    assert [token_count(text) for text in ("", "a", "abcd", "abcde", "😀é")] == [0, 1, 1, 2, 2]


def test_one_budget_must_be_given():
    """Tokens or bytes, not both and not neither."""
    with pytest.raises(TypeError):
        truncate("text")
    with pytest.raises(TypeError):
        truncate("text", tokens=1, bytes=1)


def test_what_fits_is_untouched():
    """Output within the budget is shown as it is."""
    assert shape(StreamOutput(head=b"one\n", tail=b"two"), 10) == Shaped(
        text="one\ntwo",
        original_token_count=2,
        truncated=False,
        total_lines=2,
        replaced_bytes=0,
        omitted_bytes=0,
    )


def test_what_does_not_fit_is_cut_and_warned_about():
    """Output over the budget has the warning, the number of lines and one mark."""
    shaped = shape(StreamOutput(head=b"0123456789\n" * 4), 4)
    assert shaped.text == (
        "Warning: truncated output (original token count: 11)\nTotal output lines: 4\n\n"
        "01234567…7 tokens truncated…3456789\n"
    )
    assert shaped.truncated


def test_a_hole_is_marked_where_it_is():
    """Where bytes were omitted and the rest fits, the marker stands between head and tail."""
    shaped = shape(StreamOutput(head=b"one", tail=b"two", omitted=1000), 20)
    assert shaped.text == "one\n... 1000 bytes omitted ...\ntwo"
    assert (shaped.original_token_count, shaped.truncated) == (252, False)
    assert shaped.omitted_bytes == 1000


def test_a_hole_in_what_does_not_fit_moves_to_the_warning():
    """Head and tail that do not fit are cut around the hole; its size is told above."""
    shaped = shape(StreamOutput(head=b"a" * 100, tail=b"b" * 100, omitted=1000), 10)
    assert shaped.text == (
        "Warning: truncated output (original token count: 300)\n... 1000 bytes omitted ...\n\n"
        + "a" * 20
        + "…40 tokens truncated…"
        + "b" * 20
    )
    assert shaped.truncated


def test_a_short_head_leaves_its_share_to_the_tail():
    """The mark stands where the hole is, however unequal its two sides are."""
    shaped = shape(StreamOutput(head=b"aa", tail=b"b" * 100, omitted=9), 10)
    assert shaped.text.endswith("\n\naa…16 tokens truncated…" + "b" * 38)


def test_a_marker_that_does_not_fit_is_still_shown():
    """If head and tail fit and only the marker does not, there is a mark all the same."""
    shaped = shape(StreamOutput(head=b"a" * 20, tail=b"b" * 20, omitted=9), 10)
    assert "... 9 bytes omitted ..." in shaped.text
    assert len(CUT.findall(shaped.text)) == 1


def test_broken_bytes_are_replaced_and_counted():
    """Bytes that are not UTF-8 show as replacement characters; how many they were is told."""
    shaped = shape(StreamOutput(head=b"a\xff\xfeb\xe2\x82c"), 10)
    assert shaped.text == "a\ufffd\ufffdb\ufffdc"
    assert shaped.replaced_bytes == 4
    assert shaped.original_token_count == 2


def test_a_character_across_head_and_tail_is_whole():
    """Where nothing is missing, a character may lie across the two parts."""
    whole = "naïve 😀".encode()
    for at in range(len(whole)):
        shaped = shape(StreamOutput(head=whole[:at], tail=whole[at:]), 10)
        assert (shaped.text, shaped.replaced_bytes) == ("naïve 😀", 0)


def test_a_character_cut_by_the_hole_counts_as_omitted():
    """Valid output never shows replacement characters, also if a hole went through a character."""
    for size in range(8, 24):
        buffer = HeadTailBuffer(size)
        buffer.push("é€😀".encode() * 10)
        shaped = shape(buffer.stream(), 100)
        kept = shaped.text.replace(f"\n... {shaped.omitted_bytes} bytes omitted ...\n", "")
        assert shaped.replaced_bytes == 0
        assert "\ufffd" not in kept
        assert len(kept.encode()) + shaped.omitted_bytes == 90


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 10**6), st.integers(0, 60))
def test_it_always_fits_and_has_one_mark(head: bytes, tail: bytes, omitted: int, tokens: int):
    """The body is within the budget, is marked at most once, and the count is of everything."""
    stream = StreamOutput(head=head, tail=tail, omitted=omitted)
    shaped = shape(stream, tokens)
    assert shaped.original_token_count == -(-stream.total // 4)
    assert len(CUT.findall(shaped.text)) == shaped.truncated
    assert shaped.text.startswith("Warning: ") == shaped.truncated
    if omitted:
        assert shaped.text.count(f"\n... {shaped.omitted_bytes} bytes omitted ...\n") == 1
    if shaped.truncated:
        _, body = shaped.text.split("\n\n", 1)
        assert len(CUT.sub("", body, count=1).encode()) <= 4 * tokens
    else:
        assert token_count(shaped.text) <= tokens
