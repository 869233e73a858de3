"""A launcher that serves: it stands inside a confinement, and commands begin there.

Making namespaces, mounts and a filter costs three bare starts; forking inside of what is made
already costs next to nothing. So one launcher is kept for each agent and confinement. Its socket
is its life line: when we let go of it, or are killed, the first process inside ends, and with it
every process that any command ever started there.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress

from fairlead.model.confine import Confinement, Serve
from fairlead.model.errors import SandboxFailed
from fairlead.spawn import plan, tree
from fairlead.spawn.cgroup import Group
from fairlead.spawn.control import Control, pair
from fairlead.spawn.failure import explain
from fairlead.spawn.reactor import Reactor
from fairlead.spawn.start import Launched, launch_steps

_ENDED = "the sandbox ended while a command was being started in it; nothing was run"
_FULL = 0.001  # seconds until a full socket is tried again


class Zygote:
    """One serving launcher. `ended` is called once, when nothing lives inside any more."""

    leaving = 5.0  # seconds for all inside to be gone once we let go

    def __init__(
        self,
        launcher: str,
        confinement: Confinement,
        reactor: Reactor,
        *,
        group: Group | None,
        take_listener: Callable[[Zygote, int], None],
        ended: Callable[[Zygote], None],
    ) -> None:
        self.confinement = confinement
        self.group = group
        self.terminals = -1
        self.commands = 0  # that live inside
        self.alive = True
        self._retired = False
        self._spare: Control | None = None  # of a guard that waits for its plan
        self._reactor = reactor
        self._take_listener = take_listener
        self._ended = ended
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        joins = group.joins if group is not None else ()
        self._start(launcher, (*joins, *confinement.setup, Serve(confinement.terminals)))

    def _start(self, launcher: str, steps: Sequence[plan.Step]) -> None:
        with ExitStack() as on_failure:
            launched = launch_steps(launcher, steps, None, on_failure, senders=True)
            on_failure.pop_all()
        self._listen(launched)

    def _listen(self, launched: Launched) -> None:
        self.process = launched.guard
        self._control = launched.control
        self._control.socket.setblocking(False)
        self._reactor.add(self._control.fileno(), self._on_control)

    async def ready(self) -> None:
        """Returns once it serves. Raises `SandboxFailed` if a step could not be done."""
        await asyncio.shield(self._ready)

    async def guard(self) -> Launched:
        """A launcher inside that waits for its plan. Raises `SandboxFailed` if there is none."""
        if not self._ready.done():
            await self.ready()
        self._ready.result()
        control, self._spare = self._spare, None
        if control is not None and not control.is_silent():  # somebody ended it
            control.close()
            control = None
        if control is None:
            control = await self._forked()
        return Launched(0, control)

    @property
    def has_died(self) -> bool:
        """It served, and does no more."""
        return not self.alive and self._ready.exception() is None

    def oom_kills(self) -> int:
        """How many processes inside the kernel has ended for want of memory."""
        return self.group.oom_kills() if self.group is not None else 0

    def entered(self) -> None:
        """One more command lives inside."""
        self.commands += 1

    def left(self) -> None:
        """One command less; with the last one a retired zygote goes."""
        self.commands -= 1
        if self._retired and not self.commands:
            self.end()

    def retire(self) -> None:
        """No command begins here any more. It ends with the last of those that live inside."""
        self._retired = True
        self._drop_spare()
        if not self.commands:
            self.end()

    def end(self) -> None:
        """End it now, with everything inside. What is left is heard of through `ended`."""
        if self.alive:
            self._control.let_go()
            self._signal(signal.SIGCONT)  # who was stopped by somebody does not hear us

    def kill(self) -> None:
        """For one that does not end."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        """To the two of them that never end by themselves, if they are ours."""
        for pid in (self.process, *tree.children(self.process)) if self.process else ():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    async def _forked(self) -> Control:
        """The socket of a guard that is on its way."""
        ours, theirs = pair(senders=True)
        with theirs:
            try:
                while not self._send(theirs):
                    await asyncio.sleep(_FULL)
            except BaseException:
                ours.close()
                raise
        return ours

    def prepare(self) -> None:
        """Have a guard wait for the next command. A failure shows when that is started."""
        if self._spare is not None or self._retired or not self.alive or not self._may_wait():
            return
        ours, theirs = pair(senders=True)
        with theirs, suppress(SandboxFailed):
            if self._send(theirs):
                self._spare = ours
                return
        ours.close()

    def _may_wait(self) -> bool:
        """Not where commands could stop a guard before it is anybody's, nor where one process more
        is one less for them."""
        return bool(self.confinement.each) and self.confinement.processes is None

    def _drop_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.close()

    def _send(self, theirs: socket.socket) -> bool:
        if not self.alive:
            raise SandboxFailed(_ENDED, step="service", errno=0)
        request = plan.request_guard()
        try:
            socket.send_fds(self._control.socket, [request], [theirs.fileno()])
        except BlockingIOError:
            return False
        except (BrokenPipeError, ConnectionResetError):
            self._on_control(memoryview(b""))  # its end is there to be heard of
            raise SandboxFailed(_ENDED, step="service", errno=0) from None
        except OSError as error:
            text = f"the sandbox does not answer: {error.strerror or error}"
            raise SandboxFailed(text, step="service", errno=error.errno or 0) from error
        return True

    def _on_control(self, _: memoryview) -> None:
        heard, open_ = self._control.hear()
        for report, _sender in heard:
            self._on_report(report)
        if not open_:
            self._gone()

    def _on_report(self, report: plan.Report) -> None:
        match report:
            case plan.Listener():
                self._take_listener(self, self._control.fds.pop(0))
            case plan.Ready():
                if self.confinement.terminals:
                    self.terminals = self._control.fds.pop(0)
                self._ready.set_result(None)
            case plan.Failed():
                self._fail(explain(report, "the command"))

    def _fail(self, error: Exception) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # that nobody waited for it is no news

    def _gone(self) -> None:
        self.alive = False
        self._fail(SandboxFailed(_ENDED, step="service", errno=0))
        self._reactor.remove(self._control.fileno())
        self._control.close()
        self._drop_spare()
        if self.terminals >= 0:
            with suppress(OSError):
                os.close(self.terminals)
            self.terminals = -1
        self._ended(self)
