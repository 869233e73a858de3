"""What the tests of protection share: a place without links, and git as if nobody had set it up."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.programs import require

Git = Callable[..., str]


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    """A directory by its real path."""
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def state(ground: Path) -> Path:
    """Where things are kept that are moved aside."""
    return ground / "state"


@pytest.fixture
def root(ground: Path) -> Path:
    """A writable root."""
    path = ground / "work"
    path.mkdir()
    return path


@contextmanager
def again_and_again(work: Callable[[], object]) -> Iterator[None]:
    """While inside, another process does it without end, and minds no failure."""
    child = os.fork()
    if child == 0:
        try:
            while True:
                with suppress(OSError):
                    work()
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.fixture
def git() -> Git:
    """`git("init", cwd=…)`, with nobody's settings but those that a commit needs."""
    program = require("git")
    who = {
        f"GIT_{role}_{what}": "a@b"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    env = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def run(*words: str, cwd: Path) -> str:
        argv = (program, "-c", "protocol.file.allow=always", *words)
        done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"git {words} in {cwd}: {done.stderr}"
        return done.stdout

    return run
