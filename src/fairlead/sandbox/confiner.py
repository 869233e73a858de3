"""Keeps what stands around commands up to date: surveyed once, checked before every command.

A survey looks at some hundred paths; checking that nothing has changed since is a fraction of
that. What changed is surveyed anew, and the spawner sees another `Confinement`.
"""

from __future__ import annotations

import errno
import glob
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from fairlead.model.access import (
    Access,
    Limits,
    Network,
    PathMode,
    PathRule,
    SandboxReport,
    SandboxType,
)
from fairlead.model.confine import Confinement
from fairlead.model.container import ContainerHost
from fairlead.model.errors import SandboxFailed
from fairlead.model.frozen import dataclass, replace
from fairlead.model.params import ExtraPermissions
from fairlead.model.sandbox import SECRETS, Host, SandboxSettings
from fairlead.sandbox import bubblewrap, container, landlock, namespaces, seccomp, sockets
from fairlead.sandbox.container import Inside, as_shown, own_temporary
from fairlead.sandbox.host import Machine
from fairlead.sandbox.limits import beside_group
from fairlead.sandbox.survey import (
    Guarded,
    Surroundings,
    is_below,
    survey,
    workspace_rule,
    writable_roots,
)
from fairlead.sandbox.system import system
from fairlead.sandbox.tiers import Fit, check_accept, demand, nothing_confines
from fairlead.sandbox.wrapper import Wrapper

SOCKETS_EVERY = 0.5  # seconds; the kernel's table is slow to read

Guarding = Callable[[str, bool], Guarded]  # (writable root, git_commit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confined:
    """What a plan needs to know of the sandbox."""

    access: Access
    report: SandboxReport
    confinement: Confinement | None = None  # for the launcher
    wrapper: Wrapper | None = None  # a program that does it, where there is no launcher
    inside: Inside | None = None  # how it is there, in a container

    @property
    def limits(self) -> Limits:
        """What is to be limited for each process."""
        limits = self.access.limits
        if self.inside:
            return self.inside.limits_of_each(limits)
        grouped = self.confinement is not None and self.confinement.processes is not None
        return beside_group(limits) if grouped else limits


class Confiner:
    """One for each engine. `answers`: somebody is there to answer what the filter asks.
    `find_containers`: commands go into containers, and this says what there is to make them
    with."""

    def __init__(
        self,
        settings: SandboxSettings,
        around: Surroundings,
        machine: Machine,
        guarding: Guarding,
        state_directory: str = "",
        *,
        answers: bool = True,
        find_containers: Callable[[], ContainerHost] | None = None,
    ) -> None:
        self.settings = own_temporary(settings) if find_containers else settings
        self.state_directory = state_directory  # where what was moved aside is kept
        self._around = around
        self._machine = machine
        self._guarding = guarding
        self._answers = answers
        self._find_containers = find_containers
        self._containers: ContainerHost | None = None
        self._accept = check_accept(settings.accept)
        self._access: Access | None = None
        self._marks: Marks | None = None
        self._sockets: list[str] = []
        self._sockets_at = 0.0
        self._wider: dict[ExtraPermissions, Confiner] = {}
        self._rendered: dict[str, Confined] = {}  # of this access, by agent

    def access(self) -> Access:
        """What commands may touch now. Raises `Rejected`."""
        if self._access is None or not self._as_it_was():
            # A new file with an old number looks the same, and no mount of the zygote's is on it.
            replaced = self._marks is not None and not self._marks.are_there()
            found = self._look()
            if replaced or found != self._access:
                self._rendered.clear()
                self._access = found
            self._marks = marks_of(self._access, self._around.home)
        return self._access

    def confined(self, agent: str, extra: ExtraPermissions | None = None) -> Confined:
        """What stands around a command of `agent` now, with what one call was granted on top.
        Raises `Rejected`."""
        if extra is not None:
            return self._widened(extra).confined(agent)
        access = self.access()
        known = self._rendered.get(agent)
        if known is None:
            known = self._rendered[agent] = self._render(access, agent)
        return known

    def _widened(self, extra: ExtraPermissions) -> Confiner:
        """The same with more allowed. A few are kept: a grant is often used again."""
        known = self._wider.pop(extra, None) or Confiner(
            _with(self.settings, extra),
            self._around,
            self._machine,
            self._guarding,
            self.state_directory,
            answers=self._answers,
            find_containers=self._find_containers,
        )
        self._wider[extra] = known
        if len(self._wider) > _MOST_WIDER:
            del self._wider[next(iter(self._wider))]
        return known

    def forget(self, agent: str) -> None:
        """It will not come back."""
        for wider in self._wider.values():
            wider.forget(agent)
        self._rendered.pop(agent, None)

    def look_again(self) -> None:
        """Something that no mark shows is there now: a repository deep in the tree, say."""
        self._marks = None

    def learn(self, error: SandboxFailed) -> bool:
        """A plan could not be carried out: look at the machine and its paths anew. Whether there
        is anything new to plan with."""
        before, self._access = self._access, None
        system.cache_clear()
        self._rendered.clear()
        self._wider.clear()
        if self._find_containers is not None:
            containers, self._containers = self._containers, self._find_containers()
            return self._containers != containers or self.access() != before
        # What went away between the look and the step is not looked for again.
        gone = error.errno in (errno.ENOENT, errno.ESTALE)
        return self._machine.learn(error) or self.access() != before or gone

    def _look(self) -> Access:
        self._sockets = sockets.foreign_sockets(())
        self._sockets_at = time.monotonic()
        roots = [
            path for path, why in writable_roots(self.settings, self._around) if why != _TEMPORARY
        ]
        found = [self._guarding(root, self.settings.git_commit) for root in roots]
        guarded = Guarded(
            read_only=tuple(path for one in found for path in one.read_only),
            absent=tuple(path for one in found for path in one.absent),
            links=tuple(path for one in found for path in one.links),
            pinned=tuple(path for one in found for path in one.pinned),
            repositories=tuple(pair for one in found for pair in one.repositories),
        )
        access = survey(self.settings, self._around, guarded)
        if self._find_containers is None:
            return access
        return as_shown(access, workspace_rule(self.settings))

    def _as_it_was(self) -> bool:
        return self._marks is not None and self._marks.hold() and self._same_sockets()

    def _same_sockets(self) -> bool:
        now = time.monotonic()
        if now - self._sockets_at < SOCKETS_EVERY:
            return True
        self._sockets_at = now
        return sockets.foreign_sockets(()) == self._sockets

    def _render(self, access: Access, agent: str) -> Confined:
        host = self._machine.host
        host = replace(host, notify=host.notify and self._answers)
        if self._find_containers is not None:
            return self._by_container(access, host, agent, self._find_containers)
        if host.platform == "darwin":
            return self._by_seatbelt(access, host)
        if host.platform != "linux":
            raise nothing_confines(host)
        if host.namespaces:
            return self._by_namespaces(access, host, agent)
        if host.launcher and host.landlock_abi and host.seccomp:
            return self._by_landlock(access, host, agent)
        if host.bubblewrap and host.seccomp and not host.launcher:
            return self._by_bubblewrap(access, host)
        raise nothing_confines(host)

    def _by_namespaces(self, access: Access, host: Host, agent: str) -> Confined:
        fit = Fit(type=SandboxType.NAMESPACES, missing=namespaces.missing(access, host))
        report = demand(fit, self._accept, host)
        program = seccomp.compile_filter(
            host.machine,
            access.network,
            notify=host.notify,
            own_network=host.net_namespaces,
        )
        confinement = namespaces.render(access, host, system(), agent=agent, filter_program=program)
        return Confined(access=access, report=report, confinement=confinement)

    def _by_container(
        self, access: Access, host: Host, agent: str, find: Callable[[], ContainerHost]
    ) -> Confined:
        if not host.launcher:
            raise nothing_confines(host)
        container.refuse_dangerous(access.rules, os.path.realpath(self._around.home))
        found = self._containers = self._containers or find()
        program = seccomp.compile_filter(host.machine, access.network, notify=host.notify)
        confinement = container.render(
            access,
            found,
            host,
            home=self._around.home,
            agent=agent,
            filter_program=program,
        )
        fit = Fit(type=SandboxType.CONTAINER, missing=container.missing(access, found))
        report = demand(fit, self._accept, host)
        assert confinement.container is not None
        inside = container.inside(confinement.container, found, self._around.environment)
        return Confined(access=access, report=report, confinement=confinement, inside=inside)

    def _by_landlock(self, access: Access, host: Host, agent: str) -> Confined:
        steps, missing = landlock.tier_steps(access, host.landlock_abi, groups=host.groups)
        report = demand(Fit(type=SandboxType.LANDLOCK, missing=missing), self._accept, host)
        program = seccomp.compile_filter(
            host.machine, access.network, notify=host.notify, own_network=False
        )
        confinement = landlock.confinement(access, steps, program, host, agent)
        return Confined(access=access, report=report, confinement=confinement)

    def _by_bubblewrap(self, access: Access, host: Host) -> Confined:
        fit = Fit(type=SandboxType.BUBBLEWRAP, missing=bubblewrap.missing(access, host))
        report = demand(fit, self._accept, host)
        program = seccomp.compile_filter(
            host.machine, access.network, notify=False, own_network=host.net_namespaces
        )
        wrapper = bubblewrap.render(access, host, system(), program)
        return Confined(access=access, report=report, wrapper=wrapper)

    def _by_seatbelt(self, access: Access, host: Host) -> Confined:
        from fairlead.sandbox import seatbelt

        fit = Fit(type=SandboxType.SEATBELT, missing=seatbelt.missing(access))
        report = demand(fit, self._accept, host)
        return Confined(access=access, report=report, wrapper=seatbelt.render(access))


_MOST_WIDER = 8


def _with(settings: SandboxSettings, extra: ExtraPermissions) -> SandboxSettings:
    """The settings and what one call was granted on top of them."""
    return replace(
        settings,
        granted=(*settings.granted, *map(Path, extra.write)),
        allow_read=(*settings.allow_read, *map(glob.escape, extra.read)),
        network=Network.FULL if extra.network else settings.network,
    )


_TEMPORARY = "temporary files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What to compare before each command.

    A removed file's number goes to the next new one, and a mount on what was removed is gone. So
    of what commands may not change the time counts, too, and the rest is held: the number of what
    is open is never given away.
    """

    there: tuple[tuple[str, int, int, int | None], ...]  # path, device, inode, last change
    held: Held
    absent: tuple[str, ...]
    directories: tuple[tuple[str, int], ...]  # path, time of its last change

    def hold(self) -> bool:
        """Whether everything is as it was."""
        return self.are_there() and self._are_absent() and self._are_unchanged()

    def are_there(self) -> bool:
        """Whether every path is still the one that was looked at."""
        lstat = os.lstat
        try:
            for path, device, inode, changed in self.there:
                found = lstat(path)
                if found.st_ino != inode or found.st_dev != device:
                    return False
                if changed is not None and found.st_ctime_ns != changed:
                    return False
        except OSError:
            return False
        return True

    def _are_absent(self) -> bool:
        return not any(map(os.path.lexists, self.absent))

    def _are_unchanged(self) -> bool:
        try:
            return all(os.stat(path).st_mtime_ns == at for path, at in self.directories)
        except OSError:
            return False


def marks_of(access: Access, home: str) -> Marks:
    """Every rule's path, and where a secret or a protected name could appear. A missing secret is
    looked for by the directory that would hold it, unless commands change that all the time."""
    absent = dict.fromkeys(access.absent)
    directories = dict[str, int]()
    for path in _secret_paths(home):
        above = os.path.dirname(path)
        if any(is_below(above, root) for root in access.writable):
            if not os.path.lexists(path):
                absent[path] = None
        elif above not in directories:
            try:
                directories[above] = os.stat(above).st_mtime_ns
            except OSError:
                absent[above] = None
    return Marks(
        there=tuple(map(_mark, access.rules)),
        held=Held(access.writable),
        absent=tuple(absent),
        directories=tuple(directories.items()),
    )


def _mark(rule: PathRule) -> tuple[str, int, int, int | None]:
    changed = None
    if rule.mode is not PathMode.WRITE:
        with suppress(OSError):  # gone: its number will not be found again
            changed = os.lstat(rule.path).st_ctime_ns
    return rule.path, rule.identity.device, rule.identity.inode, changed


class Held:
    """Open descriptors of these paths, for as long as somebody wants to know of them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._fds: list[int] = []
        for path in paths:
            with suppress(OSError):
                self._fds.append(os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC))

    def __del__(self) -> None:
        for fd in self._fds:
            os.close(fd)


def _secret_paths(home: str) -> list[str]:
    return [
        home + pattern[1:] if pattern.startswith("~/") else pattern
        for pattern in SECRETS
        if "*" not in pattern
    ]
