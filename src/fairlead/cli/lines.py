"""Lines from a descriptor, read on a thread, so that a signal can end us while nothing comes."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator

MAX_LINE = 16 << 20
_READ_SIZE = 64 * 1024


async def numbered_lines(fd: int) -> AsyncIterator[tuple[int, bytes | None]]:
    """Each line that is not blank, with its number from 1; None for one that is too long.

    Never reads ahead of its user. The thread is a daemon's: Python waits for the pooled ones of
    `asyncio.to_thread`, and one that is blocked in a read would keep us from ending.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[tuple[int, bytes | None] | None] = asyncio.Queue()
    room = threading.Semaphore(1)

    def deliver(item: tuple[int, bytes | None] | None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(found.put_nowait, item)

    def read() -> None:
        try:
            for item in _split(fd):
                deliver(item)
            deliver(None)
        except RuntimeError:
            pass  # the loop is gone, and nobody wants the line

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while (item := await found.get()) is not None:
        room.release()
        yield item


def _split(fd: int) -> Iterator[tuple[int, bytes | None]]:
    # os.read and no file object: its lock, held by a daemon thread, would abort Python at its end.
    rest, number, too_long = bytearray(), 1, False
    while chunk := _read(fd):
        rest += chunk
        *whole, last = rest.split(b"\n") if b"\n" in chunk else (rest,)
        for line in whole:
            too_long = too_long or len(line) > MAX_LINE
            if too_long or line.strip():
                yield number, None if too_long else bytes(line)
            number, too_long = number + 1, False
        too_long = too_long or len(last) > MAX_LINE
        rest = bytearray() if too_long else last
    if too_long or rest.strip():
        yield number, None if too_long else bytes(rest)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _READ_SIZE)
    except OSError:
        return b""  # a terminal that hung up says EIO
