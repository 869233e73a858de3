"""Lines in and out of descriptors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from fairlead.mcp import wire
from fairlead.mcp.wire import Writer, read_lines


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for fd in ends:
        try:
            os.close(fd)
        except OSError:
            continue  # the test closed it


async def test_lines_are_whole_however_they_arrive(pipe: tuple[int, int]) -> None:
    """Pieces are joined, blank lines dropped, and a last line without an end counts."""
    source, sink = pipe

    def feed() -> None:
        for piece in (b"on", b"e\n\n \r\ntwo\r\nth", b"ree\n", b"x" * 200_000, b"\nlast"):
            os.write(sink, piece) if len(piece) < 4096 else write_all(sink, piece)
        os.close(sink)

    async with asyncio.timeout(10):
        feeding = asyncio.create_task(asyncio.to_thread(feed))
        lines = [line async for line in read_lines(source)]
        await feeding
    assert lines == [b"one", b"two", b"three", b"x" * 200_000, b"last"]


async def test_a_line_without_end_takes_bounded_memory(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a line that is too long only so much is kept that this shows; the next one is whole."""
    monkeypatch.setattr(wire, "LONGEST_LINE", 100_000)
    source, sink = pipe

    def feed() -> None:
        write_all(sink, b"x" * 5_000_000 + b"\nnext\n")
        os.close(sink)

    async with asyncio.timeout(10):
        feeding = asyncio.create_task(asyncio.to_thread(feed))
        long, after = [line async for line in read_lines(source)]
        await feeding
    assert 100_000 < len(long) <= 100_001 + wire.READ_SIZE
    assert wire._parse(long) is None
    assert after == b"next"


def write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


async def test_a_full_pipe_stalls_only_its_writer(pipe: tuple[int, int]) -> None:
    """While nobody reads, a write waits and the loop goes on."""
    source, sink = pipe
    writer = Writer(sink, on_lost=lambda: pytest.fail("it is not lost"))
    big = b"y" * 300_000
    writing = asyncio.create_task(writer.write(big))
    done, _ = await asyncio.wait({writing}, timeout=0.05)
    assert not done
    async with asyncio.timeout(10):
        [line] = [await anext(read_lines(source))]
        await writing
    assert line == big


async def test_a_lost_reader_is_told(pipe: tuple[int, int]) -> None:
    """A write that nobody can read returns, and says once per write that the reader is gone."""
    source, sink = pipe
    os.close(source)
    lost: list[None] = []
    async with asyncio.timeout(10):
        await Writer(sink, on_lost=lambda: lost.append(None)).write(b"hello")
    assert lost == [None]
