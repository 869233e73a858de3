"""Signals by key, and jobs, in an interactive shell."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead import Engine
from tests.interactive.driving import Terminal

BASH = ["bash", "--norc", "--noprofile", "-i"]
UP = "bash -c 'echo it is $((40 + 2)); exec sleep 1000'\n"  # says when it is in the foreground


async def bash(engine: Engine) -> Terminal:
    terminal = await Terminal.start(engine, BASH)
    await terminal.until("ready> ")
    return terminal


async def test_a_job_is_stopped_listed_and_resumed(engine: Engine) -> None:
    """Ctrl-Z stops the program in front; `jobs` has it; in front again it reads what is typed."""
    shell = await bash(engine)
    await shell.type("cat\n")
    await shell.until("cat\r\n")
    assert await shell.wants_input()
    await shell.type("\x1a")
    await shell.until(r"\[1\]\+  Stopped +cat\r\nready> ")
    await shell.type("jobs\n")
    await shell.until(r"\[1\]\+  Stopped +cat\r\nready> ")
    await shell.type("fg\n")
    await shell.until("fg\r\ncat\r\n")
    assert await shell.wants_input()
    await shell.type("back\n")
    await shell.until("back\r\nback\r\n")
    await shell.type("\x04")
    await shell.until("ready> ")


async def test_a_stopped_job_goes_on_in_the_background(engine: Engine) -> None:
    """After `bg` the shell is free while the job runs."""
    shell = await bash(engine)
    await shell.type(UP, yield_time_ms=250)
    await shell.until("it is 42\r\n")
    await shell.type("\x1a")
    await shell.until(r"Stopped .*\r\nready> ")
    await shell.type("bg\n")
    await shell.until(r"\[1\]\+ bash .* &\r\nready> ")
    await shell.type("jobs -r\n")
    await shell.until(r"\[1\]\+  Running .*\r\nready> ")
    await shell.type("kill %1; wait %1; echo code $?\n")
    await shell.until("code 143\r\n")


async def test_an_interrupt_reaches_only_the_program_in_front(engine: Engine) -> None:
    """Ctrl-C ends the job with 130; the shell stays."""
    shell = await bash(engine)
    await shell.type(UP, yield_time_ms=250)
    await shell.until("it is 42\r\n")
    await shell.type("\x03")
    await shell.until(r"\^C\r\nready> ")
    await shell.type("echo code $?\n")
    await shell.until("code 130\r\n")


async def test_an_interrupt_ends_a_program_of_its_own(engine: Engine) -> None:
    """Without a shell around it, Ctrl-C by key is how the session ends."""
    cat = await Terminal.start(engine, ["cat"])
    await cat.type("\x03")
    ended = (await cat.end()).structured
    assert (ended["exit_code"], ended["signal"]) == (130, "SIGINT")


async def test_end_of_input_by_key(engine: Engine) -> None:
    """Ctrl-D at a prompt leaves the shell with the last command's code."""
    shell = await bash(engine)
    await shell.type("(exit 5)\n")
    await shell.until("ready> ")
    await shell.type("\x04")
    assert (await shell.end()).structured["exit_code"] == 5


async def test_end_of_input_by_argument(engine: Engine) -> None:
    """On a terminal `eof` types the end-of-file character that is set there, after the text."""
    command = "stty eof ^T; echo ready; exec cat"
    cat = await Terminal.start(engine, ["bash", "--norc", "-c", command])
    await cat.until("ready\r\n")
    await cat.type("last words\n", eof=True)
    assert (await cat.end()).structured["exit_code"] == 0
    assert cat.seen.count("last words") == 2  # the echo and the copy


@pytest.mark.parametrize(
    ("program", "arguments"),
    [("zsh", ["-f", "-i"]), ("fish", ["--no-config", "--private"]), ("dash", ["-i"])],
)
async def test_other_shells_keep_their_state(
    engine: Engine,
    require: Callable[[str], str],
    program: str,
    arguments: list[str],
) -> None:
    """zsh, fish and dash take one line after the other, and leave with their own exit code."""
    shell = await Terminal.start(engine, [require(program), *arguments])
    await shell.type("cd /usr\n")
    await shell.type('echo "<$PWD>"\n')
    await shell.until("</usr>")
    await shell.type("exit 9\n")
    assert (await shell.end()).structured["exit_code"] == 9
