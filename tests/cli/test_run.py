"""`fairlead run` as a process: signals reach the command, and nothing of it stays."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.trees import TREE, all_gone, pidfds, ready_pipe
from tests.front_ends import SECONDS, environment, started

FORWARDED = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2]


@pytest.mark.parametrize("signum", FORWARDED)
def test_a_signal_reaches_the_command(signum: signal.Signals) -> None:
    """What we are sent the command gets, and its own exit code comes back."""
    script = f"trap 'echo got; exit 5' {signum.name[3:]}; echo ready; while :; do sleep 0.05; done"
    with started("run", "--", "bash", "-c", script) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        program.send_signal(signum)
        out, _ = program.communicate(timeout=SECONDS)
    assert (out, program.returncode) == (b"got\n", 5)


@pytest.mark.parametrize("flags", [[], ["-t"]])
def test_a_killed_run_leaves_nothing(flags: list[str], tmp_path: Path) -> None:
    """Even SIGKILL to `fairlead run` ends the command and what left its group."""
    ready = ready_pipe(tmp_path)
    with started("run", *flags, "--cwd", str(tmp_path), "--", "sh", "-c", TREE) as program:
        tree = pidfds(ready)
        program.kill()
        program.wait(SECONDS)
    assert all_gone(tree)


def test_the_command_has_our_streams_and_no_more() -> None:
    """The command's descriptors are our three, and nothing of ours besides."""
    with started("run", "--", "sh", "-c", "ls /proc/$$/fd", stderr=subprocess.PIPE) as program:
        out, err = program.communicate(timeout=SECONDS)
    assert (out.split(), err) == ([b"0", b"1", b"2"], b"")


def test_much_output_passes_through_whole() -> None:
    """Ten megabytes on their way from the command to our output are all there."""
    with started("run", "--", "head", "-c", "10000000", "/dev/zero") as program:
        out, _ = program.communicate(timeout=SECONDS)
    assert len(out) == 10_000_000


def test_a_terminal_of_its_own_passes_everything_on() -> None:
    """With -t, all that a command wrote before it ended arrives, with a terminal's line ends."""
    with started("run", "-t", "--", "seq", "20000") as program:
        out, _ = program.communicate(timeout=SECONDS)
    assert out.split(b"\r\n")[:-1] == [b"%d" % number for number in range(1, 20001)]


def test_what_confines_is_loaded_only_where_something_does() -> None:
    """Start-up time counts: full access pays for nothing that it does not use."""
    argv = [sys.executable, "-X", "importtime", "-m", "fairlead", "run"]
    full = [*argv, "--preset", "full-access", "--", "true"]
    done = subprocess.run(
        full, env=environment(), capture_output=True, text=True, check=True, timeout=SECONDS
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "fairlead.sandbox.plan" in loaded
    assert loaded & {"fairlead.confining", "fairlead.sandbox.confiner", "fairlead.protect"} == set()
