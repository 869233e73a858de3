"""Starting a command on this machine, under its own guard.

The guard is our launcher: it starts the command, stays as the ancestor that every orphan of it
falls back to, tells us how it ended, and ends the whole tree when we ask for it or when its
socket to us breaks, which also happens if we are killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from fairlead.model.env import ExecEnv
from fairlead.model.errors import Bug
from fairlead.model.output import Ending
from fairlead.model.process import OutputSink, Whom
from fairlead.spawn import listening, plan, tree
from fairlead.spawn.failure import explain, not_started
from fairlead.spawn.reactor import Reactor
from fairlead.spawn.spare import Spare
from fairlead.spawn.start import Ends, Launched, launch_steps, open_ends
from fairlead.spawn.steps import session_steps
from fairlead.spawn.streams import Streams

INSIST_FOR = 5.0  # seconds after SIGKILL; what is alive then can't be ended by us
_REPORTS = 4096
_REAP_AGAIN = 0.002
_WAKE_EACH = 0.5  # seconds; a guard that its command stopped could not say anything any more


class LocalProcess:
    """A command and its guard. Satisfies `SpawnedProcess`."""

    def __init__(
        self, env: ExecEnv, launched: Launched, ends: Ends, sink: OutputSink, spawner: LocalSpawner
    ) -> None:
        loop = asyncio.get_running_loop()
        self._argv = env.argv
        self._sink = sink
        self._spawner = spawner
        self._guard = launched.guard
        self._control = launched.control
        self._reports = bytearray()
        self._pid = 0  # stays so if the command killed its guard before we heard of it
        self._ran = self._failed = False
        self._status: int | None = None
        self._others_alive = False
        self._over = False
        self._started: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[Ending] = loop.create_future()
        self._gone = asyncio.Event()
        self._streams = Streams(ends, sink, spawner.reactor, tty=env.tty)
        # Not looked up when written to or resized: one hop less for every keystroke.
        self.write = self._streams.write
        self.close_stdin = self._streams.close_stdin
        self.resize = self._streams.resize
        self.awaited = self._streams.awaited
        spawner.reactor.add(self._control.fileno(), self._on_control)

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def guard(self) -> int:
        return self._guard

    async def started(self) -> None:
        """Returns when the command runs; raises `SpawnFailed` if nothing ran."""
        await self._started

    async def wait(self) -> Ending:
        return await asyncio.shield(self._ended)

    def signal(self, signum: int, whom: Whom = Whom.GROUP) -> None:
        if whom is Whom.TREE:
            self._tell(plan.signal_tree(signum))
            return
        group = self._streams.foreground_group()
        if group is None and self._status is None:
            group = self._pid
        if group is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signum)

    async def end_tree(self, grace: float) -> tuple[int, ...]:
        if self._gone.is_set():
            return ()
        self.wake_guard()
        if self._streams.tty:  # an interactive shell ignores SIGTERM, a closing terminal it obeys
            self.signal(signal.SIGHUP, Whom.TREE)
        self.signal(signal.SIGTERM, Whom.TREE)
        self.signal(signal.SIGCONT, Whom.TREE)  # a stopped process acts on nothing else
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._gone.wait()
                return ()
        self._tell(plan.kill_tree())
        await self.gone()
        return tuple(self.descendants())

    def kill_now(self) -> None:
        """End everything at once, without waiting: the guard does it when we let go."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    async def gone(self) -> None:
        """Returns when no process of the tree is left, or after `INSIST_FOR` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(INSIST_FOR):
                await self._gone.wait()

    def descendants(self) -> list[int]:
        """Every process that this command started and that still lives, itself included."""
        if self._gone.is_set():
            return []
        return [pid for pid in tree.descendants(self._guard) if tree.is_alive(pid)]

    def foreground_program(self) -> str | None:
        if self._status is not None:
            return None
        return tree.name(self._streams.foreground_group() or self._pid)

    def listens_on(self, port: int) -> bool:
        return listening.any_listens(self.descendants(), port)

    def translates_newlines(self) -> bool:
        return self._streams.translates_newlines()

    def waiting_for_input(self) -> bool:
        return self._status is None and self._streams.waiting_for_input(self.descendants())

    def release(self) -> None:
        """Close the command's streams."""
        self._streams.release()

    def wake_guard(self) -> None:
        """A command may have stopped it, at any moment and without anybody hearing of that."""
        with suppress(ProcessLookupError):
            os.kill(self._guard, signal.SIGCONT)

    def _tell(self, command: bytes) -> None:
        with suppress(OSError):  # the guard is gone, and so is everything that it guarded
            self._control.send(command, socket.MSG_NOSIGNAL)

    def _on_control(self, _: memoryview) -> None:
        try:
            data = self._control.recv(_REPORTS)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._reports += data
        for report in plan.parse_reports(self._reports):
            self._on_report(report)
        if not data and not self._gone.is_set():
            self._guard_left()

    def _on_report(self, report: plan.Report) -> None:
        match report:
            case plan.Started():
                self._pid = report.pid
                self._ran = True
                self._succeed()
            case plan.Failed():
                self._failed = True
                self._fail(explain(report, self._argv[0]))
            case plan.Exited():
                self._status = report.status
                self._others_alive = report.others_alive
                self._streams.output.settle(self._settled)
            case plan.Gone():
                self._let_go()
                self._gone.set()
                if not self._ended.done():  # nobody is left to wait for
                    self._streams.output.finish()
                self._tree_gone()

    def _succeed(self) -> None:
        if not self._started.done():  # it is, if whoever waited was cancelled
            self._started.set_result(None)

    def _fail(self, error: Exception) -> None:
        if not self._started.done():
            self._started.set_exception(error)

    def _settled(self, held_open: bool) -> None:
        ending = _ending(self._status or 0, self._others_alive and not self._gone.is_set())
        self._streams.command_ended()
        self._ended.set_result(ending)
        self._sink.exited(ending, held_open)
        self._tree_gone()

    def _tree_gone(self) -> None:
        """Once both are true: the command's end was told, and nothing of its tree is left."""
        if self._gone.is_set() and self._ended.done() and not self._over:
            self._over = True
            self._streams.tree_gone()
            self._sink.tree_gone()

    def _let_go(self) -> None:
        self._spawner.reactor.remove(self._control.fileno())
        self._control.close()
        self._spawner.reap(self)

    def _guard_left(self) -> None:
        """The socket broke before GONE: nothing was started, or somebody killed the guard."""
        if not self._ran and not self._failed:
            # A command may be quicker to kill its guard than that is to say that it runs.
            self._ran = _was_killed(self._guard)
        self._let_go()
        self._gone.set()
        if not self._ran:
            self._fail(Bug("the launcher ended without a word"))
            self._streams.release()
            return
        self._succeed()
        if self._pid:
            _kill_session(self._pid)
        if self._status is None:
            self._status = signal.SIGKILL
            self._streams.output.settle(self._settled)
        self._tree_gone()


class LocalSpawner:
    """Starts commands on this machine and answers for every one of them. Satisfies `Spawner`."""

    def __init__(self, launcher: str) -> None:
        self._launcher = launcher
        self._spare = Spare(launcher)
        self._reactor: Reactor | None = None
        self._processes: set[LocalProcess] = set()
        self._unreaped: set[int] = set()
        self._reaping: asyncio.TimerHandle | None = None
        self._waking: asyncio.TimerHandle | None = None

    @property
    def reactor(self) -> Reactor:
        if self._reactor is None:
            self._reactor = Reactor(asyncio.get_running_loop())
        return self._reactor

    async def spawn(self, env: ExecEnv, sink: OutputSink) -> LocalProcess:
        try:
            process = self._start(env, sink)
        except OSError as error:  # out of descriptors, terminals, memory
            raise not_started(env.argv[0], error) from error
        self._processes.add(process)
        self._keep_awake()
        try:
            await process.started()
        except asyncio.CancelledError:
            process.kill_now()
            await _surely(process.gone())
            raise
        except BaseException:
            process.release()
            raise
        return process

    async def close(self) -> None:
        """End every tree and wait for it."""
        self._spare.close()
        living = list(self._processes)
        for process in living:
            process._tell(plan.kill_tree())
        async with asyncio.TaskGroup() as group:
            for process in living:
                group.create_task(process.end_tree(0.0))
        for process in living:
            process.release()
        await self._reap_all()
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None
        if self._reactor is not None:
            self._reactor.close()
            self._reactor = None

    def reap(self, process: LocalProcess) -> None:
        """The guard said its last word; collect it as soon as the kernel lets us."""
        self._processes.discard(process)
        self._reap_later(process.guard)

    def _start(self, env: ExecEnv, sink: OutputSink) -> LocalProcess:
        with ExitStack() as on_failure, ExitStack() as always:
            ends = open_ends(env, on_failure, always)
            launched = self._launch(env, ends, on_failure)
            on_failure.callback(self._reap_later, launched.guard)
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
        launched.control.setblocking(False)
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

    def _reap_later(self, guard: int) -> None:
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


def _was_killed(guard: int) -> bool:
    """Whether a signal ended it. Its socket is closed already, so it is all but gone."""
    with suppress(ChildProcessError):
        return os.WIFSIGNALED(os.waitpid(guard, 0)[1])
    return False


def _kill_session(leader: int) -> None:
    """With its guard the command dies too. Of its descendants we find who stayed in its session."""
    for pid in tree.in_session(leader):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


async def _surely(awaitable: Coroutine[Any, Any, None]) -> None:
    """Wait to the end, also if cancelled again meanwhile: what was begun has to be cleaned up."""
    task = asyncio.ensure_future(awaitable)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)


def _ending(status: int, others_alive: bool) -> Ending:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Ending(code=128 + number, signal=number, descendants_alive=others_alive)
    return Ending(code=os.WEXITSTATUS(status), descendants_alive=others_alive)
