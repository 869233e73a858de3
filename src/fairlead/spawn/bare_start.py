"""Executing a command without the launcher.

A plain command is forked and executed by `subprocess`. One that needs a terminal of its own,
descriptors under given numbers or limits is prepared by a small Python program, in the very
process that then becomes the command: nothing of ours may run between a fork and an exec.
It resets every signal that Python can reset: the few that the C library keeps for itself stay as
they were inherited.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Protocol

from fairlead.model.env import ExecEnv
from fairlead.model.errors import BadRequest, SandboxFailed, SpawnFailed
from fairlead.spawn import plan
from fairlead.spawn.failure import explain
from fairlead.spawn.steps import Wiring

_ERRNO = struct.Struct("<i")
EXEC = min(plan.EXEC_OPS)

# Its arguments are descriptors: of what it has to do, and of where it says why it failed.
_PREPARE = """
import fcntl, json, os, resource, signal, struct, sys, termios
task, report = map(int, sys.argv[1:])
with open(task) as file:
    todo = json.load(file)
numbers = [number for _, number in todo["attached"]]
above = max([report, *numbers]) + 1
try:
    os.set_inheritable(report, False)
    report = fcntl.fcntl(report, fcntl.F_DUPFD_CLOEXEC, above)
    sources = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd, _ in todo["attached"]]
    for fd, _ in todo["attached"]:
        os.close(fd)
    for source, number in zip(sources, numbers):
        os.dup2(source, number)
    if todo["tty"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for limit in todo["limits"]:
        resource.setrlimit(limit[0], limit[1:])
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.execvpe(todo["executable"], todo["argv"], todo["env"])
except OSError as error:
    os.write(report, struct.pack("<i", error.errno))
"""


class Child(Protocol):
    """What `subprocess.Popen` is to us."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...

    def kill(self) -> None: ...

    def send_signal(self, number: int, /) -> None: ...


def start(env: ExecEnv, wiring: Wiring, *, own_session: bool = True) -> Child:
    """The running command. Raises `SpawnFailed` if nothing ran."""
    if env.confinement is not None:
        text = f"only the native launcher can confine; {env.argv[0]} was not run"
        raise SandboxFailed(text, step="launcher", errno=0)
    _refuse_nul(env)
    if env.wrapped:
        from fairlead.spawn import bare_wrapped

        return bare_wrapped.start(env, wiring, own_session=own_session)
    if env.tty or env.attached or env.limits:
        return _start_prepared(env, wiring, own_session=own_session)
    executable = env.executable
    return execute(env, wiring, env.argv, env.env, executable, own_session=own_session)


def _start_prepared(env: ExecEnv, wiring: Wiring, *, own_session: bool) -> subprocess.Popen[bytes]:
    with ExitStack() as always:
        report, theirs = os.pipe()
        always.callback(os.close, report)
        with os.fdopen(theirs, "wb"), os.fdopen(os.memfd_create("fairlead"), "wb") as task:
            task.write(_task(env, wiring))
            task.seek(0)
            argv = (sys.executable, "-ISc", _PREPARE, str(task.fileno()), str(theirs))
            passed = (task.fileno(), theirs, *(fd for fd, _ in wiring.attached))
            child = execute(env, wiring, argv, {}, passed=passed, own_session=own_session)
        failure = os.read(report, _ERRNO.size)  # its end says that the command was executed
    if failure:
        child.wait()
        raise _failure(env, _ERRNO.unpack(failure)[0])
    return child


def _task(env: ExecEnv, wiring: Wiring) -> bytes:
    todo = {
        "argv": env.argv,
        "executable": env.executable or env.argv[0],
        "env": dict(env.env),
        "tty": env.tty,
        "attached": wiring.attached,
        "limits": [(one.resource, one.soft, one.hard) for one in env.limits],
    }
    return json.dumps(todo).encode()


def execute(
    env: ExecEnv,
    wiring: Wiring,
    argv: tuple[str, ...],
    variables: Mapping[str, str],
    executable: str | None = None,
    *,
    passed: tuple[int, ...] = (),
    own_session: bool = True,
) -> subprocess.Popen[bytes]:
    directory = f"/proc/self/fd/{wiring.directory}"
    try:
        return subprocess.Popen(
            argv,
            executable=executable,
            stdin=wiring.stdin,
            stdout=wiring.stdout,
            stderr=wiring.stderr,
            cwd=directory,
            env=variables,
            start_new_session=own_session,
            pass_fds=passed,
        )
    except OSError as error:
        if error.filename == directory:
            op = next(op for op, name in plan.STEP_NAMES.items() if name == "working directory")
            raise _failure(env, error.errno or 0, op) from None
        raise _failure(env, error.errno or 0) from None


def _failure(env: ExecEnv, errno: int, op: int = EXEC) -> SpawnFailed:
    return explain(plan.Failed(step=0, op=op, errno=errno), env.argv[0])


def _refuse_nul(env: ExecEnv) -> None:
    """With the very words that the launcher's plan is refused with."""
    plan.encode([plan.Argv(tuple(map(os.fsencode, env.argv)))])
    variables = (os.fsencode(f"{name}={value}") for name, value in env.env.items())
    plan.encode([plan.Environment(tuple(variables))])
    if "\0" in (env.executable or ""):
        raise BadRequest(f"executable: {env.executable!r} contains a NUL byte")
