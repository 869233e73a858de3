"""What is particular to the path without the launcher. All else runs against both spawners."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from fairlead.model.errors import SpawnFailed
from fairlead.spawn import bare
from fairlead.spawn.bare import BareSpawner
from tests.spawn import signals
from tests.spawn.running import (
    OPEN,
    command,
    eventually,
    is_running,
    open_descriptors,
    run,
    script,
    start,
)
from tests.spawn.terminal import ROOT


@pytest.fixture
async def alone() -> AsyncIterator[BareSpawner]:
    """Without the launcher."""
    found = BareSpawner("a test")
    yield found
    await found.close()


async def test_a_tree_that_goes_by_itself_is_noticed(alone: BareSpawner, tmp_path: Path) -> None:
    """With nobody to tell us, we look: tree_gone comes although nobody asked."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    running = await start(alone, script(f"(read x < {gate}) & echo done"))
    assert (await running.ended()).descendants_alive
    gate.open("w").close()
    await running.all_gone()


@pytest.mark.parametrize("fields", [{}, OPEN, {"tty": True}], ids=["null", "open", "tty"])
async def test_descriptors_are_given_back(alone: BareSpawner, fields: dict[str, object]) -> None:
    """Once a tree is gone nothing of it is open."""
    await run(alone, command("true"))
    before = len(open_descriptors())
    for _ in range(5):
        running = await start(alone, script("true", **fields))
        await running.ended()
        await running.all_gone()
    await eventually(lambda: len(open_descriptors()) <= before)


async def test_a_pid_that_was_given_out_again_is_not_ours(alone: BareSpawner) -> None:
    """A process is known by pid and start time: a stranger with an old pid is left alone."""
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        running = await start(alone, script("exec sleep 1001"))
        running.process._known[stranger.pid] = 1  # type: ignore[union-attr]
        assert stranger.pid not in running.process.descendants()
        assert await running.process.end_tree(0.0) == ()
        assert is_running(stranger.pid)
        stranger.kill()


async def test_closing_collects_everybody(alone: BareSpawner) -> None:
    """No zombie and no waiter is left when close returns."""
    several = [await start(alone, script("sleep 1000", tty=tty)) for tty in (False, True)]
    await alone.close()
    for running in several:
        assert running.output.gone
        with pytest.raises(ChildProcessError):
            os.waitpid(running.process.pid, os.WNOHANG)


FOREGROUND = """
import sys
from pathlib import Path
from fairlead.spawn import bare
from tests.spawn.running import command
sys.exit(bare.run_in_foreground(command(*sys.argv[1:], cwd=Path("/tmp")), tty=False))
"""


def foreground(*argv: str, code: str = FOREGROUND) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *argv], env=env, stdin=-1, stdout=-1, stderr=-1
    )


def test_a_foreground_run_has_our_streams_and_code() -> None:
    """Input, output, directory, exit code and death by a signal."""
    with foreground("sh", "-c", "pwd; cat; exit 7") as done:
        assert done.communicate(b"in") == (b"/tmp\nin", b"")
    assert done.returncode == 7
    with foreground("sh", "-c", "kill -9 $$") as done:
        done.communicate()
    assert done.returncode == 137


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_a_foreground_run_hands_signals_on(number: signal.Signals) -> None:
    """The command gets them and answers as it likes."""
    text = f"trap 'echo got it; exit 5' {number:d}; echo up; while :; do sleep 0.01; done"
    with foreground("sh", "-c", text) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"up\n"
        running.send_signal(number)
        assert running.stdout.read() == b"got it\n"
    assert running.returncode == 5


# The signal comes when the command runs, and nobody else knows that yet.
EARLY = """
import os, sys
from pathlib import Path
from fairlead.spawn import bare, bare_start
from tests.spawn.running import command
start = bare_start.start
def disturbed(*given, **named):
    child = start(*given, **named)
    os.kill(os.getpid(), int(sys.argv[1]))
    return child
bare_start.start = disturbed
sys.exit(bare.run_in_foreground(command("sleep", "1000", cwd=Path("/tmp")), tty=False))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_a_foreground_run_hands_on_what_comes_early(number: signal.Signals) -> None:
    """A signal right after the start is for the command, as any later one is."""
    with foreground(str(int(number)), code=EARLY) as done:
        assert done.communicate() == (b"", b"")
    assert done.returncode == 128 + number


def test_a_foreground_run_leaves_what_is_ignored() -> None:
    """Like `nohup`: the command ignores what its caller had us ignore."""
    with signals.ignored({signal.SIGUSR1}):
        done = foreground("grep", "SigIgn", "/proc/self/status")
    with done:
        said, _ = done.communicate()
    assert signal.SIGUSR1 in signals.in_mask(said.split()[1])


def test_a_foreground_run_gives_the_signals_back(tmp_path: Path) -> None:
    """Afterwards each does what it did before, also when nothing could be started."""
    before = [signal.getsignal(number) for number in signal.valid_signals()]
    for argv in (["true"], ["no-such"]):
        with suppress(SpawnFailed):
            bare.run_in_foreground(command(*argv, cwd=tmp_path), tty=False)
        assert [signal.getsignal(number) for number in signal.valid_signals()] == before


def test_a_foreground_run_says_what_is_missing(tmp_path: Path) -> None:
    """The command, or a terminal of its own."""
    with pytest.raises(SpawnFailed, match="command not found: no-such"):
        bare.run_in_foreground(command("no-such", cwd=tmp_path), tty=False)
    with pytest.raises(SpawnFailed, match="-t needs the native launcher"):
        bare.run_in_foreground(command("true", cwd=tmp_path), tty=True)
