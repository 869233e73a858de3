"""The control group that an engine has put a container into: what it holds, and what it counts."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from fairlead.spawn import cgroup

_FILES = {
    "memory": ("memory.max", "memory.limit_in_bytes"),
    "processes": ("pids.max",),
}
_CONTROLLERS = {"memory": "memory", "processes": "pids"}


def group_of(pid: int, what: str) -> Path | None:
    """The directory that is about `what` for a process; None if there is none."""
    with suppress(OSError):
        groups = cgroup.own_groups(Path(f"/proc/{pid}/cgroup").read_text())
        return groups.get(_CONTROLLERS[what]) or groups.get("")
    return None


def holds(group: Path | None, what: str, most: int) -> bool:
    """Whether the group, or one around it, lets nobody use more."""
    while group is not None and group != cgroup.ROOT and group != group.parent:
        for name in _FILES[what]:
            with suppress(OSError, ValueError):  # no such file, or "max"
                if int((group / name).read_text()) <= most:
                    return True
        group = group.parent
    return False
