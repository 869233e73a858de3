"""A command in the caller's own terminal: `fairlead run`. No event loop, so that it starts fast.

The command inherits our streams, or gets a terminal of its own that we copy to and from. It has
a guard like every other command: when we go, however we go, nothing of it stays.
"""

from __future__ import annotations

import errno
import math
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from fairlead.model.confine import Container
from fairlead.model.env import ExecEnv
from fairlead.model.errors import Bug
from fairlead.model.params import Size
from fairlead.spawn import plan, pty, tree
from fairlead.spawn.control import Control
from fairlead.spawn.failure import explain
from fairlead.spawn.start import Launched, StepsFor, launch_steps, open_place
from fairlead.spawn.steps import Wiring, foreground_steps, session_steps

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_COPY = 64 * 1024
_LOOK = 0.2  # seconds; the kernel tells of a stop only the parent, which is the guard
_LAST_WORDS_MS = 20  # without a byte after the command's end, and we are done
_LONGEST_LAST_WORDS = 0.2  # a descendant that floods is never quiet


class _Command:
    """A command, seen through its guard's socket. Signals for it may come before it runs."""

    guard: int
    control: Control

    def __init__(self, name: str) -> None:
        self.name = name
        self.pid = 0
        self.status: int | None = None
        self._inside_pid = 0
        self._early: list[int] = []

    def begin(self, launched: Launched) -> None:
        self.guard = launched.guard
        self.control = launched.control
        self.control.socket.setblocking(True)

    def hear(self) -> bool:
        """Take the guard's next words; False once the command has ended."""
        heard, open_ = self.control.hear()
        for report, sender in heard:
            match report:
                case plan.Command():
                    self._inside_pid = sender
                case plan.Started():
                    self._started(self._inside_pid or report.pid)
                case plan.Failed():
                    self._reap()
                    raise explain(report, self.name)
                case plan.Exited():
                    self.status = report.status
        return open_ and self.status is None

    def signal(self, number: int) -> None:
        if not self.pid:
            self._early.append(number)
        elif self.status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)

    def finish(self) -> int:
        """Let go of the guard, which ends what is left, and return the exit code."""
        self.control.let_go()
        while self.status is None and self.hear():
            pass
        self.control.close()
        self._reap()
        if self.status is None and not self.pid:
            raise Bug("the launcher ended without a word")
        if self.status is None:  # somebody killed the guard, and with it the command
            self.status = signal.SIGKILL
        if os.WIFSIGNALED(self.status):
            return 128 + os.WTERMSIG(self.status)
        return os.WEXITSTATUS(self.status)

    def _reap(self) -> None:
        if self.guard:  # else it is not our own child
            os.waitpid(self.guard, 0)

    def _started(self, pid: int) -> None:
        self.pid = pid
        for number in self._early:  # sent to us before there was anybody to hand them on to
            self.signal(number)


def run(launcher: str, env: ExecEnv) -> int:
    """Run with our own standard streams; returns the command's exit code."""
    with ExitStack() as always:
        wiring = Wiring(stdin=0, stdout=1, stderr=2, directory=open_place(env, always))
        command = _Command(env.argv[0])
        # What is typed into our terminal reaches only who is below us.
        with _signals_forwarded(command, everything=_container(env) is not None):
            steps = partial(foreground_steps, env)
            command.begin(_launched(launcher, env, steps, wiring, always))
            while _heard(command):
                pass
        return command.finish()


def _heard(command: _Command) -> bool:
    """Wait for the next word of the guard. In a terminal, stop when the command has stopped.

    A Ctrl-Z stops everybody in the foreground. A program that stops itself and its group (an
    editor, which takes the key itself) does not reach us out of its sandbox: whoever waits for us
    would wait for ever. Seen twice, since what lets both of us go on may come to us first.
    """
    stopped = 0
    while command.pid and any(map(os.isatty, (0, 1, 2))):
        if select.select([command.control], [], [], _LOOK)[0]:
            break
        stopped = stopped + 1 if tree.is_stopped(command.pid) and _in_foreground() else 0
        if stopped > 1:
            os.kill(os.getpid(), signal.SIGSTOP)
            stopped = 0
    return command.hear()


def run_in_terminal(launcher: str, env: ExecEnv) -> int:
    """Run on a terminal of its own and copy between it and our streams."""
    with ExitStack() as always:
        directory = open_place(env, always)
        master, slave = pty.open_pty(_own_size() or env.size, plain=False)
        always.callback(os.close, master)
        wiring = Wiring(stdin=slave, stdout=slave, stderr=slave, directory=directory)
        command = _Command(env.argv[0])
        with _signals_forwarded(command, everything=True):
            try:
                steps = partial(session_steps, env, own_group=_container(env) is None)
                command.begin(_launched(launcher, env, steps, wiring, always))
            finally:
                os.close(slave)
            with _raw_input(), _follow_size(master):
                _copy(command, master)
        return command.finish()


def _launched(
    launcher: str, env: ExecEnv, steps: StepsFor, wiring: Wiring, always: ExitStack
) -> Launched:
    container = _container(env)
    if container is not None:
        from fairlead.spawn.container import launched

        return launched(container, launcher, steps, wiring, always)
    senders = env.confinement is not None
    return launch_steps(launcher, steps(wiring), wiring, always, senders=senders)


def _container(env: ExecEnv) -> Container | None:
    return env.confinement.container if env.confinement is not None else None


def _copy(command: _Command, master: int) -> None:
    """Bytes both ways until the command has ended and its terminal has said everything."""
    typed = _Typed(master)
    control = command.control.fileno()
    poll = select.poll()
    poll.register(control, select.POLLIN)
    until = math.inf
    while True:
        poll.register(master, select.POLLIN | (select.POLLOUT if typed.pending else 0))
        if typed.wanted:
            poll.register(0, select.POLLIN)
        elif typed.watching:
            poll.unregister(0)
        typed.watching = typed.wanted
        ready = dict(poll.poll(None if until == math.inf else _LAST_WORDS_MS))
        if until != math.inf and (master not in ready or time.monotonic() > until):
            return
        if control in ready and not command.hear():
            poll.unregister(control)
            until = time.monotonic() + _LONGEST_LAST_WORDS
        if 0 in ready:
            typed.read()
        if ready.get(master, 0) & select.POLLOUT:
            typed.send()
        if ready.get(master, 0) & ~select.POLLOUT:
            said = _read(master)
            if said == b"":
                break
            if said and not _show(said):
                return  # nobody wants to see more: the command is ended
    while command.status is None and command.hear():  # it closed its terminal and runs on
        pass


class _Typed:
    """What we read from our input and the command's terminal has yet to take."""

    def __init__(self, master: int) -> None:
        os.set_blocking(master, False)
        self.pending = bytearray()
        self.watching = False
        self._master = master
        self._open = True
        self._line_begins = True

    @property
    def wanted(self) -> bool:
        """Read no more before it is taken: a slow command slows whoever types."""
        return self._open and not self.pending

    def read(self) -> None:
        try:
            data = os.read(0, _COPY)
        except OSError:  # our own terminal is gone
            data = b""
        if data:
            self.pending += data
            self._line_begins = data.endswith(b"\n")
        else:
            self._open = False
            # In the middle of a line the first one only hands over what is there of it.
            with suppress(termios.error):
                end = pty.end_of_file(self._master)
                self.pending += end if self._line_begins else 2 * end
        self.send()

    def send(self) -> None:
        try:
            del self.pending[: os.write(self._master, self.pending)]
        except BlockingIOError:
            pass
        except OSError:  # EIO: nobody reads any more
            self.pending.clear()


def _read(master: int) -> bytes | None:
    """What the terminal says: nothing yet (None), or nothing any more (empty)."""
    try:
        return os.read(master, _COPY)
    except BlockingIOError:
        return None
    except OSError:  # EIO: the last writer of the terminal is gone
        return b""


def _show(said: bytes) -> bool:
    view = memoryview(said)
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError:
        return False
    return True


@contextmanager
def _signals_forwarded(command: _Command, *, everything: bool = False) -> Iterator[None]:
    """What we are sent, the command gets. A Ctrl-C in a shared terminal it has got already.

    Entered before the command is started, since it may be ready before we are.
    """
    before = {}

    def forward(number: int, _: object) -> None:
        command.signal(number)

    def interrupt(number: int, _: object) -> None:
        if everything or not _in_foreground():
            command.signal(number)

    for number in _FORWARDED:
        before[number] = signal.signal(number, forward)
    for number in (signal.SIGINT, signal.SIGQUIT):
        before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Do we share the terminal's foreground group with the command?"""
    for fd in (0, 1, 2):
        with suppress(OSError):
            return os.tcgetpgrp(fd) == os.getpgrp()
    return False


@contextmanager
def _raw_input() -> Iterator[None]:
    """Keys go through as they are, if we are typed into."""
    if not os.isatty(0):
        yield
        return
    before = termios.tcgetattr(0)
    # The usual way throws away what was typed ahead.
    changed = _set_terminal(partial(tty.setraw, 0, termios.TCSADRAIN))
    try:
        yield
    finally:
        if changed:
            _set_terminal(partial(termios.tcsetattr, 0, termios.TCSADRAIN, before))


def _set_terminal(change: Callable[[], object]) -> bool:
    """In the background the kernel stops us here. Continued there by whoever sent us a signal, we
    leave the terminal to its owner: the signal is what has to be seen to."""
    while True:
        try:
            change()
        except termios.error as error:
            if error.args[0] != errno.EINTR:
                raise
            if not _in_foreground():
                return False
        else:
            return True


@contextmanager
def _follow_size(master: int) -> Iterator[None]:
    def resized(number: int, frame: object) -> None:
        size = _own_size()
        if size is not None:
            pty.resize(master, size)

    before = signal.signal(signal.SIGWINCH, resized)
    resized(signal.SIGWINCH, None)  # it may have changed while we were starting
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)


def _own_size() -> Size | None:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            found = os.get_terminal_size(stream.fileno())
            return Size(found.lines, found.columns)
    return None
