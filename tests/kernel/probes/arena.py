"""The ground that probes run on: a workspace, things outside of it, listeners and a victim."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

# Not below /tmp, which commands may write.
GROUNDS = "/var/tmp"
_PRIVATE, _CREATE, _REMOVE = 0, 0o1000, 0  # of System V shared memory


@dataclass(slots=True)
class Arena:
    """What there is, and how to tell whether it is as it was."""

    top: Path
    workspace: Path
    outside: Path
    home: Path
    variables: dict[str, str]
    _before: dict[str, str] = field(default_factory=dict)
    _inside: dict[str, str] = field(default_factory=dict)

    def fresh_workspace(self) -> None:
        """As it was at the beginning, whatever a probe made of it."""
        for child in self.workspace.iterdir():
            _remove(child)
        git = ("git", "-c", "init.defaultBranch=main", "-C", str(self.workspace))
        subprocess.run([*git, "init", "-q"], check=True)
        (self.workspace / "README").write_text("probed\n")
        (self.workspace / ".git/hooks").mkdir(exist_ok=True)
        (self.workspace / ".git/hooks/pre-commit.sample").write_text("#!/bin/sh\n")
        (self.workspace / ".git/info").mkdir(exist_ok=True)
        (self.workspace / ".git/info/attributes").write_text("")
        name = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run([*git, "add", "README"], check=True)
        subprocess.run([*git, *name, "commit", "-qm", "start"], check=True)
        self._inside = snapshot(self.workspace)

    def workspace_changed(self) -> bool:
        return snapshot(self.workspace) != self._inside

    def restore(self) -> None:
        """After a probe that changed something."""
        _fill_outside(self.outside)
        _fill_home(self.home)
        self.fresh_workspace()

    def remember(self) -> None:
        self._before = snapshot(self.outside) | snapshot(self.home) | self._git()

    def changes(self) -> list[str]:
        """What is not as it was outside, in the home, or in what git obeys."""
        now = snapshot(self.outside) | snapshot(self.home) | self._git()
        names = {*self._before, *now}
        return sorted(name for name in names if self._before.get(name) != now.get(name))

    def _git(self) -> dict[str, str]:
        git = self.workspace / ".git"
        obeyed = (git / "config", git / "hooks", git / "info/attributes")
        return {name: was for one in obeyed for name, was in snapshot(one).items()}


@contextmanager
def arena() -> Iterator[Arena]:
    """Set up for the user that we are, and cleaned up whatever happens."""
    with ExitStack() as stack:
        top = Path(tempfile.mkdtemp(prefix="fairlead-probes-", dir=GROUNDS))
        stack.callback(_remove, top)
        workspace, outside, home = (top / name for name in ("workspace", "outside", "home"))
        for path in (workspace, outside, home / ".ssh"):
            path.mkdir(parents=True)
        _fill_outside(outside)
        _fill_home(home)
        variables = {
            "OUTSIDE": str(outside),
            "HOME": str(home),
            "HOST_PID": str(_victim(stack)),
            **_listeners(stack, outside),
            **_terminal(stack),
            **_shared_memory(stack),
        }
        yield Arena(top, workspace, outside, home, variables)


def _fill_outside(outside: Path) -> None:
    for child in outside.iterdir():
        if not child.is_socket():
            _remove(child)
    (outside / "file").write_text("as it was\n")
    with suppress(PermissionError):  # of an ordinary user, who has none to open
        os.mknod(outside / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def _fill_home(home: Path) -> None:
    home.joinpath(".ssh").chmod(0o700)
    (home / ".ssh/id_test").write_text("secret\n")
    (home / ".netrc").write_text("secret\n")


def _victim(stack: ExitStack) -> int:
    """A process of the same user, with a secret in its environment."""
    victim = subprocess.Popen(["sleep", "1000"], env={"SECRET": "1"}, start_new_session=True)
    stack.callback(victim.wait)
    stack.callback(victim.kill)
    return victim.pid


def _listeners(stack: ExitStack, outside: Path) -> dict[str, str]:
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    path, abstract = str(outside / "docker.sock"), f"fairlead-probe-{os.getpid()}"
    for address in (path, f"\0{abstract}"):
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(address)
        listener.listen()
        threading.Thread(target=_accept, args=(listener,), daemon=True).start()
    datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    datagrams.bind(f"{path}.dgram")
    threading.Thread(target=_accept, args=(tcp,), daemon=True).start()
    return {"SOCKET": path, "ABSTRACT": abstract, "PORT": str(tcp.getsockname()[1])}


def _terminal(stack: ExitStack) -> dict[str, str]:
    master, slave = os.openpty()
    stack.callback(os.close, master)
    stack.callback(os.close, slave)
    return {"HOST_TTY": os.ttyname(slave)}


def _shared_memory(stack: ExitStack) -> dict[str, str]:
    """A file and a System V segment that any process of the same user can reach."""
    descriptor, file = tempfile.mkstemp(dir="/dev/shm")
    stack.callback(os.unlink, file)
    os.write(descriptor, b"secret")
    os.close(descriptor)
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(_PRIVATE, 4096, 0o600 | _CREATE)
    if segment < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    stack.callback(libc.shmctl, segment, _REMOVE, None)
    return {"HOST_SHARED": file, "HOST_SEGMENT": str(segment)}


def _accept(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            listener.accept()[0].close()


def snapshot(top: Path) -> dict[str, str]:
    """Every path at and below, with all that can be changed of it but the time of access."""
    found = {}
    with suppress(FileNotFoundError):
        found[str(top)] = _state(str(top))
    for directory, names, files in os.walk(top):
        for name in (*names, *files):
            path = os.path.join(directory, name)
            with suppress(FileNotFoundError):
                found[path] = _state(path)
    return found


def _state(path: str) -> str:
    one = os.lstat(path)
    said = [one.st_ino, one.st_mode, one.st_uid, one.st_gid, one.st_size, one.st_mtime_ns]
    content = ""
    if stat.S_ISREG(one.st_mode):
        content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    elif stat.S_ISLNK(one.st_mode):
        content = os.readlink(path)
    with suppress(OSError):
        content += ",".join(os.listxattr(path, follow_symlinks=False))
    return " ".join(map(str, (*said, content)))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for directory, _, _ in os.walk(path):
            with suppress(OSError):
                os.chmod(directory, 0o700)
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
