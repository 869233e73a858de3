"""The two files that a live shell and we share. They have no name and are on no disk."""

from __future__ import annotations

import os

from fairlead.shells.integration import Place, Saved, parse_state


class SharedMemory:
    """The command that the shell reads, and the state that it leaves when it exits."""

    def __init__(self) -> None:
        self._command = os.memfd_create("fairlead-command")
        self._state = os.memfd_create("fairlead-state")
        ours = f"/proc/{os.getpid()}/fd"
        self.place = Place(f"{ours}/{self._command}", f"{ours}/{self._state}")

    def close(self) -> None:
        os.close(self._command)
        os.close(self._state)

    def put(self, text: str) -> None:
        """What the shell reads next."""
        content = memoryview(os.fsencode(text))
        os.ftruncate(self._command, 0)
        at = 0
        while at < len(content):
            at += os.pwrite(self._command, content[at:], at)

    def take_state(self) -> Saved:
        """What the shell left, once."""
        size = os.fstat(self._state).st_size
        text = os.fsdecode(os.pread(self._state, size, 0))
        os.ftruncate(self._state, 0)
        return parse_state(text)
