"""Which zygote a command begins in: one for each agent, made anew when its confinement changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from fairlead.model.access import Denial
from fairlead.model.confine import Confinement
from fairlead.model.errors import SandboxFailed
from fairlead.spawn.cgroup import Group, make
from fairlead.spawn.reactor import Reactor
from fairlead.spawn.start import Launched
from fairlead.spawn.zygote import Zygote

if TYPE_CHECKING:
    from fairlead.spawn.notify import Answerer

_LOOK_AGAIN = 0.005  # seconds
_LOOKS = 200
_SETTLING = 2 * _LOOKS * _LOOK_AGAIN  # for groups to become empty

# (number, arguments, architecture) of a system call -> (errno, what to tell, if anything)
Judge = Callable[[int, tuple[int, ...], int], tuple[int, Denial | None]]


class _Told(Protocol):
    def denied(self, denial: Denial) -> None: ...


class Surroundings(Protocol):
    """What zygotes need of the spawner they belong to."""

    @property
    def reactor(self) -> Reactor: ...

    def reap(self, guard: int) -> None:
        """Collect a child of ours that has ended or is about to."""

    def process_of(self, pid: int) -> _Told | None:
        """Whose tree a process belongs to."""


class Zygotes:
    """All of one spawner."""

    def __init__(self, launcher: str, spawner: Surroundings, judge: Judge | None) -> None:
        self._launcher = launcher
        self._spawner = spawner
        self._judge = judge
        self._current: dict[str, Zygote] = {}
        self._all: set[Zygote] = set()
        self._groups: dict[str, Group] = {}
        self._emptying: dict[Group, asyncio.TimerHandle] = {}  # with when to look again
        self._listeners: dict[Zygote, Answerer] = {}
        self._empty = asyncio.Event()
        self._closing = False

    async def guard(self, confinement: Confinement) -> tuple[Zygote, Launched]:
        """A guard inside, waiting for its plan, and the zygote that forked it."""
        while True:
            zygote = self._for(confinement)
            try:
                return zygote, await zygote.guard()
            except SandboxFailed:
                if self._closing or not zygote.has_died:  # else somebody ended it just now
                    raise

    def release(self, agent: str) -> None:
        """No more commands of this agent."""
        zygote = self._current.pop(agent, None)
        if zygote is not None:
            zygote.retire()

    async def close(self) -> None:
        """End all of them and wait for it."""
        self._current.clear()
        if not self._all and not self._emptying:
            return
        self._empty.clear()
        self._closing = True
        try:
            for insist in (False, True):
                for zygote in list(self._all):
                    zygote.kill() if insist else zygote.end()
                if await self._is_empty():
                    return
            raise TimeoutError("a sandbox does not end")
        finally:
            self._closing = False

    async def _is_empty(self) -> bool:
        """Soon, or not at all."""
        patience = _SETTLING + max((one.leaving for one in self._all), default=0.0)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._empty.wait()
        return self._empty.is_set()

    def _for(self, confinement: Confinement) -> Zygote:
        """The confiner hands out one and the same object for as long as nothing has changed."""
        known = self._current.get(confinement.agent)
        if known is not None and known.alive and known.confinement is confinement:
            return known
        self.release(confinement.agent)
        zygote = self._current[confinement.agent] = self._make(confinement)
        self._all.add(zygote)
        return zygote

    def _make(self, confinement: Confinement) -> Zygote:
        return _kind(confinement)(
            self._launcher,
            confinement,
            self._spawner.reactor,
            group=self._group(confinement),
            take_listener=self._take_listener,
            ended=self._forget,
        )

    def _group(self, confinement: Confinement) -> Group | None:
        """One for all zygotes of an agent: what is used up in an old one counts as well."""
        agent = confinement.agent
        if agent not in self._groups:
            group = make(confinement.memory, confinement.processes)
            if group is None:
                return None
            self._groups[agent] = group
        return self._groups[agent]

    def _forget(self, zygote: Zygote) -> None:
        self._all.discard(zygote)
        if self._current.get(zygote.confinement.agent) is zygote:
            del self._current[zygote.confinement.agent]
        self._drop_listener(zygote)
        if zygote.process:  # else it is not our own child
            self._spawner.reap(zygote.process)
        agent = zygote.confinement.agent
        if not any(one.confinement.agent == agent for one in self._all):
            group = self._groups.pop(agent, None)
            if group is not None:
                self._remove(group)
        self._tell_if_empty()

    def _remove(self, group: Group, looks: int = _LOOKS) -> None:
        """As soon as the last process has left it, which the kernel does not announce."""
        self._emptying.pop(group, None)
        if not group.remove() and looks:  # else the next engine sweeps it away
            loop = asyncio.get_running_loop()
            again = loop.call_later(_LOOK_AGAIN, self._remove, group, looks - 1)
            self._emptying[group] = again
        self._tell_if_empty()

    def _tell_if_empty(self) -> None:
        if not self._all and not self._emptying:
            self._empty.set()

    def _take_listener(self, zygote: Zygote, fd: int) -> None:
        from fairlead.spawn.notify import Answerer

        listener = self._listeners[zygote] = Answerer(fd, self._answer)
        self._spawner.reactor.add(fd, lambda _: self._answer_one(zygote, listener))

    def _answer_one(self, zygote: Zygote, listener: Answerer) -> None:
        if not listener.answer_one():
            self._drop_listener(zygote)

    def _drop_listener(self, zygote: Zygote) -> None:
        listener = self._listeners.pop(zygote, None)
        if listener is not None:
            self._spawner.reactor.remove(listener.fileno())
            listener.close()

    def _answer(self, pid: int, number: int, arguments: tuple[int, ...], arch: int) -> int:
        assert self._judge is not None
        errno, denial = self._judge(number, arguments, arch)
        process = self._spawner.process_of(pid) if denial is not None else None
        if process is not None and denial is not None:
            process.denied(denial)
        return errno


def _kind(confinement: Confinement) -> type[Zygote]:
    if confinement.container is None:
        return Zygote
    from fairlead.spawn.container_zygote import ContainerZygote

    return ContainerZygote
