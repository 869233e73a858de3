"""Giving input to a process without ever blocking on it."""

from __future__ import annotations

import asyncio
import os

from fairlead.model.errors import BadRequest

MAX_PENDING = 1 << 20


class InputStream:
    """One writable descriptor. What the process does not take at once follows in order."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self._loop = asyncio.get_running_loop()
        self._pending = bytearray()
        self._close_after = False

    @property
    def closed(self) -> bool:
        return self.fd < 0 or self._close_after

    def write(self, data: bytes) -> None:
        if self.closed:
            raise BadRequest("stdin is closed for this session")
        if len(self._pending) + len(data) > MAX_PENDING:
            raise BadRequest(
                f"nothing was written: {len(data)} bytes are too many, {len(self._pending)} still "
                f"wait to be read and at most {MAX_PENDING} can"
            )
        waiting = bool(self._pending)
        self._pending += data
        if not waiting:
            self._flush()

    def end(self) -> None:
        """Close after what is still pending."""
        self._close_after = True
        if not self._pending:
            self.close()

    def close(self) -> None:
        if self.fd >= 0:
            self._loop.remove_writer(self.fd)
            os.close(self.fd)
            self.fd = -1
        self._pending.clear()

    def _flush(self) -> None:
        try:
            while self._pending:
                del self._pending[: os.write(self.fd, self._pending)]
        except BlockingIOError:
            self._loop.add_writer(self.fd, self._flush)
            return
        except OSError:  # nobody reads any more (EPIPE, EIO)
            self.close()
            return
        self._loop.remove_writer(self.fd)
        if self._close_after:
            self.close()
