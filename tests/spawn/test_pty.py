"""Terminals: their size, their modes, and who is in the foreground."""

from __future__ import annotations

import os

import pytest

from fairlead.model.errors import BadRequest
from fairlead.model.params import Size
from fairlead.spawn import pty
from tests.spawn.running import PATH, AnySpawner, command, eventually, python, run, script, start


async def test_the_size_is_as_asked(spawner: AnySpawner) -> None:
    """24×80, or what was asked for, from the first moment on."""
    assert (await run(spawner, command("stty", "size", tty=True))).data == b"24 80\r\n"
    sized = command("stty", "size", tty=True, size=Size(50, 132))
    assert (await run(spawner, sized)).data == b"50 132\r\n"


async def test_a_resize_is_seen_and_signalled(spawner: AnySpawner) -> None:
    """The program gets SIGWINCH and finds the new size."""
    text = "trap 'stty size' WINCH; echo up; while :; do sleep 0.01; done"
    running = await start(spawner, script(text, tty=True))
    await running.output.shows(b"up")
    running.process.resize(Size(33, 99))
    await running.output.shows(b"33 99\r\n")
    assert await running.process.end_tree(0.0) == ()
    running.process.resize(Size(10, 10))  # after the end it is nothing


async def test_without_a_terminal_there_is_nothing_to_resize(spawner: AnySpawner) -> None:
    """The refusal says how to get a terminal."""
    running = await start(spawner, command("sleep", "1000"))
    with pytest.raises(BadRequest, match="start it with tty=true"):
        running.process.resize(Size(1, 1))
    assert await running.process.end_tree(0.0) == ()


async def test_a_terminal_echoes_and_translates(spawner: AnySpawner) -> None:
    """As a person would see it: what is typed shows, and lines end with CR LF."""
    running = await start(spawner, command("cat", tty=True))
    running.process.write(b"hello\n")
    await running.output.shows(b"hello\r\nhello\r\n")
    running.process.close_stdin()
    assert (await running.ended()).code == 0


async def test_a_plain_terminal_does_neither(spawner: AnySpawner) -> None:
    """For shells that we drive: a terminal without echo and newline translation."""
    running = await start(spawner, command("cat", tty=True, plain_tty=True))
    running.process.write(b"hello\n")
    running.process.close_stdin()
    assert (await running.ended()).code == 0
    assert running.output.data == b"hello\n"


async def test_control_characters_are_signals(spawner: AnySpawner) -> None:
    """Ctrl-C typed into the terminal is SIGINT for its foreground group."""
    running = await start(spawner, script("echo up; exec sleep 1000", tty=True))
    await running.output.shows(b"up")
    running.process.write(b"\x03")
    ending = await running.ended()
    assert (ending.code, ending.signal) == (130, 2)


async def test_the_foreground_program(spawner: AnySpawner) -> None:
    """In a shell with job control it is the job, then the shell again."""
    env = command("bash", "--norc", "-i", env={"PATH": PATH, "PS1": "ready> "}, tty=True)
    running = await start(spawner, env)
    await running.output.shows(b"ready> ")
    assert running.process.foreground_program() == "bash"
    running.process.write(b"cat\n")
    await eventually(lambda: running.process.foreground_program() == "cat")
    running.process.write(b"\x04")
    await eventually(lambda: running.process.foreground_program() == "bash")
    assert await running.process.end_tree(5) == ()


async def test_the_hangup_of_a_terminal_that_ended(spawner: AnySpawner) -> None:
    """Questions after the terminal closed are answered, not raised."""
    code = "import os, time; [os.close(fd) for fd in (0, 1, 2)]; time.sleep(1000)"
    running = await start(spawner, python(code, tty=True))
    await eventually(lambda: running.process._streams.output.ended)
    running.process.resize(Size(1, 1))
    assert running.process.waiting_for_input() is False
    assert running.process.foreground_program() is not None
    assert await running.process.end_tree(0.0) == ()


def test_a_size_that_is_none_leaks_nothing() -> None:
    """A terminal that can't be sized is closed again."""
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Exception, match="format"):
        pty.open_pty(Size(100_000, 1), plain=False)
    assert len(os.listdir("/proc/self/fd")) == before


def test_line_mode_and_end_of_file() -> None:
    """What the terminal's modes say."""
    master, slave = pty.open_pty(Size(), plain=True)
    try:
        assert pty.is_line_mode(master)
        assert pty.end_of_file(master) == b"\x04"
        assert pty.foreground_group(master) is None
    finally:
        os.close(master)
        os.close(slave)
