"""Who reads which descriptor: awaited ones on the event loop, all others in one thread.

A session that somebody waits for must not share a queue with sixty that flood. So there are two
epoll sets: the *hot* one is a single descriptor in the event loop, the *cold* one belongs to the
drainer thread. Each turn reads every ready descriptor once, never twice: batches of reads raise
the throughput of one stream and ruin the latency of all others.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import Callable

READ_SIZE = 256 * 1024  # only what is read is ever touched, so most of it costs nothing
_TURN = 64  # descriptors served per turn, so that one turn stays short

Readable = Callable[[memoryview], None]


class Reactor:
    """Calls `readable(buffer)` whenever a descriptor has something to read."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._callbacks: dict[int, Readable] = {}
        self._hot = select.epoll()
        self._cold: select.epoll | None = None
        # The drainer looks up its own callbacks only. A number that it was just told of may have
        # been closed and given to something that must be called on the loop.
        self._cold_callbacks: dict[int, Readable] = {}
        self._wake = -1
        self._thread: threading.Thread | None = None
        self.buffer = memoryview(bytearray(READ_SIZE))  # for whoever reads on the loop
        loop.add_reader(self._hot.fileno(), self._hot_turn)

    def add(self, fd: int, readable: Readable) -> None:
        """Watch `fd`, on the event loop at first. Its owner reads without blocking."""
        self._callbacks[fd] = readable
        self._hot.register(fd, select.EPOLLIN)

    def remove(self, fd: int) -> None:
        """Forget `fd`; call it before closing. Safe from either side, and twice."""
        if self._callbacks.pop(fd, None) is None:
            return
        poll = self._hot
        if self._cold_callbacks.pop(fd, None) is not None and self._cold is not None:
            poll = self._cold
        poll.unregister(fd)

    def move(self, fd: int, *, hot: bool) -> None:
        """Hand `fd` to the event loop or to the drainer. Only on the event loop."""
        if fd not in self._callbacks or (fd not in self._cold_callbacks) == hot:
            return
        cold = self._drainer()
        if hot:
            del self._cold_callbacks[fd]
            cold.unregister(fd)
            self._hot.register(fd, select.EPOLLIN)
        else:
            self._hot.unregister(fd)
            self._cold_callbacks[fd] = self._callbacks[fd]
            cold.register(fd, select.EPOLLIN)

    def close(self) -> None:
        """Stop reading. Waits for the drainer thread to leave."""
        self._loop.remove_reader(self._hot.fileno())
        self._hot.close()
        if self._thread is not None and self._cold is not None:
            os.eventfd_write(self._wake, 1)
            self._thread.join()
            self._cold.close()
            os.close(self._wake)
        self._callbacks.clear()
        self._cold_callbacks.clear()

    def _hot_turn(self) -> None:
        for fd, _ in self._hot.poll(0, _TURN):
            readable = self._callbacks.get(fd)
            if readable is not None:  # an earlier callback of this turn may have removed it
                readable(self.buffer)

    def _drainer(self) -> select.epoll:
        """The cold set; its thread starts with the first descriptor that nobody awaits."""
        if self._cold is None:
            self._cold = select.epoll()
            self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            self._cold.register(self._wake, select.EPOLLIN)
            self._thread = threading.Thread(
                target=self._drain, args=(self._cold,), name="fairlead-drainer", daemon=True
            )
            self._thread.start()
        return self._cold

    def _drain(self, cold: select.epoll) -> None:
        buffer = memoryview(bytearray(READ_SIZE))
        while True:
            for fd, _ in cold.poll(-1, _TURN):
                if fd == self._wake:
                    return
                readable = self._cold_callbacks.get(fd)
                if readable is not None:
                    self._serve(fd, readable, buffer)

    def _serve(self, fd: int, readable: Readable, buffer: memoryview) -> None:
        try:
            readable(buffer)
        except Exception as error:
            # One sink that fails must not end the reading of all others.
            report = {"message": f"reading descriptor {fd} failed", "exception": error}
            self._loop.call_soon_threadsafe(self._loop.call_exception_handler, report)
