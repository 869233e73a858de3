"""Progress of a call: when it is told, and what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from fairlead.mcp.progress import HEARTBEAT, Progress, last_line
from fairlead.model.event import Chunk, FellBehind

Told = list[tuple[float, float, str | None]]


def chunk(data: bytes) -> Chunk:
    return Chunk(call_id="c", session_id=1, offset=0, data=data)


async def told_within(seconds: float, happens: Callable[[float, Progress], None]) -> Told:
    """What is reported in that time of a clock that only the reporter moves."""
    told: Told = []
    now = 0.0

    async def report(value: float, total: float | None = None, text: str | None = None) -> None:
        told.append((now, value, text))

    async def sleep(duration: float) -> None:
        nonlocal now
        now += duration
        if now > seconds:
            raise asyncio.CancelledError
        happens(now, progress)

    progress = Progress(report, sleep)
    with pytest.raises(asyncio.CancelledError):
        await progress.run()
    return told


async def test_the_first_word_comes_after_a_second() -> None:
    """A quick call says nothing; after one second even a silent one does."""
    assert await told_within(0.9, lambda now, progress: None) == []
    assert await told_within(1.1, lambda now, progress: None) == [(1.0, 0.0, "no output yet")]


async def test_output_is_told_four_times_a_second() -> None:
    """However much is written, a report comes each quarter of a second, with all bytes so far."""

    def write(now: float, progress: Progress) -> None:
        for _ in range(100):
            progress.on_event(chunk(b"x" * 9 + b"\n"))

    told = await told_within(2.0, write)
    assert [at for at, _, _ in told] == [1.0, 1.25, 1.5, 1.75, 2.0]
    assert [value for _, value, _ in told] == [1000, 2000, 3000, 4000, 5000]


async def test_silence_is_told_now_and_then() -> None:
    """A quiet command is heard of every ten seconds, each time with a greater value."""
    told = await told_within(1 + 3 * HEARTBEAT, lambda now, progress: None)
    assert [at for at, _, _ in told] == [1.0, 11.0, 21.0, 31.0]
    values = [value for _, value, _ in told]
    assert values == sorted(set(values))


async def test_a_byte_after_silence_is_still_more() -> None:
    """The value of a heartbeat stays below that of the next byte."""

    def write_late(now: float, progress: Progress) -> None:
        if now == 40.0:
            progress.on_event(chunk(b"a"))

    values = [value for _, value, _ in await told_within(41, write_late)]
    assert values[-1] == 1
    assert values == sorted(set(values))


async def test_skipped_bytes_count() -> None:
    """Output that the watcher missed is in the number."""

    def skip(now: float, progress: Progress) -> None:
        if now == 1.0:
            progress.on_event(FellBehind(call_id="c", session_id=1, skipped=5000))

    assert [value for _, value, _ in await told_within(1.0, skip)] == [5000]


@pytest.mark.parametrize(
    ("tail", "line"),
    [
        (b"one\ntwo\n", "two"),
        (b"one\ntwo", "two"),
        (b"one\n\n  \n", "one"),
        (b"10%\r20%\r30%\r", "30%"),
        (b"\x1b[1;31mred\x1b[0m\x1b]0;title\x07\n", "red"),
        (b"a\x00b\x08c", "abc"),
        ("safe\u202eelif".encode(), "safeelif"),
        (b"\xa4 cut", "\ufffd cut"),
        (b"x" * 500, "x" * 200),
        (b"", ""),
    ],
)
def test_the_last_line_is_readable(tail: bytes, line: str) -> None:
    """The message is the last line with text, without control characters, on one row."""
    assert last_line(tail) == line
