"""A command in the caller's own terminal: `fairlead run`. No event loop, so that it starts fast.

The command inherits our streams, or gets a terminal of its own that we copy to and from. It has
a guard like every other command: when we go, however we go, nothing of it stays.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from fairlead.model.env import ExecEnv
from fairlead.model.errors import Bug
from fairlead.model.params import Size
from fairlead.spawn import plan, pty
from fairlead.spawn.failure import explain
from fairlead.spawn.start import launch_steps, open_directory
from fairlead.spawn.steps import Wiring, foreground_steps, session_steps

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_COPY = 64 * 1024


class _Command:
    """A command that runs, seen through its guard's socket."""

    def __init__(self, guard: int, control: socket.socket, name: str) -> None:
        self.guard = guard
        self.control = control
        self.name = name
        self.pid = 0
        self.status: int | None = None
        self._reports = bytearray()
        control.setblocking(True)

    def hear(self) -> bool:
        """Take the guard's next words; False when it has said the last one."""
        data = self.control.recv(4096)
        self._reports += data
        for report in plan.parse_reports(self._reports):
            match report:
                case plan.Started():
                    self.pid = report.pid
                case plan.Failed():
                    os.waitpid(self.guard, 0)
                    raise explain(report, self.name)
                case plan.Exited():
                    self.status = report.status
                case plan.Gone():
                    return False
        return bool(data) and self.status is None

    def signal(self, number: int) -> None:
        if self.pid:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)

    def finish(self) -> int:
        """Let go of the guard, which ends what is left, and return the exit code."""
        self.control.close()
        os.waitpid(self.guard, 0)
        if self.status is None:
            raise Bug("the guard ended without saying how the command did")
        if os.WIFSIGNALED(self.status):
            return 128 + os.WTERMSIG(self.status)
        return os.WEXITSTATUS(self.status)


def run(launcher: str, env: ExecEnv) -> int:
    """Run with our own standard streams; returns the command's exit code."""
    with ExitStack() as always:
        directory = open_directory(env.cwd)
        always.callback(os.close, directory)
        wiring = Wiring(stdin=0, stdout=1, stderr=2, directory=directory)
        launched = launch_steps(launcher, foreground_steps(env, wiring), wiring, always)
        command = _Command(launched.guard, launched.control, env.argv[0])
        with _signals_forwarded(command):
            while command.hear():
                pass
        return command.finish()


def run_in_terminal(launcher: str, env: ExecEnv) -> int:
    """Run on a terminal of its own and copy between it and our streams."""
    with ExitStack() as always:
        directory = open_directory(env.cwd)
        always.callback(os.close, directory)
        master, slave = pty.open_pty(_own_size() or env.size, plain=False)
        always.callback(os.close, master)
        wiring = Wiring(stdin=slave, stdout=slave, stderr=slave, directory=directory)
        launched = launch_steps(launcher, session_steps(env, wiring), wiring, always)
        os.close(slave)
        command = _Command(launched.guard, launched.control, env.argv[0])
        with _signals_forwarded(command, everything=True), _raw_input(), _follow_size(master):
            _copy(command, master)
        return command.finish()


def _copy(command: _Command, master: int) -> None:
    """Bytes both ways until the command has ended and its terminal has said everything."""
    poll = select.poll()
    for fd in (0, master, command.control.fileno()):
        poll.register(fd, select.POLLIN)
    ended = False
    while True:
        events = poll.poll(20 if ended else None)
        if ended and not any(fd == master for fd, _ in events):
            return
        for fd, _ in events:
            if fd == command.control.fileno():
                ended = not command.hear()
                if ended:
                    poll.unregister(fd)
            elif fd == master:
                if not _forward(master, 1):
                    poll.unregister(master)
                    while command.status is None and command.hear():
                        pass
                    return
            elif not _forward(0, master):
                poll.unregister(0)
                with suppress(OSError):
                    os.write(master, pty.end_of_file(master))


def _forward(source: int, target: int) -> bool:
    try:
        data = os.read(source, _COPY)
    except OSError:  # EIO: the last writer of the terminal is gone
        return False
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
    return bool(data)


@contextmanager
def _signals_forwarded(command: _Command, *, everything: bool = False) -> Iterator[None]:
    """What we are sent, the command gets. A Ctrl-C in a shared terminal it has got already."""
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
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextmanager
def _follow_size(master: int) -> Iterator[None]:
    def resized(number: int, frame: object) -> None:
        size = _own_size()
        if size is not None:
            pty.resize(master, size)

    before = signal.signal(signal.SIGWINCH, resized)
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
