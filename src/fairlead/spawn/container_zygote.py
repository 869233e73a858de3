"""A zygote in a container. As any zygote; only its start takes longer, and its end leaves a
container to remove."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairlead.spawn import cgroup, plan
from fairlead.spawn.container import make, new_name, remove, sweep
from fairlead.spawn.container_engine import PATIENCE, failed
from fairlead.spawn.container_group import group_of
from fairlead.spawn.control import Control
from fairlead.spawn.start import Launched
from fairlead.spawn.zygote import Zygote


class ContainerZygote(Zygote):
    """`ended` is called when the container is removed."""

    leaving = 3 * PATIENCE

    def __init__(self, *arguments: Any, ended: Callable[[Zygote], None], **named: Any) -> None:
        self._is_removed = ended
        self._name = new_name()
        self._entered = self._unwanted = False
        self._memory_group: Path | None = None
        self._work: asyncio.Task[None]
        super().__init__(*arguments, ended=self._left, **named)

    async def guard(self) -> Launched:
        """As ever; and who waits for its start is not left alone if it is retired meanwhile."""
        self.entered()
        try:
            return await super().guard()
        finally:  # once the caller has entered by itself
            asyncio.get_running_loop().call_soon(self.left)

    def end(self) -> None:
        """End it now; while it is still being made, as soon as it is."""
        self._unwanted = True
        if self._entered:
            super().end()

    def oom_kills(self) -> int:
        return cgroup.oom_kills_in(self._memory_group) if self._memory_group else 0

    def _start(self, launcher: str, steps: Sequence[plan.Step]) -> None:
        assert self.confinement.container is not None
        self.process = 0
        self._container = self.confinement.container
        self._work = asyncio.create_task(self._enter(launcher, steps))

    async def _enter(self, launcher: str, steps: Sequence[plan.Step]) -> None:
        try:
            control, pid = await asyncio.to_thread(self._make, launcher)
            if self._unwanted:
                control.close()
                raise failed("the container was no longer wanted; nothing was run")
        except Exception as error:  # a mistake of ours, too, is told to whoever waits
            self.alive = False
            self._fail(error)
            await self._remove()
            return
        self._memory_group = group_of(pid, "memory")
        self._entered = True
        with control.socket.dup() as plain:
            self._listen(Launched(0, control))
            with suppress(OSError):  # it is gone already, and that is heard of
                await asyncio.get_running_loop().sock_sendall(plain, plan.encode(steps))

    def _may_wait(self) -> bool:
        return super()._may_wait() and self._container.processes is None

    def _make(self, launcher: str) -> tuple[Control, int]:
        sweep(self._container.program)
        return make(self._container, self._name, launcher)

    def _left(self, _: Zygote) -> None:
        self._work = asyncio.create_task(self._remove())

    async def _remove(self) -> None:
        await asyncio.to_thread(remove, self._container.program, self._name)
        self._is_removed(self)
