"""`fairlead run`: a command in the caller's own terminal, streams and signals included."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from fairlead.model.params import Size
from fairlead.spawn.pty import resize
from tests.programs import require
from tests.spawn.running import PATIENCE, eventually_sync, is_running
from tests.spawn.terminal import ROOT, RUN, Terminal, environment, fairlead_run, fairlead_start


@contextmanager
def in_terminal(*words: str, size: Size | None = None) -> Iterator[Terminal]:
    terminal = Terminal(words, size=size)
    try:
        yield terminal
    finally:
        terminal.close()


def gone(*pids: int) -> bool:
    return not any(map(is_running, pids))


both = pytest.mark.parametrize("flags", [[], ["-t"]], ids=["shared", "own"])


def test_streams_pass_through() -> None:
    """Input, output and errors are the caller's own, byte for byte."""
    text = "cat; echo error >&2"
    done = fairlead_run("--", "sh", "-c", text, input=b"\x00\xff in")
    assert (done.stdout, done.stderr, done.returncode) == (b"\x00\xff in", b"error\n", 0)


def test_large_streams_pass_through_a_terminal() -> None:
    """With -t both directions flow at once: neither waits for the other."""
    lines = b"".join(b"%06d\n" % number for number in range(20_000))
    done = fairlead_run("-t", "--", "sh", "-c", "stty -echo -onlcr; echo go; cat", input=lines)
    assert done.returncode == 0
    assert done.stdout.partition(b"go")[2].split() == lines.split()


@both
@pytest.mark.parametrize("code", [0, 7, 255])
def test_the_exit_code_is_the_commands(flags: list[str], code: int) -> None:
    """As a shell would see it."""
    assert fairlead_run(*flags, "--", "sh", "-c", f"exit {code}").returncode == code


@both
def test_a_signals_exit_code_is_a_shells(flags: list[str]) -> None:
    """128 + N for a command that signal N ended."""
    assert fairlead_run(*flags, "--", "sh", "-c", "kill -9 $$").returncode == 137


@both
def test_what_can_not_run_says_so(flags: list[str]) -> None:
    """127 for what is not there, 126 for what is no program."""
    done = fairlead_run(*flags, "--", "no-such-program")
    assert done.returncode == 127
    assert done.stderr == b"fairlead: command not found: no-such-program\n"
    assert fairlead_run(*flags, "--", "/etc/passwd").returncode == 126


@both
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT])
def test_signals_are_handed_on(flags: list[str], number: signal.Signals) -> None:
    """What `fairlead run` is sent, the command gets, and answers as it likes."""
    text = f"trap 'echo got it; exit 5' {number:d}; echo up; while :; do sleep 0.01; done"
    with fairlead_start(*flags, "--", "sh", "-c", text) as run:
        assert run.stdout is not None
        assert run.stdout.readline().strip() == b"up"
        run.send_signal(number)
        assert run.stdout.read().split() == [b"got", b"it"]
        assert run.wait() == 5


# The signal comes when the command runs, and nobody else knows that yet.
EARLY = """
import os, sys
from fairlead.spawn import foreground
from tests.spawn.running import command, launcher_path
launch = foreground.launch_steps
def disturbed(*given, **named):
    launched = launch(*given, **named)
    os.kill(os.getpid(), int(sys.argv[2]))
    return launched
foreground.launch_steps = disturbed
run = foreground.run_in_terminal if sys.argv[1] == "-t" else foreground.run
sys.exit(run(launcher_path(), command("sleep", "1000")))
"""


@pytest.mark.parametrize("flag", ["", "-t"], ids=["shared", "own"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT])
def test_what_comes_early_is_handed_on(flag: str, number: signal.Signals) -> None:
    """A signal right after the start is for the command, as any later one is."""
    argv = [sys.executable, "-c", EARLY, flag, str(int(number))]
    env = {**environment(), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 128 + number)


@both
def test_nothing_stays_after_the_end(flags: list[str]) -> None:
    """A background child of the command goes when the command has gone."""
    text = "trap '' HUP; setsid sleep 1000 & echo $!"
    done = fairlead_run(*flags, "--", "sh", "-c", text)
    assert done.returncode == 0
    eventually_sync(partial(gone, int(done.stdout)))


@both
def test_killed_with_sigkill_the_command_ends(flags: list[str]) -> None:
    """Though nobody could clean up, command and daemon are gone."""
    text = "setsid sleep 1000 & echo $! $$; exec sleep 1001"
    with fairlead_start(*flags, "--", "sh", "-c", text) as run:
        assert run.stdout is not None
        pids = [int(pid) for pid in run.stdout.readline().split()]
        run.kill()
    eventually_sync(partial(gone, *pids))


@both
def test_a_command_that_kills_its_guard(flags: list[str]) -> None:
    """It dies with it, and the exit code says how."""
    done = fairlead_run(*flags, "--", "sh", "-c", "sleep 0.1; kill -9 $PPID; while :; do :; done")
    assert done.returncode == 137


def test_ctrl_c_in_a_shared_terminal() -> None:
    """The command gets it once from the terminal, and not again from us."""
    text = "trap 'echo got it' INT; echo up; while read line; do echo \"[$line]\"; done"
    with in_terminal("--", "bash", "-c", text) as terminal:
        terminal.shows(b"up")
        terminal.types(b"\x03")
        terminal.shows(b"got it")
        terminal.types(b"next\n")
        terminal.shows(b"[next]")
        assert terminal.text.count(b"got it") == 1
        terminal.types(b"\x04")
        assert terminal.code() == 0


def test_ctrl_c_ends_what_does_not_mind_it() -> None:
    """And the exit code is 130."""
    with in_terminal("--", "sh", "-c", "echo up; exec sleep 1000") as terminal:
        terminal.shows(b"up")
        terminal.types(b"\x03")
        assert terminal.code() == 130


def test_keys_go_through_to_a_terminal_of_its_own() -> None:
    """With -t Ctrl-C, Ctrl-D and everything else is the command's."""
    with in_terminal("-t", "--", "bash", "--norc", "-i") as terminal:
        terminal.types(b"PS1='ready> '; stty -echo; echo $((6 * 7))\n")
        terminal.shows(b"42\r\n")
        terminal.types(b"sh -c 'echo now; exec sleep 1000'\n")
        terminal.shows(b"now\r\n")
        terminal.text = b""
        terminal.types(b"\x03")
        terminal.shows(b"ready> ")
        terminal.types(b"echo status $?\n")
        terminal.shows(b"status 130")
        terminal.types(b"exit 6\n")
        assert terminal.code() == 6


def test_its_terminal_follows_the_size_of_ours() -> None:
    """As large as ours at the start, and after every change."""
    text = "trap 'stty size' WINCH; stty size; while :; do sleep 0.01; done"
    with in_terminal("-t", "--", "sh", "-c", text, size=Size(30, 100)) as terminal:
        terminal.shows(b"30 100\r\n")
        resize(terminal.master, Size(40, 120))
        terminal.shows(b"40 120\r\n")


def test_our_terminal_is_as_it_was() -> None:
    """Raw while a command has its own, and put back after it."""
    with in_terminal("-t", "--", "sh", "-c", "echo up; read line") as terminal:
        keeper = os.open(terminal.path, os.O_RDWR | os.O_NOCTTY)
        before = termios.tcgetattr(keeper)
        terminal.shows(b"up")
        assert termios.tcgetattr(keeper) != before
        terminal.types(b"\r")
        assert os.waitpid(terminal.pid, 0)[1] == 0
        assert termios.tcgetattr(keeper) == before
        os.close(keeper)


IN_THE_BACKGROUND = """
set -m
"$@" -t -- sh -c 'trap "exit 41" TERM; while :; do sleep 0.1; done' &
until read -r line < /proc/$!/stat && [[ $line == *') T '* ]]; do sleep 0.1; done
kill -TERM $!
kill -CONT $!
code=150  # bash may not know yet that it goes on
until [ $code != 150 ]; do wait $!; code=$?; sleep 0.1; done
echo "code $code"
"""


def test_one_that_waits_in_the_background_can_be_ended() -> None:
    """It is stopped where it wants the terminal, as every program is there, and it still hands on
    the signal that somebody sends it."""
    words = ("-c", IN_THE_BACKGROUND, "bash", *RUN)
    terminal = Terminal(words, program=(require("bash"),))
    try:
        terminal.shows(b"code 41")
        assert terminal.code() == 0
    finally:
        terminal.close()


@pytest.mark.parametrize("preset", ["auto", "full-access"])
def test_a_command_that_stops_itself_stops_us(preset: str, tmp_path: Path) -> None:
    """As an editor does at Ctrl-Z: whoever started us has the terminal again, and lets it go on,
    also where the sandbox keeps the command from stopping us."""
    itself = [*RUN[:-1], preset, "--cwd", str(tmp_path), "--"]
    stops = "kill -TSTP 0; echo went on; exit 41"
    terminal = Terminal(("--norc", "-i"), program=(require("bash"),))
    try:
        terminal.types(f"{shlex.join([*itself, 'sh', '-c', stops])}\n".encode())
        terminal.shows(b"Stopped")
        terminal.types(b"fg\n")
        terminal.shows(b"\nwent on")
        terminal.types(b'echo "code $?"\n')
        terminal.shows(b"code 41")
        terminal.types(b"exit\n")
        terminal.code()
    finally:
        terminal.close()


@pytest.mark.parametrize("data", [b"", b"line\n", b"no newline"])
def test_the_end_of_input_reaches_its_terminal(data: bytes) -> None:
    """A command on a terminal of its own sees the end of what is piped into us."""
    done = fairlead_run("-t", "--", "sh", "-c", "cat; echo over", input=data)
    assert done.returncode == 0
    assert done.stdout.replace(b"\r", b"").endswith(data + b"over\n")


def test_whoever_stops_looking_ends_a_command_on_its_own_terminal() -> None:
    """When our output is closed the command is ended, and nothing is printed about it."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*RUN, "-t", "--", "yes"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (137, b"")


def test_a_workdir_that_went_away(tmp_path: object) -> None:
    """The directory is named, not the command."""
    done = fairlead_run("--cwd", f"{tmp_path}/none", "--", "true")
    assert done.returncode == 2
    assert b"none" in done.stderr
