"""Looking at process trees in /proc: who descends from whom, and who waits for what."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def children(pid: int) -> list[int]:
    """The direct children of every thread of `pid`."""
    found: list[int] = []
    with suppress(OSError):
        for thread in (_PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """Every descendant, parents before children. A snapshot: the tree may be moving."""
    found = children(pid)
    for one in found:  # grows while we walk
        found += children(one)
    return found


def is_alive(pid: int) -> bool:
    """It runs: it is there and no zombie."""
    fields = _stat(pid)
    return fields is not None and fields[0] != "Z"


def is_stopped(pid: int) -> bool:
    """It was told to stop, and nobody has told it to go on."""
    fields = _stat(pid)
    return fields is not None and fields[0] == "T"


def parent(pid: int) -> int | None:
    """Whose child it is."""
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def start_time(pid: int) -> int | None:
    """Clock ticks since boot: with the pid it names a process for good."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def in_session(session: int) -> list[int]:
    """Every process of a kernel session, for hosts where nobody guards the tree."""
    found = []
    for entry in os.listdir(_PROC):
        if entry.isdigit():
            fields = _stat(int(entry))
            if fields and int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry))
    return found


def in_group(group: int, among: list[int]) -> list[int]:
    """Those of `among` that belong to the process group."""
    return [pid for pid in among if (fields := _stat(pid)) and int(fields[2]) == group]


def name(pid: int) -> str:
    """The command name, as the kernel knows it."""
    with suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text().strip()
    return "?"


def command_line(pid: int) -> tuple[str, ...]:
    """The words it was started with."""
    with suppress(OSError):
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")[:-1]
        return tuple(os.fsdecode(word) for word in words)
    return ()


def number_inside(pid: int) -> int:
    """Its number in the pid namespace it lives in; what it takes for its own."""
    with suppress(OSError, StopIteration, ValueError):
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("NSpid:")).split()[-1])
    return pid


def shared_memory(pid: int) -> tuple[int, str]:
    """Its /dev/shm, whichever mounts it lives among: a descriptor, and the path there."""
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(_PROC / str(pid) / "root/dev/shm", flags), "/dev/shm"


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the name: state, ppid, pgrp, session, …"""
    with suppress(OSError):
        text = (_PROC / str(pid) / "stat").read_text()
        return text[text.rindex(")") + 2 :].split()
    return None
