"""Real shells for these tests: a home directory, a login shell in it, a snapshot of it."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairlead.model.params import Shell
from fairlead.shells import argv
from fairlead.shells.snapshot import Applied, Snapshot, Unusable, apply, capture_argv, parse

NONCE = "5f0c9d1e7a3b48c2"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Home:
    """A user's machine: a shell, a directory with start-up files, an environment."""

    shell: Shell
    path: Path
    environment: Mapping[str, str]

    def login(self, script: str) -> Ran:
        """As a login shell runs it."""
        return spawn(Applied(argv=argv(self.shell, script, login=True)), self.env, self.path)

    def capture(self) -> Snapshot | Unusable:
        """What the login shell leaves behind."""
        done = subprocess.run(
            capture_argv(self.shell, NONCE),
            env=self.env,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            umask=0o022,
        )
        return parse(self.shell.kind, done.stdout, NONCE, umask=0o022)

    def snapshot(self) -> Snapshot:
        found = self.capture()
        assert isinstance(found, Snapshot), found
        return found

    def quick(self, snapshot: Snapshot, script: str) -> Ran:
        """The same script with the snapshot and without the start-up files."""
        applied = apply(self.shell, snapshot, script)
        env = {**snapshot.env, **applied.env}
        return spawn(applied, env, self.path)

    @property
    def env(self) -> dict[str, str]:
        return {"HOME": str(self.path), "PATH": SYSTEM_PATH, "LANG": "C.UTF-8", **self.environment}


def home(shell: Shell, path: Path, files: Mapping[str, str], **environment: str) -> Home:
    """A home directory with these start-up files."""
    for name, text in files.items():
        (path / name).write_text(text)
    return Home(shell, path, environment)


def spawn(applied: Applied, env: Mapping[str, str], cwd: Path) -> Ran:
    """Run it, with the attached bytes open under their descriptor numbers."""
    with ExitStack() as stack:
        for number, content in applied.attached.items():
            stack.enter_context(opened(number, content))
        done = subprocess.run(
            applied.argv,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=tuple(applied.attached),
            umask=0o022,
        )
    # A shell that could not become its last command reports that command's death by its status.
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Ran(code, done.stdout.decode(errors="replace"), done.stderr.decode())


@contextmanager
def opened(number: int, content: bytes) -> Iterator[None]:
    """The content under this very number; what we ourselves had there comes back."""
    ours = copy_of(number)
    descriptor = os.memfd_create("attached")
    os.write(descriptor, content)
    os.dup2(descriptor, number)
    os.close(descriptor)
    try:
        yield
    finally:
        os.close(number)
        if ours is not None:
            os.dup2(ours, number, inheritable=False)
            os.close(ours)


def copy_of(number: int) -> int | None:
    try:
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 100)
    except OSError:
        return None
