"""Who runs under a live shell, and who of them is new."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from fairlead.model.process import SpawnedProcess
from fairlead.spawn import tree

_TICKS = os.sysconf("SC_CLK_TCK")


class Family:
    """The processes under one shell.

    Everything that a command starts is, sooner or later, a child of the shell or (orphaned) of the
    guard: so two small files of the kernel say cheaply whether there is anybody new.
    """

    def __init__(self, process: SpawnedProcess, shell: int) -> None:
        self._process = process
        self.shell = shell
        guard = tree.parent(process.pid)
        self._files = [_children_file(shell)]
        if guard and guard != os.getpid():
            self._files.append(_children_file(guard))
        self._guarded = len(self._files) == 2 and all(file >= 0 for file in self._files)

    def close(self) -> None:
        for file in self._files:
            if file >= 0:
                os.close(file)
        self._files = []

    def roots(self) -> frozenset[int]:
        """Those that all others descend from, the shell itself left out."""
        if not self._guarded:
            return frozenset(self._process.descendants()) - {self.shell}
        found = b""
        for file in self._files:
            with suppress(OSError):  # the process that it belongs to is gone
                found += os.pread(file, 1 << 16, 0)
        return frozenset(map(int, found.split())) - {self.shell}

    def argv(self) -> tuple[str, ...]:
        """How the shell was started."""
        words = tree.command_line(self.shell)
        return (words[0].lstrip("-"), *words[1:]) if words else ()

    def cwd(self) -> str | None:
        """Where the shell is now."""
        with suppress(OSError):
            return os.readlink(f"/proc/{self.shell}/cwd")
        return None

    def newcomers(self, before: frozenset[int], since: int) -> list[int]:
        """Who is alive and descends from what was started after `since`."""
        found = [pid for pid in self.roots() - before if _began(pid) >= since]
        for pid in found:  # grows while we walk
            found += [child for child in tree.children(pid) if child not in found]
        return [pid for pid in found if pid != self._process.pid and tree.is_alive(pid)]


def now() -> int:
    """This moment, as the kernel dates the start of a process."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS)


def _began(pid: int) -> int:
    return tree.start_time(pid) or 0


def _children_file(pid: int) -> int:
    """The kernel's list of the children of a process of one thread; -1 if it keeps none."""
    try:
        return os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
