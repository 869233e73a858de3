"""Executing a command by way of a program that confines it, without the launcher.

What the program (bwrap) tells its parent is not enough for us: not whether it failed or the
command did, nor which signal a command died of. So a small Python program of ours stands on either
side of it. The outer one prepares what can only be prepared outside; the inner one executes the
command, says whether that worked, waits for its end, and says what that was. If the inner one says
nothing, the sandbox could not be set up, and nothing ran.

The wrapper is in the command's process group and has to outlive what is sent there, so it ignores
every signal that can be ignored; the command begins with none ignored.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from contextlib import ExitStack

from fairlead.model.env import ExecEnv
from fairlead.model.errors import SandboxFailed
from fairlead.spawn import bare_start, plan, tree
from fairlead.spawn.failure import explain
from fairlead.spawn.steps import Wiring

_NUMBER = struct.Struct("<i")
_STEP = "sandbox program"
_SHOWN = 300  # characters of what it said

# Its arguments are descriptors: of what it has to do, of where the inner one reports, and of where
# the wrapper's own words go, which are none of the command's output.
_OUTSIDE = """
import fcntl, json, os, signal, sys, termios
task, report, words = map(int, sys.argv[1:])
with open(task, closefd=False) as file:
    todo = json.load(file)
above = max([task, report, words, *(number for _, number in todo["attached"])]) + 1
sources = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd, _ in todo["attached"]]
kept = [fcntl.fcntl(fd, fcntl.F_DUPFD, above) for fd in (task, report, 2)]
os.dup2(words, 2)
for fd in (task, report, words, *(fd for fd, _ in todo["attached"])):
    os.close(fd)
for source, (_, number) in zip(sources, todo["attached"]):
    os.dup2(source, number)
if todo["tty"]:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, signal.SIG_IGN)
inner = [sys.executable, "-ISc", todo["inside"], *map(str, kept)]
os.execve(todo["wrapper"][0], [*todo["wrapper"], *inner], {})
"""

# It reports the errno of the start (0: the command runs), and then the status that it ended with.
_INSIDE = """
import errno, json, os, resource, signal, struct, sys
task, report, errors = map(int, sys.argv[1:])
def say(number):
    os.write(report, struct.pack("<i", number))
for fd in (report, errors):
    os.set_inheritable(fd, False)
with open(task) as file:
    file.seek(0)
    todo = json.load(file)
place = os.stat(".")
if [place.st_dev, place.st_ino] != todo["directory"]:
    say(-errno.ESTALE)
    os._exit(1)
failed, theirs = os.pipe()
command = os.fork()
if command == 0:
    number = errno.EINVAL
    try:
        os.dup2(errors, 2)
        for limit in todo["limits"]:
            resource.setrlimit(limit[0], limit[1:])
        for one in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(one, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvpe(todo["argv"][0], todo["argv"], todo["env"])
    except OSError as error:
        number = error.errno
    finally:
        os.write(theirs, struct.pack("<i", number))
        os._exit(1)
for fd in (theirs, errors, 0, 1, 2, *(number for _, number in todo["attached"])):
    try:
        os.close(fd)
    except OSError:
        pass  # the wrapper took it
said = os.read(failed, 4)
say(struct.unpack("<i", said)[0] if said else 0)
say(os.waitpid(command, 0)[1])
"""


class Wrapped:
    """A command behind its wrapper. Its ending is its own, not the wrapper's. Satisfies `Child`."""

    def __init__(self, wrapper: subprocess.Popen[bytes], report: int) -> None:
        self._wrapper = wrapper
        self._report = report
        self._code: int | None = None

    @property
    def pid(self) -> int:
        """The wrapper's: the tree begins there, and the process group has its number."""
        return self._wrapper.pid

    def poll(self) -> int | None:
        code = self._wrapper.poll()
        return code if code is None else self._settled(code)

    def wait(self) -> int:
        return self._settled(self._wrapper.wait())

    def kill(self) -> None:
        self._wrapper.kill()

    def send_signal(self, number: int) -> None:
        pid = self.command()
        if pid is not None:
            os.kill(pid, number)

    def command(self) -> int | None:
        """The pid of the command itself."""
        for pid in tree.descendants(self.pid):
            if tree.command_line(pid)[1:3] == ("-ISc", _INSIDE):
                return next(iter(tree.children(pid)), None)
        return None

    def _settled(self, code: int) -> int:
        """What the inner program said last; if it was ended too, what became of the wrapper."""
        if self._code is None:
            os.set_blocking(self._report, False)
            said = _read(self._report)
            os.close(self._report)
            self._code = code if said is None else os.waitstatus_to_exitcode(said)
        return self._code


def start(env: ExecEnv, wiring: Wiring, *, own_session: bool) -> Wrapped:
    """The running command. Raises `SpawnFailed`; `SandboxFailed` if the wrapper did not do it."""
    with ExitStack() as always, ExitStack() as on_failure:
        task, words = (_memory(always) for _ in range(2))
        os.pwrite(task, _task(env, wiring), 0)
        report, theirs = os.pipe()
        on_failure.callback(os.close, report)
        with os.fdopen(theirs, "wb"):
            passed = (task, theirs, words)
            wrapper = bare_start.execute(
                env,
                wiring,
                (sys.executable, "-ISc", _OUTSIDE, *map(str, passed)),
                {},
                passed=(*passed, *(fd for fd, _ in wiring.attached)),
                own_session=own_session,
            )
        on_failure.callback(_abandon, wrapper)
        errno = _read(report)
        if errno is None:
            raise _not_set_up(env, wrapper, words)
        if errno:
            raise _not_executed(env, errno)
        on_failure.pop_all()
    return Wrapped(wrapper, report)


def _task(env: ExecEnv, wiring: Wiring) -> bytes:
    assert isinstance(wiring.directory, int)
    place = os.fstat(wiring.directory)
    todo = {
        "wrapper": env.argv[: env.wrapped],
        "inside": _INSIDE,
        "argv": env.command,
        "env": dict(env.env),
        "directory": (place.st_dev, place.st_ino),
        "tty": env.tty,
        "attached": wiring.attached,
        "limits": [(one.resource, one.soft, one.hard) for one in env.limits],
    }
    return json.dumps(todo).encode()


def _memory(always: ExitStack) -> int:
    fd = os.memfd_create("fairlead")
    always.callback(os.close, fd)
    return fd


def _abandon(wrapper: subprocess.Popen[bytes]) -> None:
    wrapper.kill()
    wrapper.wait()


def _read(report: int) -> int | None:
    """The next number, or None if there is none and will be none."""
    try:
        said = os.read(report, _NUMBER.size)
    except BlockingIOError:
        return None
    return _NUMBER.unpack(said)[0] if len(said) == _NUMBER.size else None


def _not_set_up(env: ExecEnv, wrapper: subprocess.Popen[bytes], words: int) -> SandboxFailed:
    code = wrapper.wait()
    said = os.pread(words, 4096, 0).decode("utf-8", "replace").strip().splitlines()
    reason = said[-1][:_SHOWN] if said else f"{env.argv[0]} ended with {code}"
    return SandboxFailed(
        f"the sandbox could not be set up ({reason}); {env.command[0]} was not run",
        step=_STEP,
        errno=0,
    )


def _not_executed(env: ExecEnv, errno: int) -> Exception:
    op = bare_start.EXEC if errno > 0 else plan.PLACE_OP
    return explain(plan.Failed(step=0, op=op, errno=abs(errno)), env.command[0])
