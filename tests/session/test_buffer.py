"""The first and last bytes of a stream."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.output import StreamOutput
from fairlead.session.buffer import MIB, HeadTailBuffer

CASES = json.loads((Path(__file__).parents[1] / "cases" / "output.json").read_text())


def filled(max_bytes: int, *chunks: bytes | memoryview) -> HeadTailBuffer:
    buffer = HeadTailBuffer(max_bytes)
    for chunk in chunks:
        buffer.push(chunk)
    return buffer


@pytest.mark.parametrize("row", CASES["head_tail"], ids=lambda row: f"max {row['max']}")
def test_known_cases(row: dict[str, Any]):
    """Kept bytes, omitted count and rendering are those of the table."""
    buffer = filled(row["max"], *(chunk.encode() for chunk in row["chunks"]))
    assert buffer.omitted == row["omitted"]
    assert buffer.kept == row["bytes"].encode()
    assert buffer.render() == row.get("rendered", buffer.render().decode()).encode()


@given(st.integers(0, 30), st.lists(st.binary(max_size=40), max_size=12))
def test_it_equals_cutting_the_whole(max_bytes: int, chunks: list[bytes]):
    """However the stream is cut into pieces, head and tail are those of the whole."""
    whole = b"".join(chunks)
    buffer = filled(max_bytes, *chunks)
    head = min(len(whole), max_bytes // 2)
    tail = min(len(whole) - head, max_bytes - max_bytes // 2)
    assert buffer.head == whole[:head]
    assert buffer.tail == whole[len(whole) - tail :]
    assert buffer.omitted == len(whole) - head - tail
    assert buffer.total == len(whole)


Steps = st.lists(st.one_of(st.binary(max_size=15), st.integers(0, 15)), max_size=12)


@given(st.integers(0, 30), Steps)
def test_skipped_bytes_are_a_hole_with_true_neighbours(max_bytes: int, steps: list[bytes | int]):
    """With skips, head and tail are still a true beginning and end, and every byte is counted."""
    buffer = HeadTailBuffer(max_bytes)
    whole: list[int | None] = []  # None: a byte nobody saw
    for step in steps:
        if isinstance(step, int):
            buffer.skip(step)
            whole += [None] * step
        else:
            buffer.push(step)
            whole += step
    assert list(buffer.head) == whole[: len(buffer.head)]
    assert list(buffer.tail) == whole[len(whole) - len(buffer.tail) :]
    assert buffer.total == len(whole)
    assert len(buffer.kept) <= max_bytes


def test_no_marker_without_a_hole():
    """What fits is rendered as it came."""
    assert filled(10, b"01234", b"56789").render() == b"0123456789"


def test_memoryviews_are_copied():
    """A caller may reuse its read buffer at once."""
    scratch = bytearray(b"abcdef")
    buffer = filled(4, memoryview(scratch))
    scratch[:] = b"xxxxxx"
    assert buffer.kept == b"abef"


def test_clear_starts_anew():
    """After clear() nothing is left, not even the count or the knowledge of a skip."""
    buffer = filled(4, b"abcdef")
    buffer.skip(3)
    buffer.clear()
    buffer.push(b"xyz")
    assert buffer.stream() == StreamOutput(head=b"xy", tail=b"z")


def test_single_bytes_cost_no_more_than_the_limit():
    """Many single bytes hold about as much memory as is kept: there are no per-piece objects."""
    limit = 64 * 1024
    tracemalloc.start()
    try:
        buffer = HeadTailBuffer(limit)
        for _ in range(2 * limit):
            buffer.push(b"x")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert buffer.omitted == limit
    assert peak < limit * 5 // 4


def test_a_huge_piece_is_not_copied():
    """Of 64 MiB in one piece only what is kept is copied."""
    huge = bytes(64 * MIB)
    tracemalloc.start()
    try:
        buffer = filled(MIB, huge)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert buffer.omitted == 63 * MIB
    assert peak < 2 * MIB
