"""The two files that a live shell and we share. They are on no disk.

A shell that sees our files reads them through our own descriptors, and they have no name. To a
confined one our descriptors do not exist: it finds the files in a shared memory of its own.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

from fairlead.model.process import ProcessHandle
from fairlead.shells.integration import Place, Saved, parse_state

_MOST_STATE = 4 << 20  # bytes; commands can reach the file and make it any size
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class SharedMemory:
    """The command that the shell reads, and the state that it leaves when it exits."""

    def __init__(self) -> None:
        self._command = self._state = self._directory = -1
        self._names: tuple[str, str] = ("", "")
        self.place = Place("", "")

    def meet(self, process: ProcessHandle) -> None:
        """Make the files reachable for this one. Raises `OSError` if it has ended."""
        where = process.shared_directory()
        if where is None:
            self._in_our_hands()
        else:
            self._in(*where)

    def close(self) -> None:
        for name in self._names:
            if self._directory >= 0:
                with suppress(OSError):
                    os.unlink(name, dir_fd=self._directory)
        for fd in (self._command, self._state, self._directory):
            if fd >= 0:
                os.close(fd)
        self._command = self._state = self._directory = -1

    def put(self, text: str) -> None:
        """What the shell reads next."""
        content = memoryview(os.fsencode(text))
        os.ftruncate(self._command, 0)
        at = 0
        while at < len(content):
            at += os.pwrite(self._command, content[at:], at)

    def take_state(self) -> Saved:
        """What the shell left, once."""
        size = min(os.fstat(self._state).st_size, _MOST_STATE)
        text = os.fsdecode(os.pread(self._state, size, 0))
        os.ftruncate(self._state, 0)
        return parse_state(text)

    def _in_our_hands(self) -> None:
        if self._command >= 0 and self._directory < 0:
            return
        self.close()
        self._command = os.memfd_create("fairlead-command")
        self._state = os.memfd_create("fairlead-state")
        ours = f"/proc/{os.getpid()}/fd"
        self.place = Place(f"{ours}/{self._command}", f"{ours}/{self._state}")

    def _in(self, directory: int, path: str) -> None:
        """In a directory that the caller hands over."""
        if self._directory >= 0 and os.path.sameopenfile(directory, self._directory):
            os.close(directory)
            return
        self.close()
        self._directory = directory
        nonce = secrets.token_hex(8)
        self._names = (f".fairlead-{nonce}-command", f".fairlead-{nonce}-state")
        self._command, self._state = (
            os.open(name, _NEW, 0o600, dir_fd=directory) for name in self._names
        )
        self.place = Place(*(f"{path}/{name}" for name in self._names))
