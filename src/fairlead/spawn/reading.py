"""Does a process wait for input? Asked of the kernel, never guessed from its output."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from pathlib import Path

# Numbers of the system calls that wait: reads of one descriptor, and waits on several.
_READS = {"x86_64": {0, 19}, "aarch64": {63, 65}}.get(platform.machine(), set())
_WAITS = {"x86_64": {7, 23, 270, 271}, "aarch64": {72, 73}}.get(platform.machine(), set())
_EPOLLS = {"x86_64": {232, 281, 441}, "aarch64": {22, 441}}.get(platform.machine(), set())
_DEV_TTY = os.makedev(5, 0)
_SOON = 2000  # milliseconds; node always has some timer for its own housekeeping, further off
_WATCHED = re.compile(r"^tfd:\s+(\d+)", re.MULTILINE)


def blocked_in_read(pids: list[int], ours: tuple[int, int], *, line_editor: bool) -> bool:
    """Is one of `pids` stopped in a read of the file `ours` (device, inode)?

    A line editor (bash, python) does not read, it waits until it could: that counts only if the
    caller knows that the terminal is in an editor's mode (`line_editor`). An event loop (node)
    waits for many things at once; one that also has a timer set for soon will go on without input.
    """
    return any(_waits(pid, ours, line_editor) for pid in pids)


def _waits(pid: int, ours: tuple[int, int], line_editor: bool) -> bool:
    call = _system_call(pid)
    if call is None:
        return False
    number, first, timeout = call
    if number in _READS:
        return _is_ours(pid, first, ours)
    if not line_editor:
        return False
    if number in _EPOLLS:
        return timeout > _SOON and any(_is_ours(pid, fd, ours) for fd in _watched(pid, first))
    return number in _WAITS and _is_ours(pid, 0, ours)


def _system_call(pid: int) -> tuple[int, int, int] | None:
    """(number, first argument, fourth argument), if the process sleeps in one."""
    with suppress(OSError, ValueError, IndexError):
        words = Path(f"/proc/{pid}/syscall").read_text().split()
        return int(words[0]), int(words[1], 16), int(words[4], 16) & 0xFFFFFFFF
    return None


def _watched(pid: int, epoll: int) -> list[int]:
    """The descriptors that an epoll descriptor watches."""
    with suppress(OSError):
        return [int(fd) for fd in _WATCHED.findall(Path(f"/proc/{pid}/fdinfo/{epoll}").read_text())]
    return []


def _is_ours(pid: int, fd: int, ours: tuple[int, int]) -> bool:
    with suppress(OSError):
        found = os.stat(f"/proc/{pid}/fd/{fd}")
        # Whoever asks for a password opens /dev/tty, which is the terminal of its own session.
        return (found.st_dev, found.st_ino) == ours or found.st_rdev == _DEV_TTY
    return False
