"""The moment of the start: descriptors are opened, the launcher is executed, ours are kept."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from fairlead.model.env import ExecEnv
from fairlead.model.errors import BadRequest, SpawnFailed
from fairlead.model.frozen import dataclass
from fairlead.model.params import Stdin
from fairlead.spawn import plan, pty
from fairlead.spawn.steps import Wiring

_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # what we lack, not what was asked wrongly
INLINE_PLAN = 96 * 1024  # what a socket takes at once, with room to spare


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Our ends of a command's streams, and the wiring it is born with."""

    output: int
    stdin: int  # -1: it has none that we could write to
    input_identity: tuple[int, int] | None  # device and inode of what it reads from
    wiring: Wiring


@dataclass(frozen=True, slots=True)
class Launched:
    """A launcher that has its plan."""

    guard: int
    control: socket.socket


def open_ends(env: ExecEnv, on_failure: ExitStack, always: ExitStack) -> Ends:
    """Open what the command needs. `always` closes its ends, `on_failure` ours as well."""
    directory = open_directory(env.cwd)
    always.callback(os.close, directory)
    attached = _attach(env.attached or {}, always)
    if env.tty:
        master, slave = pty.open_pty(env.size, plain=env.plain_tty)
        on_failure.callback(os.close, master)
        always.callback(os.close, slave)
        # A descriptor of its own for writing: reading may end, and close, in another thread.
        writer = os.dup(master)
        on_failure.callback(os.close, writer)
        wiring = Wiring(
            stdin=slave, stdout=slave, stderr=slave, directory=directory, attached=attached
        )
        return Ends(output=master, stdin=writer, input_identity=_identity(slave), wiring=wiring)
    ours, theirs = os.pipe()
    on_failure.callback(os.close, ours)
    always.callback(os.close, theirs)
    reader, writer = _open_stdin(env, on_failure, always)
    wiring = Wiring(
        stdin=reader, stdout=theirs, stderr=theirs, directory=directory, attached=attached
    )
    identity = _identity(reader) if writer >= 0 else None
    return Ends(output=ours, stdin=writer, input_identity=identity, wiring=wiring)


def launch_steps(
    launcher: str, steps: Sequence[plan.Step], wiring: Wiring, on_failure: ExitStack
) -> Launched:
    """Execute the launcher with its plan. Returns once it runs, not once the command does."""
    ours, theirs = socket.socketpair()
    on_failure.callback(ours.close)
    encoded = plan.encode(steps)
    with theirs, ExitStack() as always:
        source = _offer_plan(encoded, ours, theirs.fileno(), always)
        inherited = {source, wiring.directory, *(fd for fd, _ in wiring.pairs)}
        guard = _execute(launcher, source, theirs.fileno(), inherited)
    return Launched(guard, ours)


def start_waiting(launcher: str) -> Launched:
    """Execute the launcher without a plan: it waits for one, and leaves if none can come."""
    ours, theirs = socket.socketpair()
    with theirs:
        return Launched(_execute(launcher, theirs.fileno(), theirs.fileno(), set()), ours)


def _execute(launcher: str, source: int, control: int, inherited: set[int]) -> int:
    """`posix_spawn` forks as cheaply as the kernel can; all else is the launcher's work."""
    inherited = inherited | {control}
    argv = ("fairlead-guard", "exec", str(source), str(control))
    actions = [(os.POSIX_SPAWN_DUP2, fd, fd) for fd in inherited]  # onto itself: no close-on-exec
    try:
        return os.posix_spawn(launcher, argv, {}, file_actions=actions)
    except OSError as error:
        number = error.errno or 0
        text = f"the launcher could not be started: {os.strerror(number)}"
        raise SpawnFailed(text, step="launcher", errno=number) from error


def _offer_plan(encoded: bytes, ours: socket.socket, theirs: int, always: ExitStack) -> int:
    """The descriptor that the launcher reads its plan from: the socket, or memory if it is big."""
    if len(encoded) <= INLINE_PLAN:
        ours.send(encoded)
        return theirs
    return _in_memory(encoded, always)


def _in_memory(content: bytes, always: ExitStack) -> int:
    fd = os.memfd_create("fairlead")
    always.callback(os.close, fd)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _attach(attached: Mapping[int, bytes], always: ExitStack) -> tuple[tuple[int, int], ...]:
    return tuple((_in_memory(content, always), number) for number, content in attached.items())


def open_directory(cwd: Path) -> int:
    """Held by descriptor from here on: what was checked is what the command starts in."""
    try:
        return os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise BadRequest(f"workdir: no such directory: {cwd}") from None
    except NotADirectoryError:
        raise BadRequest(f"workdir: not a directory: {cwd}") from None
    except OSError as error:
        if error.errno in _OURS:
            raise
        raise BadRequest(f"workdir: {cwd}: {error.strerror}") from None


def _open_stdin(env: ExecEnv, on_failure: ExitStack, always: ExitStack) -> tuple[int, int]:
    """(what the command reads, what we write to or -1)."""
    if env.stdin is Stdin.NULL:
        null = os.open(os.devnull, os.O_RDONLY)
        always.callback(os.close, null)
        return null, -1
    theirs, ours = os.pipe()
    on_failure.callback(os.close, ours)
    always.callback(os.close, theirs)
    return theirs, ours


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino
