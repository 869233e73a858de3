"""A command with a child that got away from its group, and a look at whether they are gone."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from pathlib import Path

from fairlead.spawn.tree import number_inside

SECONDS = 20.0
# Tells the pids of itself and of a child in a session of its own; then both go on for ever.
TREE = "setsid sleep 86400 & echo $$ $! >ready; exec sleep 86400"


def ready_pipe(directory: Path) -> Path:
    """Where `TREE` tells its pids: a pipe with a name, so that reading it is waiting for them."""
    ready = directory / "ready"
    os.mkfifo(ready)
    return ready


def pidfds(ready: Path) -> list[int]:
    """Handles of the tree's processes, once they run."""
    pipe = os.open(ready, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([pipe], [], [], SECONDS)[0], "the tree has not started"
        told = [int(pid) for pid in os.read(pipe, 4096).split()]
        return [os.pidfd_open(outside(pid, ready.parent)) for pid in told]
    finally:
        os.close(pipe)


def outside(told: int, directory: Path) -> int:
    """The process that calls itself `told` and works in `directory`, by the number that we know
    it by: a confined one counts its own way."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and number_inside(int(entry)) == told:
            with suppress(OSError):
                if os.path.samefile(f"/proc/{entry}/cwd", directory):
                    return int(entry)
    raise AssertionError(f"no process works in {directory} as {told}")


def all_gone(handles: list[int]) -> bool:
    """Whether every process ends soon."""
    try:
        return all(select.select([one], [], [], SECONDS)[0] for one in handles)
    finally:
        for one in handles:
            os.close(one)
