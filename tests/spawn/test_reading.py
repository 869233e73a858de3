"""Whether a command waits for input, as the kernel shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from fairlead.model.env import ExecEnv
from tests.spawn.running import OPEN, PATH, TTY, AnySpawner, command, eventually, script, start

BASH = command("bash", "--norc", "-i", env={"PATH": PATH, "PS1": "$ "}, tty=True)
PYTHON = command(sys.executable, "-q", env={"PATH": PATH, "TERM": "dumb"}, tty=True)
BELOW = "sh -c 'cat; true'; true"

WAITING = {
    "cat on a pipe": command("cat", **OPEN),
    "cat below two shells on a pipe": script(BELOW, **OPEN),
    "cat on a terminal": command("cat", **TTY),
    "cat below two shells on a terminal": script(BELOW, **TTY),
    "read in sh": script("read x", **TTY),
    "a password prompt": command("bash", "-c", "read -s -p password: x", **TTY),
    "who opens /dev/tty": script("read x </dev/tty", **TTY),
    "bash at its prompt": BASH,
    "python at its prompt": PYTHON,
}

BUSY = {
    "sleep on a pipe": command("sleep", "1000", **OPEN),
    "sleep on a terminal": command("sleep", "1000", **TTY),
    "a busy loop": script("while :; do :; done", **TTY),
    "wait for a child": script("sleep 1000; true", **TTY),
    "a read of something else": script("mkfifo $0/f; read x <$0/f", **TTY),
}


@pytest.mark.parametrize("env", WAITING.values(), ids=WAITING.keys())
async def test_it_waits_for_input(spawner: AnySpawner, env: ExecEnv) -> None:
    """A command that is blocked in a read of its input says so."""
    running = await start(spawner, env)
    await eventually(running.process.waiting_for_input)
    assert await running.process.end_tree(0.0) == ()
    assert running.process.waiting_for_input() is False


@pytest.mark.parametrize("name", BUSY)
async def test_it_does_not_wait_for_input(
    spawner: AnySpawner, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A command that does something else is not waiting, at no look."""
    env = BUSY[name]
    if "fifo" in env.argv[-1]:
        env = script(env.argv[-1].replace("$0", str(tmp_path_factory.mktemp("fifo"))), **TTY)
    running = await start(spawner, env)
    names = {"sleep", "sh"}
    await eventually(lambda: running.process.foreground_program() in names)
    looks = [running.process.waiting_for_input() for _ in range(50)]
    assert not any(looks)
    assert await running.process.end_tree(0.0) == ()


async def test_a_background_job_at_the_terminal_does_not_count(spawner: AnySpawner) -> None:
    """Only the foreground gets what is typed: a stopped `cat &` waits for nobody."""
    running = await start(spawner, BASH)
    await eventually(running.process.waiting_for_input)
    running.process.write(b"cat & sleep 1000\n")
    await eventually(lambda: running.process.foreground_program() == "sleep")
    assert running.process.waiting_for_input() is False
    assert await running.process.end_tree(0.0) == ()


async def test_nodes_prompt(spawner: AnySpawner, require: Callable[[str], str]) -> None:
    """Node waits in an epoll set that has the terminal in it."""
    node = require("node")
    running = await start(spawner, command(node, "-i", env={"PATH": PATH}, tty=True))
    await eventually(running.process.waiting_for_input)
    assert await running.process.end_tree(0.0) == ()
