"""A command and its guard, as its parent sees them: reports come in, orders go out."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from functools import partial
from typing import Protocol

from fairlead.model.access import Denial
from fairlead.model.env import ExecEnv
from fairlead.model.errors import Bug, SpawnFailed
from fairlead.model.frozen import replace
from fairlead.model.output import Ending
from fairlead.model.process import OutputSink, Whom
from fairlead.spawn import listening, plan, tree
from fairlead.spawn.ending import ending_of, kill_session, was_killed
from fairlead.spawn.failure import explain
from fairlead.spawn.reactor import Reactor
from fairlead.spawn.start import Ends, Launched
from fairlead.spawn.streams import Streams
from fairlead.spawn.zygote import Zygote

INSIST_FOR = 5.0  # seconds after SIGKILL; what is alive then can't be ended by us
_MOMENT = 0.02


class Keeper(Protocol):
    """What a process needs of the spawner it belongs to."""

    @property
    def reactor(self) -> Reactor: ...

    def let_go(self, process: LocalProcess, guard: int) -> None:
        """Its guard said its last word."""


class LocalProcess:
    """A command and its guard. Satisfies `SpawnedProcess`."""

    def __init__(
        self,
        env: ExecEnv,
        launched: Launched,
        ends: Ends,
        sink: OutputSink,
        spawner: Keeper,
        zygote: Zygote | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._argv = env.argv
        self._sink = sink
        self._spawner = spawner
        self._zygote = zygote
        self._oom_kills = zygote.oom_kills() if zygote is not None else 0
        self._guard = launched.guard  # 0 until we hear from it, if a zygote forked it
        self._control = launched.control
        self._inside_pid = 0
        self._pid = 0  # stays so if the command killed its guard before we heard of it
        self._ran = self._failed = self._orphaned = self._killed = False
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
    def inner_pid(self) -> int:
        return tree.number_inside(self._pid)

    @property
    def guard(self) -> int:
        return self._guard

    def roots(self) -> tuple[int, ...]:
        """The guard, and the command, which is heard of before it can do anything."""
        if not self._guard:  # what they said may still wait to be read
            self._on_control(memoryview(b""))
        command = self._inside_pid if self._status is None else 0
        return tuple(pid for pid in (self._guard, command) if pid)

    @property
    def was_lost(self) -> bool:
        """The guard inside was ended by somebody before it could do anything."""
        return self._zygote is not None and not self._ran and not self._failed

    async def started(self) -> None:
        """Returns when the command runs; raises `SpawnFailed` if nothing ran."""
        await self._started

    async def wait(self) -> Ending:
        return await asyncio.shield(self._ended)

    def signal(self, signum: int, whom: Whom = Whom.GROUP) -> None:
        self._killed |= signum == signal.SIGKILL
        if whom is Whom.TREE:
            self._control.tell(plan.signal_tree(signum))
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
        self._killed = True
        self._control.tell(plan.kill_tree())
        await self.gone()
        return tuple(map(tree.number_inside, self.descendants()))

    def kill_now(self) -> None:
        """End everything at once, without waiting: the guard does it when we let go."""
        self._killed = True
        self._control.let_go()

    async def gone(self) -> None:
        """Returns when no process of the tree is left, or after `INSIST_FOR` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(INSIST_FOR):
                await self._gone.wait()

    def descendants(self) -> list[int]:
        """Every process that this command started and that still lives, itself included."""
        if self._gone.is_set() or not self._guard:
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

    def shared_directory(self) -> tuple[int, str] | None:
        return tree.shared_memory(self._pid) if self._zygote is not None else None

    def release(self) -> None:
        """Close the command's streams."""
        self._streams.release()

    def wake_guard(self) -> None:
        """A command may have stopped it, at any moment and without anybody hearing of that."""
        if self._guard:
            with suppress(ProcessLookupError):
                os.kill(self._guard, signal.SIGCONT)

    def denied(self, denial: Denial) -> None:
        """The kernel did not let a process of this tree do something."""
        self._sink.denied(denial)

    def _on_control(self, _: memoryview) -> None:
        heard, open_ = self._control.hear()
        for report, sender in heard:
            self._on_report(report, sender)
        if not open_ and not self._gone.is_set():
            self._guard_left()

    def _on_report(self, report: plan.Report, sender: int) -> None:
        match report:
            case plan.Command():
                self._inside_pid = sender
            case plan.Started():
                # Inside a pid namespace they know other numbers than ours.
                self._guard = self._guard or sender
                self._pid = self._inside_pid or report.pid
                self._control.all_known()
                self._ran = True
                self._succeed()
                if self._zygote is not None:  # while the command runs: nobody waits for it then
                    self._zygote.prepare()
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

    def _unheard(self) -> Exception:
        if self._zygote is None:
            return Bug("the launcher ended without a word")
        text = "the sandbox ended while the command was being started; nothing was run"
        return SpawnFailed(text, step="service", errno=0)

    def _settled(self, held_open: bool) -> None:
        ending = ending_of(self._status or 0, self._others_alive and not self._gone.is_set())
        if ending.signal == signal.SIGKILL and self._zygote is not None and not self._killed:
            # The kernel counts for the group: nobody knows whom it ended, only that we did not.
            ending = replace(ending, oom=self._zygote.oom_kills() > self._oom_kills)
        if self._orphaned and self._zygote is not None and not self._zygote.alive:
            ending = replace(ending, killed_by="the sandbox's first process ended")
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
        self._spawner.let_go(self, self._guard if self._zygote is None else 0)
        if self._zygote is not None:
            self._zygote.left()

    def _guard_left(self) -> None:
        """The socket broke before GONE: nothing was started, or somebody killed the guard."""
        if not self._ran and not self._failed:
            # A command may be quicker to kill its guard than that is to say that it runs. Inside it
            # says of itself that it is about to.
            self._ran = bool(self._inside_pid) if self._zygote else was_killed(self._guard)
            self._pid = self._inside_pid
        self._let_go()
        self._gone.set()
        if not self._ran:
            self._fail(self._unheard())
            self._streams.release()
            return
        self._succeed()
        if self._pid:
            kill_session(self._pid)
        if self._status is None:
            self._status = signal.SIGKILL
            self._orphaned = True
            settle = partial(self._streams.output.settle, self._settled)
            if self._zygote is not None and self._zygote.alive:
                # If it went with its whole sandbox, that is heard of a moment later.
                asyncio.get_running_loop().call_later(_MOMENT, settle)
            else:
                settle()
        self._tree_gone()
