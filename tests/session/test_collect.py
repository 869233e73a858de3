"""What one call hands back: when it returns, and with what."""

from __future__ import annotations

import asyncio
import time

from fairlead.model.params import Stdin
from fairlead.session.collect import collect, take
from fairlead.testing import FakeProcess, FakeSpawner
from tests.session.house import House, grow_to, house

LONG = 60.0


async def test_the_exit_ends_the_wait() -> None:
    """It returns when the command has ended, long before the yield time."""
    async with house() as home:
        began = time.monotonic()
        session = await home.start("echo out; exit 2")
        output = await collect(session, LONG, began)
        assert output.ending is not None
        assert output.ending.code == 2
        assert output.output.kept == b"out\n"
        assert time.monotonic() - began < 30
        assert not output.waiting_for_input


async def test_no_yield_time_waits_for_the_end() -> None:
    """Without a limit only the exit ends the wait."""
    async with house() as home:
        session = await home.start("sleep 0.5; echo out")
        assert (await collect(session, None, time.monotonic())).ending is not None


async def test_the_yield_time_ends_the_wait() -> None:
    """A command that goes on is left alone, and its output so far is handed over."""
    async with house() as home:
        session = await home.start("echo out; exec sleep 300")
        began = time.monotonic()
        output = await collect(session, 0.4, began)
        assert time.monotonic() - began >= 0.4
        assert output.ending is None
        assert output.output.kept == b"out\n"
        assert output.wall_time >= 0.4
        assert session.running


async def test_the_yield_time_is_the_commands_own() -> None:
    """What a call waited for before, a person's answer for one, does not shorten it."""
    async with house() as home:
        session = await home.start("sleep 0.3; echo out")
        output = await collect(session, LONG, time.monotonic() - 2 * LONG)
        assert output.output.kept == b"out\n"
        assert output.wall_time > 2 * LONG


async def test_a_session_that_waits_for_input_is_handed_back_early() -> None:
    """The kernel shows it blocked in a read: with a terminal, or with a pipe that was asked for."""
    async with house() as home:
        for said in ({"tty": True}, {"stdin": Stdin.OPEN}):
            session = await home.start("printf 'name: '; read name; echo $name", **said)
            began = time.monotonic()
            output = await collect(session, LONG, began)
            assert output.waiting_for_input
            assert output.output.kept == b"name: "
            assert time.monotonic() - began < 30
            session.write(b"x\n")
            assert (await collect(session, LONG, time.monotonic())).ending is not None


async def test_a_session_that_computes_is_not_taken_for_one_that_waits() -> None:
    """Silence alone says nothing: only a read of its input does."""
    async with house() as home:
        session = await home.start("sleep 1; echo out", tty=True)
        output = await collect(session, LONG, time.monotonic())
        assert not output.waiting_for_input
        assert output.output.kept == b"out\r\n"


async def test_a_read_that_was_answered_is_waited_out() -> None:
    """Between two answers the session is handed back each time it asks, with what is new."""

    async def play(process: FakeProcess) -> int:
        for question in ("a? ", "b? "):
            process.say(question)
            await process.read()
        process.say("done")
        return 0

    home = House(spawner=FakeSpawner(play))
    session = await home.start("asks twice", stdin=Stdin.OPEN)
    found = []
    for _ in range(3):
        output = await collect(session, LONG, time.monotonic())
        found.append((output.output.kept, output.waiting_for_input, output.ending is None))
        if session.running:
            session.write(b"answer")
    assert found == [(b"a? ", True, True), (b"b? ", True, True), (b"done", False, False)]
    await home.close()


async def test_taking_never_waits() -> None:
    """It is what is there: output, ending, held output, a chunk id for all of it."""
    async with house() as home:
        session = await home.run("echo one; sleep 300 & exit 1")
        output = take(session, time.monotonic())
        assert output.output.kept == b"one\n"
        assert output.output_held_open
        assert output.ending is not None
        assert output.ending.descendants_alive
        assert session.chunks[output.chunk_id] == (0, 4)
        again = take(session, time.monotonic())
        assert again.output.total == 0
        assert again.ending == output.ending


async def test_a_cancelled_wait_leaves_the_session_as_it_was() -> None:
    """Nothing is taken, and the next call gets everything."""
    async with house() as home:
        session = await home.start("echo out; read", stdin=Stdin.OPEN)
        await grow_to(session, 4)
        waiting = asyncio.create_task(collect(session, None, time.monotonic()))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,))
        assert waiting.cancelled()
        assert take(session, time.monotonic()).output.kept == b"out\n"
