"""Reading one process's output, from the first byte to the honest end.

The end of a command is what the kernel says of its process, never end-of-file: a background
child may hold the output open for hours. So when the process is gone we read what it left, give
the stream a short quiet window, and then say whether somebody still holds it.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import threading
from collections.abc import Callable
from contextlib import suppress

from fairlead.model.process import OutputSink
from fairlead.spawn.reactor import Reactor

QUIET_WINDOW = 0.02  # seconds without a byte after the exit, before we call it held open
LONGEST_SETTLING = 0.1  # a descendant that floods is never quiet
_DRAIN_BYTES = 2 << 20  # more than any pipe or terminal holds: all that the dead one wrote

_PIPE_SIZE = 64 * 1024
_LARGE_PIPE = 1 << 20
_FLOODS_AFTER = 16  # full pipes read

_END = (errno.EIO, errno.EBADF)


class OutputStream:
    """One descriptor and the sink that its bytes go to."""

    def __init__(self, fd: int, sink: OutputSink, reactor: Reactor) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self._sink = sink
        self._reactor = reactor
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()  # the loop and the drainer never read at the same time
        self._thread = threading.get_ident()
        self._full_reads = 0
        self._settled: Callable[[bool], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._quiet_from = 0.0
        reactor.add(fd, self._readable)

    @property
    def ended(self) -> bool:
        return self.fd < 0

    def awaited(self, yes: bool) -> None:
        with self._lock:
            if self.fd >= 0:
                self._reactor.move(self.fd, hot=yes)

    def settle(self, done: Callable[[bool], None]) -> None:
        """The process is gone: read what it left, then call `done(held_open)`. On the loop."""
        self.awaited(True)
        self._settled = done
        try:
            self._drain()
        finally:
            if self.ended:
                self._finish(held_open=False)
        if self.ended:
            return
        self._quiet_from = self._loop.time()
        self._deadline = self._quiet_from + LONGEST_SETTLING
        self._timer = self._loop.call_later(QUIET_WINDOW, self._quiet)

    def finish(self) -> None:
        """The whole tree is gone: read what it left and close, whoever else holds it open."""
        self.awaited(True)
        self._drain()
        self.close()

    def close(self) -> None:
        """Let go of the descriptor, whoever still writes to it. On the loop."""
        with self._lock:
            self._close_locked()
        self._finish(held_open=False)

    def _readable(self, buffer: memoryview) -> None:
        with self._lock:
            count = self._read_locked(buffer)
        if count > 0 and self._settled is not None:
            self._quiet_from = self._loop.time()
        elif count == 0 and threading.get_ident() == self._thread:
            self._after_end()
        elif count == 0:
            self._loop.call_soon_threadsafe(self._after_end)

    def _read_locked(self, buffer: memoryview) -> int:
        """Bytes read and fed; 0 at the end, -1 if there was nothing."""
        if self.fd < 0:
            return -1
        try:
            count = os.readv(self.fd, [buffer])
        except BlockingIOError:
            return -1
        except OSError as error:
            # Linux reports EIO, not end-of-file, once the last writer of a terminal is gone.
            if error.errno not in _END:
                raise
            count = 0
        if count:
            self._feed_locked(buffer[:count])
            if count >= _PIPE_SIZE:
                self._count_full_read()
        else:
            self._close_locked()
        return count

    def _feed_locked(self, data: memoryview) -> None:
        try:
            self._sink.feed(data)
        except BaseException:
            self._close_locked()  # a sink that failed gets no more: its output would have a hole
            raise

    def _drain(self) -> None:
        """Read until there is nothing more, bounded: a descendant may write faster than we read."""
        with self._lock:
            taken = 0
            while taken < _DRAIN_BYTES and (count := self._read_locked(self._reactor.buffer)) > 0:
                taken += count

    def _count_full_read(self) -> None:
        """A pipe that is full again and again gets more room: fewer, larger reads from then on."""
        self._full_reads += 1
        if self._full_reads == _FLOODS_AFTER:
            with suppress(OSError):  # the user's share of large pipes is used up, or a terminal
                fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, _LARGE_PIPE)

    def _close_locked(self) -> None:
        if self.fd >= 0:
            self._reactor.remove(self.fd)
            os.close(self.fd)
            self.fd = -1

    def _after_end(self) -> None:
        if self._settled is not None:
            self._finish(held_open=False)

    def _quiet(self) -> None:
        now = self._loop.time()
        quiet_at = min(self._quiet_from + QUIET_WINDOW, self._deadline)
        if self.ended or now >= quiet_at:
            self._finish(held_open=not self.ended)
        else:
            self._timer = self._loop.call_at(quiet_at, self._quiet)

    def _finish(self, held_open: bool) -> None:
        done, self._settled = self._settled, None
        if self._timer is not None:
            self._timer.cancel()
        if done is not None:
            done(held_open)
