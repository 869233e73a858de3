"""Does a process wait for input? Asked of the kernel, never guessed from its output."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path

# Numbers of the system calls that wait: reads of one descriptor, and waits on several.
_READS = {"x86_64": {0, 19}, "aarch64": {63, 65}}.get(platform.machine(), set())
_WAITS = {"x86_64": {7, 23, 270, 271}, "aarch64": {72, 73}}.get(platform.machine(), set())


def blocked_in_read(pids: list[int], ours: tuple[int, int], *, line_editor: bool) -> bool:
    """Is one of `pids` stopped in a read of the file `ours` (device, inode)?

    A line editor (bash, python) does not read, it waits until it could: that counts only if the
    caller knows that the terminal is in an editor's mode (`line_editor`).
    """
    return any(_waits(pid, ours, line_editor) for pid in pids)


def _waits(pid: int, ours: tuple[int, int], line_editor: bool) -> bool:
    call = _system_call(pid)
    if call is None:
        return False
    number, first = call
    if number in _READS:
        return _identity(pid, first) == ours
    return line_editor and number in _WAITS and _identity(pid, 0) == ours


def _system_call(pid: int) -> tuple[int, int] | None:
    """(number, first argument), if the process sleeps in one."""
    with suppress(OSError, ValueError):
        words = Path(f"/proc/{pid}/syscall").read_text().split()
        return int(words[0]), int(words[1], 16)
    return None


def _identity(pid: int, fd: int) -> tuple[int, int] | None:
    with suppress(OSError):
        found = os.stat(f"/proc/{pid}/fd/{fd}")
        return found.st_dev, found.st_ino
    return None
