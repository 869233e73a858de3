"""A launcher that is the first process of a container: how the container is made, met and removed.

Neither podman nor docker's daemon hands a descriptor of ours in, so the launcher inside fetches
its socket by a path. From then on all is as outside: no client of the engine stands between a
command and us, and when we let go of the socket, or are killed, the first process ends and the
container with it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import struct
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache

from fairlead.model.confine import Container, Identity
from fairlead.model.errors import SandboxFailed
from fairlead.spawn import container_group, plan, tree
from fairlead.spawn.container_engine import ask, failed
from fairlead.spawn.container_group import group_of
from fairlead.spawn.control import Control
from fairlead.spawn.start import Launched, StepsFor, send_plan
from fairlead.spawn.steps import Wiring

INSIDE = "/run/.fairlead"
LABEL = "fairlead.owner"
CONNECTS_WITHIN = 20.0  # seconds, once the container runs
_ATTEMPTS = 2  # podman's first one only finds out that a container's monitor is gone
_PEER = struct.Struct("3i")  # struct ucred


def new_name() -> str:
    """Says whose it is, so that nobody's can be told from somebody's."""
    return f"fairlead-{_us()}-{secrets.token_hex(4)}"


def make(container: Container, name: str, launcher: str) -> tuple[Control, int]:
    """A new container: the socket of the launcher inside, and the launcher's pid. Waits for it.
    Raises `SandboxFailed`; what is there of the container then is the caller's to remove."""
    try:
        with ExitStack() as always:
            directory = tempfile.mkdtemp(prefix="fairlead-", dir=_meeting_place())
            always.callback(shutil.rmtree, directory, ignore_errors=True)
            listener = always.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(f"{directory}/engine")
            listener.listen(1)
            ask(_run_argv(container, name, _shareable(launcher, directory), directory))
            return _met(listener, container)
    except (OSError, SandboxFailed) as error:
        reason = str(error).rstrip(".?")
        text = (
            f"the container could not be made: {reason}. The command was not run. `fairlead "
            f"sandbox --explain` says what it was to be; try `{container.program} info` too"
        )
        raise SandboxFailed(text, step="container", errno=error.errno or 0) from error


def launched(
    container: Container, launcher: str, steps: StepsFor, wiring: Wiring, always: ExitStack
) -> Launched:
    """A guard that is the first process of a container of its own. It is removed by `always`."""
    name = new_name()
    always.callback(remove, container.program, name)
    control, _ = make(container, name, launcher)
    always.callback(control.close)
    made = Launched(0, control)
    send_plan(made, steps, wiring, plan.MAX_PLAN_BYTES)
    return made


def remove(program: str, name: str) -> None:
    """End a container and forget it, if it is still there. Its end removes it too, but later, and
    not if the engine's monitor was killed."""
    for _ in range(_ATTEMPTS):
        with suppress(SandboxFailed):
            ask((program, "rm", "--force", "--volumes", name))
            return


@cache
def sweep(program: str) -> None:
    """Remove the containers of engines that are gone: once, for a dead engine makes no more."""
    listed = (program, "ps", "--all", "--filter", f"label={LABEL}", "--format", "{{.Names}}")
    with suppress(SandboxFailed):
        for name in ask(listed).split():
            if is_orphan(name):
                remove(program, name)


def is_orphan(name: str) -> bool:
    """Its engine was a process that we would see, and do not. What we can't know is left alone."""
    word, _, rest = name.partition("-")
    fields = rest.split("-")
    if word != "fairlead" or len(fields) != 4 or not all(map(str.isdigit, fields[:3])):
        return False
    pid, began, namespace = map(int, fields[:3])
    return namespace == _pid_namespace() and tree.start_time(pid) != began


def _run_argv(container: Container, name: str, launcher: str, directory: str) -> tuple[str, ...]:
    """What `_plain` of sandbox/container.py checks of other paths holds for these by their make."""
    return (
        *(container.program, "run", "--detach", "--rm", "--pull", "never", "--name", name),
        *("--label", f"{LABEL}={_us()}"),
        *container.options,
        *("--mount", f"type=bind,src={launcher},dst={INSIDE}/launcher,readonly"),
        *("--mount", f"type=bind,src={directory},dst={INSIDE}/meet,readonly"),
        *("--entrypoint", f"{INSIDE}/launcher", container.image),
        *("connect", f"{INSIDE}/meet/engine"),
    )


def _met(listener: socket.socket, container: Container) -> tuple[Control, int]:
    listener.settimeout(CONNECTS_WITHIN)
    try:
        ours, _ = listener.accept()
    except TimeoutError:
        raise failed("the launcher inside did not come up") from None
    try:
        pid = _peer(ours)
        _check(pid, container)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    except BaseException:
        ours.close()
        raise
    return Control(ours, senders=True), pid


def _check(pid: int, container: Container) -> None:
    """The engine's program binds by path, so a path could have been exchanged meanwhile: what is
    seen inside has to be what was looked at, and what is covered must be what was to be covered.
    Commands come in only after this."""
    if pid <= 0:
        raise failed("it does not run on this machine, or not where we could see it")
    with _opened(f"/proc/{pid}/root", None) as inside, _opened("/", None) as outside:
        for path, identity in container.shown:
            if _identity(inside, path) != identity:
                raise failed(f"{path} was replaced while it was made")
        for path, identity in container.hidden:
            if _identity(inside, path) == identity or _identity(outside, path) != identity:
                raise failed(f"{path}, which is to be hidden, was replaced while it was made")
    for what, most in (("memory", container.memory), ("processes", container.processes)):
        if most is not None and not container_group.holds(group_of(pid, what), what, most):
            raise failed(
                f"{container.program} does not limit {what} here, though it was told to; take "
                "that limit out, or run as root"
            )


def _identity(root: int, path: str) -> Identity | None:
    """Of a path below a root, following no link."""
    with ExitStack() as always:
        at = root
        try:
            for name in path.strip("/").split("/"):
                at = always.enter_context(_opened(name, at))
        except OSError:
            return None
        found = os.fstat(at)
        return Identity(found.st_dev, found.st_ino)


@contextmanager
def _opened(path: str, directory: int | None) -> Iterator[int]:
    follow = os.O_NOFOLLOW if directory is not None else 0  # /proc/PID/root is a link
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC | follow, dir_fd=directory)
    try:
        yield fd
    finally:
        os.close(fd)


def _us() -> str:
    """Names this process for good: a pid is given out again, and means nothing elsewhere."""
    pid = os.getpid()
    return f"{pid}-{tree.start_time(pid)}-{_pid_namespace()}"


def _pid_namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def _peer(connected: socket.socket) -> int:
    """The process at the other end, as we see it."""
    found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid: int = _PEER.unpack(found)[0]
    return pid


def _meeting_place() -> str:
    """Short, for a socket's name is; ours alone, for the directory made in it is."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return runtime if len(runtime) < 40 and os.path.isdir(runtime) else "/tmp"


def _shareable(launcher: str, directory: str) -> str:
    """A path of the launcher that the engine's program can bind: memory has none."""
    if not launcher.startswith("/proc/") and not set(launcher) & set(',"\n'):
        return launcher
    copy = f"{directory}/launcher"
    shutil.copyfile(launcher, copy)
    os.chmod(copy, 0o555)
    return copy
