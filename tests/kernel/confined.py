"""Running a program behind confinement steps, as the engine's probes do, and answering for it."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.model.confine import ConfineStep
from fairlead.spawn import launcher, plan
from fairlead.spawn.notify import Answerer

PATIENCE = 60.0
INTERPRETER = os.path.realpath(sys.executable)  # not in an environment that may lie below /tmp
PRELUDE = """
import ctypes, errno, fcntl, os, socket, struct, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *arguments)
    return errno.errorcode.get(ctypes.get_errno(), "?") if result < 0 else "ok"
def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a program. `asked` are the calls that it was made to wait for."""

    status: int  # as `subprocess` has it
    output: str
    asked: list[tuple[str, int, str]] = field(default_factory=list)
    failed: plan.Failed | None = None


Denial = tuple[str, int, str]
DenialOf = Callable[[int, tuple[int, ...], int], Denial]


def run_python(
    steps: Sequence[ConfineStep],
    code: str,
    denial_of: DenialOf | None = None,
    *,
    cwd: Path | None = None,
) -> Ran:
    """Python code after `PRELUDE`."""
    argv = (INTERPRETER, "-c", f"{PRELUDE}\n{code}")
    return run(steps, argv, denial_of, cwd=cwd)


def run(
    steps: Sequence[ConfineStep],
    argv: Sequence[str],
    denial_of: DenialOf | None = None,
    *,
    cwd: Path | None = None,
) -> Ran:
    """A program to its end, with what it wrote."""
    binary = launcher.find()
    assert binary is not None, launcher.why_missing()
    output, theirs = os.pipe()
    control, its_control = socket.socketpair()
    directory = os.open(cwd or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    streams = plan.Descriptors(((null, 0), (theirs, 1), (theirs, 2)))
    control.sendall(plan.encode([*steps, streams, *_tail(directory, argv)]))
    number = its_control.fileno()
    passed = (number, directory, null, theirs)
    process = subprocess.Popen((binary, "exec", str(number), str(number)), pass_fds=passed)
    its_control.close()
    for fd in (directory, null, theirs):
        os.close(fd)
    try:
        with control:
            return _collect(control, process, output, denial_of)
    finally:
        process.kill()  # does nothing where it has ended
        process.wait()
        os.close(output)


def _tail(directory: int, argv: Sequence[str]) -> list[plan.Step]:
    names = ("PATH", "HOME", "LANG")
    environment = tuple(os.fsencode(f"{n}={os.environ[n]}") for n in names if n in os.environ)
    return [
        plan.WorkingDirectoryFd(directory),
        plan.Argv(tuple(map(os.fsencode, argv))),
        plan.Environment(environment),
        plan.Exec(os.fsencode(argv[0])),
    ]


def _collect(
    control: socket.socket,
    process: subprocess.Popen[bytes],
    output: int,
    denial_of: DenialOf | None,
) -> Ran:
    """Reads all of it at once: a program that waits for an answer writes nothing meanwhile."""
    asked: list[Denial] = []

    def decide(_pid: int, number: int, arguments: tuple[int, ...], architecture: int) -> int:
        assert denial_of is not None
        asked.append(denial_of(number, arguments, architecture))
        return asked[-1][1]

    reports, text = bytearray(), bytearray()
    answerers: dict[int, Answerer] = {}
    open_ends = {control.fileno(), output}
    while output in open_ends:
        readable, _, _ = select.select([*open_ends, *answerers], [], [], PATIENCE)
        assert readable, f"nothing came for {PATIENCE} seconds after {bytes(text)!r}"
        if control.fileno() in readable:
            data, listeners, _, _ = socket.recv_fds(control, 4096, 1)
            reports += data
            answerers |= {fd: Answerer(fd, decide) for fd in listeners}
            if not data:
                open_ends.discard(control.fileno())
        if output in readable:
            chunk = os.read(output, 65536)
            text += chunk
            if not chunk:
                open_ends.discard(output)
        for fd in set(readable) & set(answerers):
            if not answerers[fd].answer_one():
                answerers.pop(fd).close()
    for one in answerers.values():
        one.close()
    failed = next((r for r in plan.parse_reports(reports) if isinstance(r, plan.Failed)), None)
    return Ran(process.wait(PATIENCE), text.decode(), asked, failed)
