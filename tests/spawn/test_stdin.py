"""Input reaches a command in order and whole, and never blocks the engine."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.model.errors import BadRequest
from fairlead.spawn.stdin import MAX_PENDING
from tests.spawn.running import (
    OPEN,
    TTY,
    AnySpawner,
    command,
    eventually,
    python,
    run,
    script,
    start,
)


async def test_without_input_a_read_ends_at_once(spawner: AnySpawner) -> None:
    """Standard input is empty unless it was asked for, so `cat` does not hang."""
    output = await run(spawner, command("cat"))
    assert output.ending is not None
    assert output.ending.code == 0
    assert output.data == b""


async def test_writing_to_no_input_is_refused(spawner: AnySpawner) -> None:
    """The refusal says how to get a session that takes input."""
    running = await start(spawner, command("sleep", "1000"))
    with pytest.raises(BadRequest, match='rerun exec_command with tty=true, or with stdin="open"'):
        running.process.write(b"x")
    running.process.close_stdin()  # nothing to close is no error
    assert await running.process.end_tree(0.0) == ()


async def test_input_arrives_and_ends(spawner: AnySpawner) -> None:
    """What is written comes out of `cat`; its end ends it; afterwards writing is refused."""
    running = await start(spawner, command("cat", **OPEN))
    running.process.write(b"one ")
    running.process.write(b"two")
    await running.output.shows(b"one two")
    running.process.close_stdin()
    running.process.close_stdin()
    with pytest.raises(BadRequest, match="stdin is closed for this session"):
        running.process.write(b"more")
    assert (await running.ended()).code == 0
    with pytest.raises(BadRequest, match="stdin is closed for this session"):
        running.process.write(b"more")


async def test_a_slow_reader_gets_everything_in_order(spawner: AnySpawner) -> None:
    """A megabyte waits until it is read; what comes after it stays after it."""
    running = await start(spawner, script("read first; cat", **OPEN))
    big = b"".join(b"%07d\n" % number for number in range(MAX_PENDING // 8 - 100))
    running.process.write(b"go on\n")
    for at in range(0, len(big), 10_000):
        running.process.write(big[at : at + 10_000])
    running.process.write(b"the end")
    running.process.close_stdin()
    assert (await running.ended()).code == 0
    assert running.output.data == big + b"the end"


async def test_more_than_may_wait_is_refused_whole(spawner: AnySpawner) -> None:
    """Past a megabyte that nobody reads the write fails, and nothing of it is taken."""
    running = await start(spawner, script("read go; wc -c", **OPEN))
    running.process.write(b"x" * MAX_PENDING)  # some of it is in the pipe already
    with pytest.raises(
        BadRequest, match=r"^nothing was written: \d+ bytes are too many, \d+ still wait"
    ):
        running.process.write(b"y" * MAX_PENDING)
    running.process.write(b"\n")
    running.process.write(b"z" * 10)
    running.process.close_stdin()
    await running.ended()
    assert running.output.data.split() == [b"10"]


async def test_a_reader_that_leaves_is_no_error(spawner: AnySpawner) -> None:
    """Input that nobody will read is dropped, and the next write says that it is closed."""
    running = await start(spawner, script("exec <&-; echo closed; sleep 1000", **OPEN))
    await running.output.shows(b"closed")
    running.process.write(b"x" * 100_000)
    with pytest.raises(BadRequest, match="closed"):
        running.process.write(b"x")
    assert await running.process.end_tree(0.0) == ()


async def test_a_large_paste_into_a_terminal(spawner: AnySpawner) -> None:
    """Far more than a terminal holds at once arrives whole in a program that reads it."""
    code = """
import os, sys, tty
tty.setraw(0)
print("ready", flush=True)
left = 500_000
while left:
    left -= len(os.read(0, min(left, 4096)))
print("done")
"""
    running = await start(spawner, python(code, tty=True))
    await running.output.shows(b"ready")
    running.process.write(b"x" * 500_000)
    assert (await running.ended()).code == 0
    assert b"done" in running.output.data


async def test_the_end_of_input_on_a_terminal(spawner: AnySpawner) -> None:
    """It is the end-of-file character, as the program set it."""
    running = await start(spawner, script("stty eof ^X; echo up; cat; echo over", tty=True))
    await running.output.shows(b"up")
    await eventually(lambda: running.process.foreground_program() in ("cat", "sh"))
    running.process.close_stdin()
    assert (await running.ended()).code == 0
    assert running.output.data.split()[-1] == b"over"


async def test_pending_input_costs_no_processor(spawner: AnySpawner) -> None:
    """Input that waits for its reader waits without turning the loop."""
    running = await start(spawner, script("sleep 1000", **OPEN))
    running.process.write(b"x" * MAX_PENDING)
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1

    stream = running.process._streams._stdin
    assert stream is not None
    flush = stream._flush
    stream._flush = lambda: (count(), flush())[1]  # type: ignore[method-assign, func-returns-value]
    await asyncio.sleep(0.05)
    assert turns == 0
    assert await running.process.end_tree(0.0) == ()


async def test_a_line_that_a_terminal_would_cut_is_refused(spawner: AnySpawner) -> None:
    """In line mode the kernel drops what goes beyond 4095 bytes, so nothing of it is written; a
    line of that length passes, and any number of such lines."""
    running = await start(spawner, script("stty -echo; echo up; wc -c", **TTY))
    await running.output.shows(b"up")
    with pytest.raises(BadRequest, match="nothing was written: a line of 4096 bytes is too long"):
        running.process.write(b"short\n" + b"x" * 4096 + b"\n")
    running.process.write((b"x" * 4095 + b"\n") * 20)
    running.process.close_stdin()
    await running.ended()
    assert running.output.data.split()[-1] == b"81920"


async def test_a_program_that_takes_keys_takes_long_lines(spawner: AnySpawner) -> None:
    """Without line mode there is no limit but the program's own."""
    text = "stty raw -echo; echo up; head -c 20000 | wc -c"
    running = await start(spawner, script(text, **TTY))
    await running.output.shows(b"up")
    running.process.write(b"x" * 20_000)
    await running.ended()
    assert running.output.data.split()[-1] == b"20000"
