"""Sockets in the file system that somebody outside listens on: a door out, wherever they are.

Neither a read-only mount nor a network namespace keeps a command from connecting to one, so each
is covered. `/proc/net/unix` lists those of our own network namespace, and none that a confined
command with a network namespace of its own has made.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

_TABLE = "/proc/net/unix"
_NOT_SEEN = ("/run/", "/var/run/", "/dev/", "/proc/", "/sys/")  # replaced or hidden as a whole


def foreign_sockets(tolerated: tuple[str, ...]) -> list[str]:
    """The paths, but for those below `tolerated` directories."""
    within = tuple(f"{directory}/" for directory in tolerated)
    return sorted({path for path in _bound() if not path.startswith(within)})


def _bound() -> Iterator[str]:
    directories = cache(_directories)  # looked at once, and only if a name asks for it
    for name in _names():
        for path in [name] if name.startswith("/") else (f"{d}/{name}" for d in directories()):
            if not path.startswith(_NOT_SEEN) and _is_socket(path):
                yield os.path.realpath(path)


def _names() -> Iterator[str]:
    """What sockets are bound to, in the words of who bound them: relative ones, too."""
    try:
        with open(_TABLE, "rb") as table:
            lines = table.read().split(b"\n")
    except OSError:
        return
    for line in lines[1:]:
        # Num RefCount Protocol Flags Type St Inode Path: one space before each name. Connected
        # sockets have no name of their own; one that begins with @ is in no file system.
        fields = line.split(None, 6)
        _, _, name = fields[6].partition(b" ") if len(fields) > 6 else (b"", b"", b"")
        if name and not name.startswith(b"@"):
            yield os.fsdecode(name)


def _directories() -> frozenset[str]:
    """Where programs are at work: a relative name was meant from one of these, as far as those who
    bound it have not moved since."""
    found = set()
    for process in os.listdir("/proc"):
        if process.isdigit():
            with suppress(OSError):
                found.add(os.readlink(f"/proc/{process}/cwd"))
    return frozenset(found)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
