"""Without the launcher: pure Python, for machines where it could not be built.

The same streams, sessions and exact endings, but nobody guards the tree. A command's processes
are found by walking /proc and by their kernel session, so a daemon that cut both ties is not
found, and if we are killed, what runs stays. What is wrapped in a sandbox ends with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Self

from fairlead.model.env import ExecEnv
from fairlead.model.errors import SpawnFailed
from fairlead.model.output import Ending
from fairlead.model.process import OutputSink, Whom
from fairlead.spawn import bare_start, listening, tree
from fairlead.spawn.bare_start import Child
from fairlead.spawn.bare_wrapped import Wrapped
from fairlead.spawn.failure import not_started
from fairlead.spawn.reactor import Reactor
from fairlead.spawn.start import Ends, attach, open_directory, open_ends
from fairlead.spawn.steps import Wiring
from fairlead.spawn.streams import Streams

INSIST_FOR = 5.0
_LOOK = 0.02  # the kernel has no event for "all of these are gone"
_LOOKS = 50
_CHECK = 0.5  # how often we look whether the descendants of an ended command are gone

_OF_THE_TERMINAL = {signal.SIGINT, signal.SIGQUIT}
_HEARD = _OF_THE_TERMINAL | {signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2}


class BareProcess:
    """A command in a session of its own. Satisfies `SpawnedProcess`."""

    def __init__(
        self,
        child: Child,
        ends: Ends,
        sink: OutputSink,
        reactor: Reactor,
        *,
        tty: bool,
    ) -> None:
        self._child = child
        self._sink = sink
        self._reactor = reactor
        self._pidfd = os.pidfd_open(child.pid)
        self._ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._known: dict[int, int] = {}  # pid and start time: a pid may be given out again
        self._exited = False
        self._look: asyncio.TimerHandle | None = None
        self.gone = False
        self._streams = Streams(ends, sink, reactor, tty=tty)
        self.write = self._streams.write
        self.close_stdin = self._streams.close_stdin
        self.resize = self._streams.resize
        self.awaited = self._streams.awaited
        reactor.add(self._pidfd, self._on_exit)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def inner_pid(self) -> int:
        return tree.number_inside(_itself(self._child))

    async def wait(self) -> Ending:
        return await asyncio.shield(self._ended)

    def shared_directory(self) -> tuple[int, str] | None:
        if not isinstance(self._child, Wrapped):
            return None
        return tree.shared_memory(self._child.command() or self.pid)

    def signal(self, signum: int, whom: Whom = Whom.GROUP) -> None:
        if whom is Whom.TREE:
            for pid in self.descendants():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signum)
            return
        group = self._streams.foreground_group()
        if group is None and not self._exited:
            group = self.pid
        if group is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signum)

    async def end_tree(self, grace: float) -> tuple[int, ...]:
        numbers = (signal.SIGHUP, signal.SIGTERM) if self._streams.tty else (signal.SIGTERM,)
        for number in (*numbers, signal.SIGCONT):
            self.signal(number, Whom.TREE)
        if not await self._gone_within(grace):
            deadline = asyncio.get_running_loop().time() + INSIST_FOR
            while asyncio.get_running_loop().time() < deadline:
                self.signal(signal.SIGKILL, Whom.TREE)
                if await self._gone_within(_LOOK):
                    break
        survivors = tuple(self.descendants())
        if not survivors:
            await self.wait()
            self._check_gone()
        return tuple(map(tree.number_inside, survivors))

    def descendants(self) -> list[int]:
        """The walk and the kernel session together, and whoever was seen before and still lives."""
        if self.gone:
            return []
        found = {pid for pid, began in self._known.items() if tree.start_time(pid) == began}
        found.update(tree.in_session(self.pid))
        if not self._exited:
            found.add(self.pid)
        for pid in list(found):
            found.update(tree.descendants(pid))
        began = {pid: tree.start_time(pid) for pid in found if tree.is_alive(pid)}
        self._known = {pid: time for pid, time in began.items() if time is not None}
        return sorted(self._known)

    def foreground_program(self) -> str | None:
        if self._exited:
            return None
        group = self._streams.foreground_group() or self.pid
        return tree.name(_itself(self._child) if group == self.pid else group)

    def listens_on(self, port: int) -> bool:
        return listening.any_listens(self.descendants(), port)

    def translates_newlines(self) -> bool:
        return self._streams.translates_newlines()

    def waiting_for_input(self) -> bool:
        return not self._exited and self._streams.waiting_for_input(self.descendants())

    def release(self) -> None:
        """Close the command's streams, and look no more for who is left of it."""
        if self._look is not None:
            self._look.cancel()
        self._streams.release()

    def _on_exit(self, _: memoryview) -> None:
        code = self._child.poll()
        if code is None:
            return
        self._reactor.remove(self._pidfd)
        os.close(self._pidfd)
        self._exited = True
        self._streams.output.settle(lambda held_open: self._settled(code, held_open))

    def _settled(self, code: int, held_open: bool, looks: int = _LOOKS) -> None:
        if isinstance(self._child, Wrapped) and looks and self.descendants():
            # The sandbox goes down with its wrapper, a moment later.
            again = partial(self._settled, code, held_open, looks - 1)
            self._look = asyncio.get_running_loop().call_later(_LOOK, again)
            return
        self._streams.command_ended()
        number = -code if code < 0 else None
        ending = Ending(
            code=128 + number if number else code,
            signal=number,
            descendants_alive=bool(self.descendants()),
        )
        self._ended.set_result(ending)
        self._sink.exited(ending, held_open)
        self._check_gone()

    def _check_gone(self) -> None:
        if self.gone or not self._ended.done():
            return
        if self._look is not None:
            self._look.cancel()
        if self.descendants():
            self._look = asyncio.get_running_loop().call_later(_CHECK, self._check_gone)
        else:
            self.gone = True
            self._streams.tree_gone()
            self._sink.tree_gone()

    async def _gone_within(self, seconds: float) -> bool:
        deadline = asyncio.get_running_loop().time() + seconds
        while self.descendants():
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(_LOOK)
        return True


class BareSpawner:
    """Starts commands without the launcher. Satisfies `Spawner`."""

    def __init__(self, why: str) -> None:
        self.why = why
        self._reactor: Reactor | None = None
        self._processes: list[BareProcess] = []

    async def spawn(self, env: ExecEnv, sink: OutputSink) -> BareProcess:
        if self._reactor is None:
            self._reactor = Reactor(asyncio.get_running_loop())
        try:
            process = self._start(env, sink, self._reactor)
        except OSError as error:  # out of descriptors, terminals, memory
            raise not_started(env.command[0], error) from error
        self._processes = [one for one in self._processes if not one.gone]
        self._processes.append(process)
        return process

    def release(self, agent: str) -> None:
        """Nothing is kept for anybody here."""

    async def close(self) -> None:
        async with asyncio.TaskGroup() as group:
            for process in self._processes:
                group.create_task(process.end_tree(0.0))
        for process in self._processes:
            process.release()
        self._processes.clear()
        if self._reactor is not None:
            self._reactor.close()
            self._reactor = None

    def _start(self, env: ExecEnv, sink: OutputSink, reactor: Reactor) -> BareProcess:
        with ExitStack() as on_failure, ExitStack() as always:
            ends = open_ends(env, on_failure, always)
            child = bare_start.start(env, ends.wiring)
            on_failure.callback(_abandon, child)
            process = BareProcess(child, ends, sink, reactor, tty=env.tty)
            on_failure.pop_all()
        return process


def run_in_foreground(env: ExecEnv, *, tty: bool) -> int:
    """`fairlead run` without the launcher. A terminal of its own would need a guard."""
    if tty:
        raise SpawnFailed("-t needs the native launcher", step="launcher", errno=0)
    with ExitStack() as always:
        directory = open_directory(env.cwd)
        always.callback(os.close, directory)
        attached = attach(env.attached or {}, always)
        wiring = Wiring(stdin=0, stdout=1, stderr=2, directory=directory, attached=attached)
        handed_on = always.enter_context(_HandedOn())
        child = bare_start.start(env, wiring, own_session=False)
        handed_on.to(child)
        code = child.wait()
    return 128 - code if code < 0 else code


class _HandedOn:
    """What we are sent, the command gets. We listen before it runs: it may be ready before we are.

    It inherits no handler of ours. What we were told to ignore, it was too, so that is left alone
    until it runs.
    """

    def __init__(self) -> None:
        self._child: Child | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        heard = [one for one in _HEARD if signal.getsignal(one) != signal.SIG_IGN]
        self._before = {one: signal.signal(one, self._take) for one in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def to(self, child: Child) -> None:
        self._child = child
        for ignored in _HEARD - self._before.keys():
            self._before[ignored] = signal.signal(ignored, self._take)
        for number in self._early:
            child.send_signal(number)

    def _take(self, number: int, _: object) -> None:
        if number in _OF_THE_TERMINAL:  # the command shares it and gets those itself
            return
        if self._child is None:
            self._early.append(number)
        else:
            self._child.send_signal(number)


def _abandon(child: Child) -> None:
    child.kill()
    child.wait()


def _itself(child: Child) -> int:
    """The command's own pid, not that of what it is wrapped in."""
    return (child.command() if isinstance(child, Wrapped) else None) or child.pid
