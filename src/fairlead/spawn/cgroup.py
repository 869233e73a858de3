"""Control groups: what all commands of an agent may use together, counted by the kernel.

A group is made below our own, in version 1 one for each controller, in version 2 one for both.
Limits of single processes are no substitute: ten processes may use ten times as much.
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from pathlib import Path

from fairlead.model.confine import JoinGroup
from fairlead.model.errors import SandboxFailed
from fairlead.model.frozen import dataclass
from fairlead.spawn import tree

ROOT = Path("/sys/fs/cgroup")
_PREFIX = "fairlead"
_LEAF = "fairlead-engine"  # where we ourselves go: version 2 limits no group that has processes
_number = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One file of a group and what to write there."""

    directory: Path
    name: str
    value: int


class Group:
    """A group that exists."""

    def __init__(self, limits: tuple[Limit, ...]) -> None:
        self._directories = tuple(dict.fromkeys(limit.directory for limit in limits))
        self._made: list[Path] = []
        try:
            for directory in self._directories:
                directory.mkdir()
                self._made.append(directory)
            for limit in limits:
                (limit.directory / limit.name).write_text(str(limit.value))
        except BaseException:
            self.remove()
            raise

    @property
    def joins(self) -> tuple[JoinGroup, ...]:
        """The steps that put a process into it, before it can no longer see the files."""
        return tuple(JoinGroup(os.fspath(one / "cgroup.procs")) for one in self._directories)

    def oom_kills(self) -> int:
        """How many of its processes the kernel has ended for want of memory."""
        return sum(map(oom_kills_in, self._directories))

    def remove(self) -> bool:
        """Whether nothing of it is left. A process that is ending keeps it for a moment more."""
        for directory in reversed(self._made):
            with suppress(OSError):
                directory.rmdir()
                self._made.remove(directory)
        return not self._made


def make(memory: int | None, processes: int | None) -> Group | None:
    """A group with these limits, or None if there are none. Raises `SandboxFailed`."""
    if memory is None and processes is None:
        return None
    try:
        limits = _limits(memory, processes)
        for directory in {limit.directory.parent for limit in limits}:
            sweep(directory)
        return Group(limits)
    except OSError as error:
        text = f"no control group can be had: {error.strerror or error}"
        raise SandboxFailed(text, step="control group", errno=error.errno or 0) from error


def why_not() -> str | None:
    """What keeps us from making one. None if nothing does."""
    try:
        group = make(1 << 30, 64)
    except SandboxFailed as error:
        return str(error)
    if group is not None:
        group.remove()
    return None


def sweep(directory: Path) -> None:
    """Remove groups of engines that are gone."""
    for one in directory.glob(f"{_PREFIX}-*-*-*"):
        _, pid, began, _ = one.name.split("-", 3)
        if not pid.isdigit() or str(tree.start_time(int(pid))) != began:
            with suppress(OSError):
                one.rmdir()


def _limits(memory: int | None, processes: int | None) -> tuple[Limit, ...]:
    name = f"{_PREFIX}-{os.getpid()}-{tree.start_time(os.getpid())}-{next(_number)}"
    wanted = {"memory": memory, "pids": processes}
    wanted = {controller: value for controller, value in wanted.items() if value is not None}
    own = own_groups()
    if all(controller in own for controller in wanted):
        return tuple(
            Limit(directory=own[controller] / name, name=_V1_FILES[controller], value=value)
            for controller, value in wanted.items()
            if value is not None
        )
    if "" not in own:
        raise FileNotFoundError(2, "no control groups are mounted")
    above = _with_controllers(own[""], tuple(wanted))
    return tuple(
        Limit(directory=above / name, name=_V2_FILES[controller], value=value)
        for controller, value in wanted.items()
        if value is not None
    )


_V1_FILES = {"memory": "memory.limit_in_bytes", "pids": "pids.max"}
_V2_FILES = {"memory": "memory.max", "pids": "pids.max"}


def own_groups(table: str | None = None, root: Path = ROOT) -> dict[str, Path]:
    """Our own group's directory by controller; version 2's has no name."""
    text = Path("/proc/self/cgroup").read_text() if table is None else table
    found = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            base = root / controllers if controllers else _unified(root)
            found[controller] = base / path.lstrip("/")
    return {name: path for name, path in found.items() if path.is_dir()}


def _unified(root: Path) -> Path:
    return root / "unified" if (root / "unified").is_dir() else root


def _with_controllers(own: Path, wanted: tuple[str, ...]) -> Path:
    """The group that ours may be made in, with these controllers switched on for it."""
    if own.name == _LEAF:
        own = own.parent
    offered = (own / "cgroup.controllers").read_text().split()
    missing = [controller for controller in wanted if controller not in offered]
    if missing:
        raise OSError(95, f"our group has no {' and no '.join(missing)} controller")
    enabled = (own / "cgroup.subtree_control").read_text().split()
    if not set(wanted) <= set(enabled):
        _step_aside(own)
        switches = " ".join(f"+{controller}" for controller in wanted)
        (own / "cgroup.subtree_control").write_text(switches)
    return own


def _step_aside(own: Path) -> None:
    """Only we may be in it: others are not ours to move."""
    inside = (own / "cgroup.procs").read_text().split()
    if inside and inside != [str(os.getpid())]:
        raise OSError(16, "our group has processes that are not ours")
    if inside:
        leaf = own / _LEAF
        leaf.mkdir(exist_ok=True)
        (leaf / "cgroup.procs").write_text("0")


def oom_kills_in(directory: Path) -> int:
    """How many processes of one group the kernel has ended for want of memory."""
    for name in ("memory.events", "memory.oom_control"):
        with suppress(OSError):
            for line in (directory / name).read_text().splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill":
                    return int(value)
    return 0
