"""What every test gets: programs by name, an empty home, signals that programs heed, and a look at
what it left running."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import programs

SECONDS_TO_GO = 3.0
BACKGROUND = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)  # ignored under `nohup` and after `&`


@pytest.fixture(scope="session")
def require() -> Callable[[str], str]:
    """`require("zsh")`: its path, or a skip that names the package (a failure with CI=true)."""
    return programs.require


@pytest.fixture(scope="session", autouse=True)
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What login shells read at their start, and what programs write, is not the user's own."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        for name in ("ZDOTDIR", "ENV", "BASH_ENV"):
            changed.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def heeded_signals() -> None:
    """We leave ignored what our caller ignores; the caller of a test is whoever runs the tests,
    maybe in the background."""
    heed_signals()


def heed_signals() -> None:
    for signum in BACKGROUND:
        if signal.getsignal(signum) is signal.SIG_IGN:
            heed = signal.default_int_handler if signum == signal.SIGINT else signal.SIG_DFL
            signal.signal(signum, heed)


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """No test leaves a child process behind, dead or alive."""
    before = children()
    yield
    left = still_there(children() - before)
    assert not left, f"the test left processes behind: {left}"


def children() -> frozenset[int]:
    """Our children, zombies included."""
    tasks = Path("/proc/self/task")
    texts = (read(task / "children") for task in tasks.iterdir())
    return frozenset(int(pid) for text in texts for pid in text.split())


def still_there(pids: frozenset[int]) -> list[str]:
    """Those that do not go within a few seconds. One that its owner never waits for stays too."""
    deadline = time.monotonic() + SECONDS_TO_GO
    for pid in pids:
        wait_dead(pid, deadline - time.monotonic())
    return [describe(pid) for pid in pids & children()]


def wait_dead(pid: int, seconds: float) -> None:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([pidfd], [], [], max(seconds, 0))
    finally:
        os.close(pidfd)


def describe(pid: int) -> str:
    command = read(Path(f"/proc/{pid}/cmdline")).replace("\0", " ").strip()
    return f"{pid} {command or '(zombie)'}"


def read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
