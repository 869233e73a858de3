"""The moment of the start: descriptors are opened, the launcher is executed, ours are kept."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from fairlead.model.confine import ANYTHING, CheckedDirectory, Identity
from fairlead.model.env import ExecEnv
from fairlead.model.errors import BadRequest, SpawnFailed
from fairlead.model.frozen import dataclass
from fairlead.model.params import Stdin
from fairlead.model.shown import in_a_line
from fairlead.spawn import plan, pty
from fairlead.spawn.control import Control, pair
from fairlead.spawn.steps import Wiring

_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # what we lack, not what was asked wrongly
StepsFor = Callable[[Wiring], Sequence[plan.Step]]

_PATIENCE = 5.0  # seconds; a launcher that reads takes milliseconds for the longest plan
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
    """A launcher that has its plan, or waits for it. `guard` is 0 if it is not our own child."""

    guard: int
    control: Control


def open_ends(env: ExecEnv, on_failure: ExitStack, always: ExitStack, terminals: int = -1) -> Ends:
    """Open what the command needs. `always` closes its ends, `on_failure` ours as well. A terminal
    is one of `terminals` if that is the directory of a devpts."""
    directory = open_place(env, always)
    attached = attach(env.attached or {}, always)
    if env.tty:
        master, slave = pty.open_pty(env.size, plain=env.plain_tty, terminals=terminals)
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
    launcher: str,
    steps: Sequence[plan.Step],
    wiring: Wiring | None,
    on_failure: ExitStack,
    *,
    senders: bool = False,
) -> Launched:
    """Execute the launcher with its plan. Returns once it runs, not once the command does. With
    `senders` its reports come with the pids of the processes that send them."""
    control, theirs = pair(senders=senders)
    on_failure.callback(control.close)
    encoded = plan.encode(steps)
    with theirs, ExitStack() as always:
        source = _offer_plan(encoded, control.socket, theirs.fileno(), always)
        inherited = {source} if wiring is None else {source, *wiring.fds}
        guard = _execute(launcher, source, theirs.fileno(), inherited, apart=_leaves(steps))
    return Launched(guard, control)


def _leaves(steps: Sequence[plan.Step]) -> bool:
    """Whether it is to have a group of its own: it gets that at once, or what stops our group
    could stop it before it has left."""
    return any(isinstance(step, plan.Guard) and step.own_group for step in steps)


def start_waiting(launcher: str) -> Launched:
    """Execute the launcher without a plan: it waits for one, and leaves if none can come."""
    control, theirs = pair(senders=False)
    with theirs:
        return Launched(_execute(launcher, theirs.fileno(), theirs.fileno(), set()), control)


def send_plan(launched: Launched, steps: StepsFor, wiring: Wiring, most: int = INLINE_PLAN) -> bool:
    """Give a launcher that waits its plan and its descriptors. False if the plan is too long. One
    that the socket does not take at once is taken as the launcher reads it, so it must."""
    places, fds = wiring.sent()
    encoded = plan.encode(steps(places))
    if len(encoded) > most:
        return False
    control = launched.control.socket
    control.settimeout(_PATIENCE)
    sent = socket.send_fds(control, [encoded], fds)
    if sent < len(encoded):
        control.sendall(memoryview(encoded)[sent:])
    return True


def _execute(
    launcher: str, source: int, control: int, inherited: set[int], *, apart: bool = False
) -> int:
    """`posix_spawn` forks as cheaply as the kernel can; all else is the launcher's work."""
    inherited = inherited | {control}
    argv = ("fairlead-guard", "exec", str(source), str(control))
    actions = [(os.POSIX_SPAWN_DUP2, fd, fd) for fd in inherited]  # onto itself: no close-on-exec
    try:
        if apart:
            return os.posix_spawn(launcher, argv, {}, file_actions=actions, setpgroup=0)
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


def attach(attached: Mapping[int, bytes], always: ExitStack) -> tuple[tuple[int, int], ...]:
    """Each in a descriptor of ours, with the number that the command finds it under."""
    return tuple((_in_memory(content, always), number) for number, content in attached.items())


def open_place(env: ExecEnv, always: ExitStack) -> int | CheckedDirectory:
    """Where the command starts: our descriptor, or what its path has to be where it sees other
    mounts than we do. What a container does not show is the image's own, if anything."""
    container = env.confinement.container if env.confinement is not None else None
    if container is not None and not container.shows(os.fspath(env.cwd)):
        return CheckedDirectory(os.fspath(env.cwd), ANYTHING)
    directory = open_directory(env.cwd)
    always.callback(os.close, directory)
    if env.confinement is None or not env.confinement.mount_namespace:
        return directory
    return CheckedDirectory(os.fspath(env.cwd), Identity(*_identity(directory)))


def open_directory(cwd: Path) -> int:
    """Held by descriptor from here on: what was checked is what the command starts in."""
    try:
        return os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise BadRequest(f"workdir: no such directory: {in_a_line(cwd)}") from None
    except NotADirectoryError:
        raise BadRequest(f"workdir: not a directory: {in_a_line(cwd)}") from None
    except OSError as error:
        if error.errno in _OURS:
            raise
        raise BadRequest(f"workdir: {in_a_line(cwd)}: {error.strerror}") from None


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
