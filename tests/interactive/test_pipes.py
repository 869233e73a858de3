"""Sessions without a terminal: input by pipe, or none."""

from __future__ import annotations

import sys
from typing import Any

from fairlead import Engine
from tests.interactive.driving import LONG_MS, Terminal

OPEN: dict[str, Any] = {"tty": False, "stdin": "open"}


async def test_cat_repeats_until_its_input_ends(engine: Engine) -> None:
    """An open stdin takes text call by call; `eof` closes it, and the program ends by itself."""
    cat = await Terminal.start(engine, ["cat"], **OPEN)
    assert await cat.wants_input()
    await cat.type("one\n")
    assert await cat.until("\n") == "one\n"
    answer = await cat.type("two\n", eof=True)
    assert (answer.structured["status"], answer.structured["exit_code"]) == ("completed", 0)
    assert answer.structured["output"] == "two\n"


async def test_input_is_empty_by_default(engine: Engine) -> None:
    """Nothing hangs on a read that nobody will answer."""
    answer = await engine.call("exec_command", {"cmd": ["cat"]})
    assert (answer.structured["exit_code"], answer.structured["output"]) == (0, "")


async def test_interrupt_without_a_terminal(engine: Engine) -> None:
    r"""Exactly "\u0003" is SIGINT for the whole process group, not a byte."""
    script = "trap 'echo interrupted; exit 4' INT; echo up; cat; cat"
    group = await Terminal.start(engine, ["bash", "--norc", "-c", script], **OPEN)
    await group.until("up\n")
    await group.type("\x03")
    ended = (await group.end()).structured
    assert group.seen == "up\ninterrupted\n"
    assert ended["exit_code"] == 4


async def test_an_interrupt_needs_no_open_input(engine: Engine) -> None:
    r"""A command with an empty stdin is interrupted all the same; the record says by what."""
    script = "echo up; exec sleep 1000"
    args = {"cmd": ["sh", "-c", script], "yield_time_ms": 250}
    started = await engine.call("exec_command", args)
    sleeper = Terminal(engine, started.structured["session_id"])
    await sleeper.type("\x03")
    ended = (await sleeper.end()).structured
    assert (ended["exit_code"], ended["signal"]) == (130, "SIGINT")
    assert ended["killed_by"] == "write_stdin (SIGINT)"


async def test_an_interrupt_among_other_text_is_a_byte(engine: Engine) -> None:
    """On a pipe only the lone character is a signal."""
    code = "import sys; print(ascii(sys.stdin.readline()))"
    reader = await Terminal.start(engine, [sys.executable, "-c", code], **OPEN)
    await reader.type("a\x03\n")
    assert (await reader.end()).structured["output"] == "'a\\x03\\n'\n"


async def test_a_large_input_arrives_whole(engine: Engine) -> None:
    """More than a pipe holds is delivered in order, and then the end of input."""
    text = "".join(f"{number}\n" for number in range(100_000))
    counter = await Terminal.start(engine, ["sh", "-c", "md5sum; echo done"], **OPEN)
    import hashlib

    await counter.type(text, eof=True, yield_time_ms=LONG_MS)
    await counter.end()
    assert counter.seen.split() == [hashlib.md5(text.encode()).hexdigest(), "-", "done"]
