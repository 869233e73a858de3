"""Starting a command on this machine, under its own guard.

The guard is our launcher: it starts the command, stays as the ancestor that every orphan of it
falls back to, tells us how it ended, and ends the whole tree when we ask for it or when its
socket to us breaks, which also happens if we are killed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from fairlead.model.env import ExecEnv
from fairlead.model.process import OutputSink
from fairlead.spawn import plan, tree
from fairlead.spawn.failure import not_started
from fairlead.spawn.local_process import LocalProcess
from fairlead.spawn.reactor import Reactor
from fairlead.spawn.spare import Spare
from fairlead.spawn.start import Ends, Launched, launch_steps, open_ends, send_plan
from fairlead.spawn.steps import session_steps, steps_inside
from fairlead.spawn.zygote import Zygote
from fairlead.spawn.zygotes import Judge, Zygotes

_REAP_AGAIN = 0.002
_WAKE_EACH = 0.5  # seconds; a guard that its command stopped could not say anything any more
_ATTEMPTS = 3  # to start where somebody ends what a command is to be started in


class LocalSpawner:
    """Starts commands on this machine and answers for every one of them. Satisfies `Spawner`.

    `judge` says what the system call filter's questions are about, and the answer to each.
    """

    def __init__(self, launcher: str, judge: Judge | None = None) -> None:
        self._launcher = launcher
        self._spare = Spare(launcher)
        self._zygotes = Zygotes(launcher, self, judge)
        self._reactor: Reactor | None = None
        self._processes: set[LocalProcess] = set()
        self._unreaped: set[int] = set()
        self._closing = False
        self._reaping: asyncio.TimerHandle | None = None
        self._waking: asyncio.TimerHandle | None = None

    @property
    def reactor(self) -> Reactor:
        if self._reactor is None:
            self._reactor = Reactor(asyncio.get_running_loop())
        return self._reactor

    async def spawn(self, env: ExecEnv, sink: OutputSink) -> LocalProcess:
        attempts = _ATTEMPTS
        while True:
            process = await self._spawned(env, sink)
            attempts -= 1
            try:
                await process.started()
                return process
            except asyncio.CancelledError:
                process.kill_now()
                await _surely(process.gone())
                raise
            except BaseException:
                process.release()
                if not attempts or not process.was_lost or self._closing:
                    raise

    async def _spawned(self, env: ExecEnv, sink: OutputSink) -> LocalProcess:
        try:
            process = await self._begin(env, sink)
        except OSError as error:  # out of descriptors, terminals, memory
            raise not_started(env.argv[0], error) from error
        self._processes.add(process)
        self._keep_awake()
        return process

    async def close(self) -> None:
        """End every tree and wait for it."""
        self._closing = True
        try:
            await self._close()
        finally:
            self._closing = False

    async def _close(self) -> None:
        self._spare.close()
        living = list(self._processes)
        for process in living:
            process.kill_now()
        async with asyncio.TaskGroup() as group:
            for process in living:
                group.create_task(process.end_tree(0.0))
        for process in living:
            process.release()
        await self._zygotes.close()
        await self._reap_all()
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None
        if self._reactor is not None:
            self._reactor.close()
            self._reactor = None

    def release(self, agent: str) -> None:
        """This agent is gone, and so is all that was kept for its next command."""
        self._zygotes.release(agent)

    def let_go(self, process: LocalProcess, guard: int) -> None:
        """Its guard said its last word; collect it as soon as the kernel lets us, if it is ours."""
        self._processes.discard(process)
        if guard:
            self.reap(guard)

    def process_of(self, pid: int) -> LocalProcess | None:
        """Whose tree a process belongs to."""
        roots = {root: one for one in list(self._processes) for root in one.roots()}
        at: int | None = pid
        while at and at not in roots:
            at = tree.parent(at)
        return roots[at] if at else None

    async def _begin(self, env: ExecEnv, sink: OutputSink) -> LocalProcess:
        if env.confinement is None:
            return self._start(env, sink)
        zygote, launched = await self._zygotes.guard(env.confinement)
        try:
            return self._start_inside(env, sink, zygote, launched)
        except BaseException:
            launched.control.close()
            raise

    def _start_inside(
        self, env: ExecEnv, sink: OutputSink, zygote: Zygote, launched: Launched
    ) -> LocalProcess:
        with ExitStack() as on_failure, ExitStack() as always:
            ends = open_ends(env, on_failure, always, zygote.terminals)
            with suppress(BrokenPipeError, ConnectionResetError):  # it has left, and said why
                send_plan(launched, partial(steps_inside, env), ends.wiring, plan.MAX_PLAN_BYTES)
            launched.control.socket.setblocking(False)
            process = LocalProcess(env, launched, ends, sink, self, zygote)
            on_failure.pop_all()
        zygote.entered()
        return process

    def _start(self, env: ExecEnv, sink: OutputSink) -> LocalProcess:
        with ExitStack() as on_failure, ExitStack() as always:
            ends = open_ends(env, on_failure, always)
            launched = self._launch(env, ends, on_failure)
            on_failure.callback(self.reap, launched.guard)
            process = LocalProcess(env, launched, ends, sink, self)
            on_failure.pop_all()
        if self._spare.due():  # made while the command runs: nobody waits for it then
            asyncio.get_running_loop().call_soon(self._make_spare)
        return process

    def _launch(self, env: ExecEnv, ends: Ends, on_failure: ExitStack) -> Launched:
        steps = partial(session_steps, env)
        launched = self._spare.take(steps, ends.wiring)
        if launched is None:
            launched = launch_steps(self._launcher, steps(ends.wiring), ends.wiring, on_failure)
        else:
            on_failure.callback(launched.control.close)
        launched.control.socket.setblocking(False)
        return launched

    def _make_spare(self) -> None:
        if self._reactor is not None:  # else we were closed meanwhile
            self._spare.make()

    def _keep_awake(self) -> None:
        """While there are guards, wake them now and then: one that is awake does not notice."""
        if self._waking is None:
            loop = asyncio.get_running_loop()
            self._waking = loop.call_later(_WAKE_EACH, self._wake_all)

    def _wake_all(self) -> None:
        self._waking = None
        for process in self._processes:
            process.wake_guard()
        if self._processes:
            self._keep_awake()

    def reap(self, guard: int) -> None:
        """At once, or as soon as it is possible: its socket closes a moment before."""
        self._unreaped.add(guard)
        if self._reaping is None:
            self._reap_some()

    def _reap_some(self) -> None:
        self._reaping = None
        for pid in list(self._unreaped):
            with suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    continue
            self._unreaped.discard(pid)
        if self._unreaped:
            self._reaping = asyncio.get_running_loop().call_later(_REAP_AGAIN, self._reap_some)

    async def _reap_all(self) -> None:
        while self._unreaped:
            await asyncio.sleep(_REAP_AGAIN)


async def _surely(awaitable: Coroutine[Any, Any, None]) -> None:
    """Wait to the end, also if cancelled again meanwhile: what was begun has to be cleaned up."""
    task = asyncio.ensure_future(awaitable)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
