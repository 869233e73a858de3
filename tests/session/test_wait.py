"""Waiting for something to happen in a session."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from fairlead.model.params import Stdin
from fairlead.session.wait import OVERLAP, Met, Until, wait_until
from fairlead.testing import FakeProcess, FakeSpawner
from fairlead.tools.patterns import compile_pattern
from tests.session.house import House, grow_to, house, python

LONG = 60.0  # seconds: only a hang takes so long


def pattern(text: str) -> Until:
    return Until(regex=compile_pattern(text))


async def told(process: FakeProcess) -> int:
    """Says what it is told, in the same pieces."""
    while data := await process.read():
        process.say(data)
    return 0


async def turns(count: int) -> None:
    """Let everybody else have their turn so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


def echoing() -> House:
    return House(spawner=FakeSpawner(told))


async def test_the_exit_ends_every_wait() -> None:
    """Whatever is waited for, there is no more of it after the end."""
    async with house() as home:
        session = await home.start("sleep 0.2; echo bye")
        met = await wait_until(session, Until(size=1000, port=1, quiet=LONG), LONG)
        assert met == Met(reason="exit")
        assert await wait_until(session, pattern("never"), LONG) == Met(reason="exit")


async def test_a_pattern_in_the_last_output_comes_before_the_exit() -> None:
    """The match is what the caller asked for, though the process has ended as well."""
    async with house() as home:
        session = await home.run("echo port 8080")
        met = await wait_until(session, pattern(r"port \d+"), LONG)
        assert met == Met(reason="pattern", match="port 8080", offset=0)


async def test_a_match_that_comes_in_two_writes_is_seen() -> None:
    """A match is found wherever the reads cut it, with its place in the whole output."""
    home = echoing()
    session = await home.start("echo", stdin=Stdin.OPEN)
    waiting = asyncio.create_task(wait_until(session, pattern("ready: [0-9]+;"), LONG))
    for piece in (b"x" * 10_000, b"rea", b"dy", b": 4", b"2", b"; and more"):
        session.write(piece)
        await turns(3)
    assert await waiting == Met(reason="pattern", match="ready: 42;", offset=10_000)
    await home.close()


@pytest.mark.parametrize("text", ["^word", r"\bord", r"(?m)^ord"])
async def test_the_start_of_a_read_is_no_start_of_a_line(text: str) -> None:
    """Anchors see the byte before, also where one look ended and the next began."""
    home = echoing()
    session = await home.start("echo", stdin=Stdin.OPEN)
    waiting = asyncio.create_task(wait_until(session, pattern(text), LONG))
    for start in range(1, 6):  # each look begins so many bytes before the end of a "-word"
        session.write(b"-word" + b"." * (OVERLAP - start))
        await turns(3)
        session.write(b".")
        await turns(3)
    session.write(b"\nord" if "m" in text else b" ord")
    session.close_stdin()
    met = await waiting
    assert met.reason == ("exit" if text == "^word" else "pattern")
    if met.match is not None:
        assert met.match == "ord"
        assert met.offset == session.log.size - 3
    await home.close()


async def test_only_what_is_unread_is_searched() -> None:
    """What an earlier call returned does not match again."""
    home = echoing()
    session = await home.start("echo", stdin=Stdin.OPEN)
    session.write(b"done\n")
    await grow_to(session, 5)
    session.take_unread()
    assert await wait_until(session, pattern("done"), 0.05) == Met(reason="timeout")
    assert (
        await wait_until(session, Until(regex=pattern("done").regex, since=0), LONG)
    ).offset == 0
    await home.close()


async def test_a_hostile_pattern_takes_linear_time() -> None:
    """What makes a backtracking matcher run for years is over at once."""
    async with house() as home:
        session = await home.run("head -c 3000000 /dev/zero | tr '\\0' a")
        began = time.monotonic()
        met = await wait_until(session, pattern("(a*)*b|(a|aa)+$x"), LONG)
        assert met == Met(reason="exit")
        assert time.monotonic() - began < 30


async def test_a_long_log_is_searched_in_turns() -> None:
    """While megabytes are searched, everything else goes on."""
    async with house() as home:
        session = await home.run("head -c 30000000 /dev/zero")
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        busy = asyncio.create_task(others())
        assert await wait_until(session, pattern("never"), LONG) == Met(reason="exit")
        busy.cancel()
        assert turns > 50


async def test_a_wait_sees_what_the_reader_thread_reads_meanwhile() -> None:
    """No output is missed between a look and the wait for the next: many rounds, no hang."""
    source = """
import sys
for line in sys.stdin:
    sys.stdout.write("<" + line.strip() + ">")
    sys.stdout.flush()
"""
    async with house() as home:
        session = await home.start(python(source), stdin=Stdin.OPEN)
        for number in range(300):
            session.write(b"%d\n" % number)
            met = await wait_until(
                session, Until(regex=pattern(f"<{number}>").regex, since=0), LONG
            )
            assert met.reason == "pattern"
        session.close_stdin()
        assert await session.wait_done(LONG)


async def test_quiet_is_met_after_the_last_byte() -> None:
    """Silence is counted from the last output, not from the call."""
    async with house() as home:
        session = await home.start("for n in 1 2 3 4; do echo $n; sleep 0.1; done; sleep 300")
        assert await wait_until(session, Until(quiet=0.6), LONG) == Met(reason="quiet")
        assert session.log.size == 8
        assert time.monotonic() - session.last_output >= 0.6


async def test_so_many_bytes_are_met() -> None:
    """Bytes are counted from what was unread when the wait began."""
    async with house() as home:
        session = await home.start("read; head -c 5000 /dev/zero; read", stdin=Stdin.OPEN)
        session.write(b"\n")
        assert await wait_until(session, Until(size=5000), LONG) == Met(reason="bytes")
        assert await wait_until(session, Until(size=5001), 0.05) == Met(reason="timeout")


async def test_a_listening_port_is_met() -> None:
    """The port has to be of this session's own tree: another's does not count."""
    source = """
import socket, sys
sys.stdin.readline()
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
sys.stdin.readline()
"""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
        async with house() as home:
            session = await home.start(python(source) + f" {port}", stdin=Stdin.OPEN)
            assert await wait_until(session, Until(port=port), 0.2) == Met(reason="timeout")
            probe.close()
            session.write(b"\n")
            assert await wait_until(session, Until(port=port), LONG) == Met(reason="port")


async def test_a_timeout_of_zero_only_looks() -> None:
    """It answers at once, with what is already true."""
    async with house() as home:
        session = await home.start("echo here; sleep 300")
        await grow_to(session, 5)
        assert await wait_until(session, Until(size=6), 0) == Met(reason="timeout")
        assert (await wait_until(session, pattern("here"), 0)).reason == "pattern"
