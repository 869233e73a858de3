"""`fairlead call` as a process: signals, its standard input, and what stays behind."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.trees import TREE, all_gone, pidfds, ready_pipe
from tests.front_ends import PROGRAM, SECONDS, environment, finish, hear, say, started

ENDING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
LONG_CALL = json.dumps({"cmd": TREE, "yield_time_ms": 30000})
ECHO = {"tool": "shell", "arguments": {"command": ["echo", "hi"]}}


@pytest.mark.parametrize("signum", ENDING)
def test_a_signal_ends_the_tree(signum: signal.Signals, tmp_path: Path) -> None:
    """A signal to a running call ends all that it started, also what left its group."""
    ready = ready_pipe(tmp_path)
    arguments = ("call", "exec_command", LONG_CALL, "--cwd", str(tmp_path))
    with started(*arguments, stderr=subprocess.PIPE) as program:
        tree = pidfds(ready)
        program.send_signal(signum)
        program.send_signal(signum)
        out, err = program.communicate(timeout=SECONDS)
    assert program.returncode == 128 + signum
    assert all_gone(tree)
    assert (out, err) == (b"", b"")


def test_a_killed_call_leaves_nothing(tmp_path: Path) -> None:
    """Even SIGKILL to a running call ends what it started."""
    ready = ready_pipe(tmp_path)
    with started("call", "exec_command", LONG_CALL, "--cwd", str(tmp_path)) as program:
        tree = pidfds(ready)
        program.kill()
        program.wait(SECONDS)
    assert all_gone(tree)


@pytest.mark.parametrize("signum", ENDING)
def test_a_signal_ends_a_reader_of_lines_that_waits(signum: signal.Signals) -> None:
    """`call --stdin` ends at a signal although its input stays open and says nothing."""
    with started("call", "--stdin", stderr=subprocess.PIPE) as program:
        say(program, ECHO)
        assert hear(program)["success"]
        program.send_signal(signum)
        assert program.wait(SECONDS) == 128 + signum
        assert program.stderr is not None
        assert program.stderr.read() == b""


def test_a_signal_ends_the_sessions_of_a_reader_of_lines(tmp_path: Path) -> None:
    """Sessions of earlier lines end with `call --stdin`, too."""
    ready = ready_pipe(tmp_path)
    with started("call", "--stdin", "--cwd", str(tmp_path)) as program:
        start = {"cmd": TREE, "yield_time_ms": 250}
        say(program, {"tool": "exec_command", "arguments": start})
        tree = pidfds(ready)
        assert hear(program)["structured"]["status"] == "running"
        program.terminate()
        assert program.wait(SECONDS) == 128 + signal.SIGTERM
    assert all_gone(tree)


def test_the_end_of_the_lines_ends_the_sessions(tmp_path: Path) -> None:
    """When no more lines come, what still runs is ended, and the exit code is 0."""
    ready = ready_pipe(tmp_path)
    with started("call", "--stdin", "--cwd", str(tmp_path)) as program:
        start = {"cmd": TREE, "yield_time_ms": 250}
        say(program, {"tool": "exec_command", "arguments": start})
        tree = pidfds(ready)
        assert hear(program)["success"]
        assert finish(program) == 0
    assert all_gone(tree)


def test_an_ignored_signal_stays_ignored() -> None:
    """What the caller ignores, as `nohup` does, does not end us."""
    argv = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *PROGRAM, "call", "--stdin"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=environment(), stdin=pipe, stdout=pipe) as program:
        say(program, ECHO)
        assert hear(program)["success"]
        program.send_signal(signal.SIGHUP)
        say(program, ECHO)
        assert hear(program)["success"]
        assert finish(program) == 0


def test_a_line_is_answered_before_the_next_is_there() -> None:
    """Each answer is written out at once, whole, with what the caller calls it."""
    with started("call", "--stdin") as program:
        for number in range(3):
            say(program, {**ECHO, "id": {"number": number}})
            assert hear(program)["id"] == {"number": number}
        assert finish(program) == 0


def test_a_long_line_arrives_whole(tmp_path: Path) -> None:
    """A line far larger than a pipe holds is one call."""
    patch = "*** Begin Patch\n*** Add File: big\n" + "+0123456789\n" * 300_000 + "*** End Patch"
    with started("call", "--stdin", "--cwd", str(tmp_path)) as program:
        say(program, {"tool": "apply_patch", "arguments": {"input": patch}})
        assert hear(program)["success"]
        assert finish(program) == 0
    assert (tmp_path / "big").stat().st_size == 11 * 300_000
