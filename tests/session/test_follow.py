"""Watching: the picture of now, then everything later, without gap or duplicate."""

from __future__ import annotations

import asyncio
import random

import pytest

from fairlead.model.event import MAX_CHUNK_BYTES, Chunk, Ended, Event, FellBehind
from fairlead.model.params import Stdin
from fairlead.session.follow import BACKLOG, Follower, Watch
from fairlead.session.session import Session
from fairlead.testing import FakeProcess, FakeSpawner
from tests.session.house import House, grow_to, house, python, request

WRITER = """
import os, random
random.seed(3)
text = ("".join(random.choice("ab\\u00e9\\u20ac\\U0001f600\\n") for _ in range(60000))).encode()
while text:
    count = random.randint(1, 700)
    os.write(1, text[:count])
    text = text[count:]
"""


def writers_text() -> bytes:
    random.seed(3)
    return "".join(random.choice("abé€😀\n") for _ in range(60_000)).encode()


async def seen_by(watch: Watch) -> tuple[bytes, Ended]:
    """All that a watcher gets after its snapshot, checked for order and size on the way."""
    at, found = watch.snapshot.total_bytes, b""
    async for event in watch:
        if isinstance(event, Ended):
            return found, event
        assert isinstance(event, Chunk)
        assert event.offset == at
        assert 0 < len(event.data) <= MAX_CHUNK_BYTES
        event.data.decode()  # cut between characters
        at += len(event.data)
        found += event.data
    raise AssertionError("the watch ended without an Ended")


async def test_joining_at_any_moment_shows_everything_once() -> None:
    """Snapshot and stream meet without gap or duplicate, for hundreds who join under load."""
    expected = writers_text()
    async with house() as home:
        joined: list[tuple[Watch, asyncio.Task[tuple[bytes, Ended]]]] = []
        while len(joined) < 300:
            session = await home.start(python(WRITER))
            while session.running:
                watch = Watch(session, snapshot_bytes=random.choice((0, 1000, 1 << 20)))
                joined.append((watch, asyncio.create_task(seen_by(watch))))
                await asyncio.sleep(random.random() * 0.001)
        for watch, task in joined:
            found, end = await task
            shown = watch.snapshot
            assert shown.offset + len(shown.data) == shown.total_bytes
            assert expected[shown.offset :] == shown.data + found
            assert end.total_bytes == len(expected)
            assert end.ending.code == 0


async def test_a_snapshot_begins_and_ends_with_whole_characters() -> None:
    """Wherever the picture is cut, it is text; what is unfinished comes with the stream."""

    async def play(process: FakeProcess) -> int:
        process.say(b"\xf0\x9f\x98\x80\xe2\x82")
        await process.read()
        process.say(b"\xac")
        return 0

    home = House(spawner=FakeSpawner(play))
    session = await home.start("says a euro in two halves", stdin=Stdin.OPEN)
    await grow_to(session, 6)
    watch = Watch(session, snapshot_bytes=3)
    assert (watch.snapshot.offset, watch.snapshot.data) == (4, b"")
    assert Watch(session).snapshot.data == "😀".encode()
    session.close_stdin()
    assert (await seen_by(watch))[0] == "€".encode()
    await home.close()


async def test_a_watch_of_an_ended_session_is_its_picture_and_its_end() -> None:
    """There is nothing to wait for: the last bytes, then how it ended."""
    async with house() as home:
        session = await home.run("echo out; printf '\\303'; exit 3")
        watch = Watch(session)
        assert watch.snapshot.data == b"out\n\xc3"
        assert not watch.snapshot.running
        events = [event async for event in watch]
        assert [type(event) for event in events] == [Ended]
        assert isinstance(events[0], Ended)
        assert events[0].ending.code == 3


async def test_a_slow_watcher_is_told_exactly_what_it_missed() -> None:
    """It falls behind, hears how many bytes, goes on near the end; nobody waits for it."""
    total = 8 << 20
    async with house() as home:
        session = await home.start(f"read; head -c {total} /dev/zero", stdin=Stdin.OPEN)
        slow, quick = Watch(session), Watch(session)
        reading = asyncio.create_task(collected(quick))
        session.write(b"\n")
        assert await session.wait_done(60)  # the slow one has not taken a single event
        events = [event async for event in slow]
        assert isinstance(events[0], FellBehind)
        assert events[0].skipped > total - BACKLOG
        assert counted(events) == total
        assert counted(await reading) == total
        assert [type(event) for event in events].count(FellBehind) == 1


async def collected(watch: Watch) -> list[Event]:
    return [event async for event in watch]


def counted(events: list[Event]) -> int:
    """Bytes that were seen or told to be missing, up to the end."""
    seen = sum(len(event.data) for event in events if isinstance(event, Chunk))
    return seen + sum(event.skipped for event in events if isinstance(event, FellBehind))


async def test_what_the_log_no_longer_has_is_counted_as_missed() -> None:
    """A small log drops bytes that a watcher has not seen: it hears of the hole."""
    async with house(log_bytes=100_000) as home:
        session = await home.start("read; seq 100000", stdin=Stdin.OPEN)
        watch = Watch(session)
        session.write(b"\n")
        assert await session.wait_done(60)
        events = await collected(watch)
        assert any(isinstance(event, FellBehind) for event in events)
        assert counted(events) == session.log.size
        last = [event for event in events if isinstance(event, Chunk)][-1]
        assert last.data.endswith(b"100000\n")
        assert last.offset + len(last.data) == session.log.size


async def test_output_between_a_look_and_the_end_is_not_lost() -> None:
    """A watcher that is busy while the process writes its last and ends still gets it all."""

    async def play(process: FakeProcess) -> int:
        process.say("first")
        await process.read()
        process.say("last")
        return 0

    home = House(spawner=FakeSpawner(play))
    session = await home.start("two words", stdin=Stdin.OPEN)
    await grow_to(session, 5)
    session.log.append(b"+")
    watch, events = Watch(session, snapshot_bytes=0), list[Event]()
    session.log.append(b"then ")
    async for event in watch:
        events.append(event)
        if len(events) == 1:  # all that is left happens while this one is looked at
            session.close_stdin()
            assert await session.wait_done(30)
    assert [event.data for event in events if isinstance(event, Chunk)] == [b"then ", b"last"]
    assert isinstance(events[-1], Ended)
    await home.close()


async def test_a_watch_ends_with_the_process_that_it_began_with() -> None:
    """A session that is started anew before the watcher gets a turn: it still hears that end."""
    async with house() as home:
        session = await home.start("echo one; read; exit 4", stdin=Stdin.OPEN)
        watch = Watch(session, snapshot_bytes=0)
        watching = asyncio.create_task(seen_by(watch))
        await grow_to(session, 4)
        params, env = request("echo two; sleep 300")

        async def anew() -> None:
            session.close_stdin()
            await session.wait_done(60)
            await home.starter.restart(session, params, env)

        await anew()
        await grow_to(session, 8)
        found, end = await asyncio.wait_for(watching, 60)
        assert b"two" not in found
        assert end.ending.code == 4
        assert end.total_bytes == 4


async def test_a_watcher_that_leaves_is_forgotten() -> None:
    """Nothing of it stays with a session that lives on."""
    async with house() as home:
        session = await home.start("read", stdin=Stdin.OPEN)
        for _ in range(50):
            watching = asyncio.create_task(seen_by(Watch(session)))
            await asyncio.sleep(0)
            watching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await watching
        assert session._waiters == []
        assert len(session._on_finish) == 1  # the hub


def advance_all(follower: Follower, session: Session) -> list[Event]:
    return follower.advance(session.log.size)


async def test_past_its_limit_a_follower_only_counts() -> None:
    """After so many chunks the rest is a number, exact to the byte."""
    async with house() as home:
        session = await home.run("head -c 100000 /dev/zero")
        follower = Follower(session, 0, most=3)
        events = advance_all(follower, session)
        assert [len(event.data) for event in events if isinstance(event, Chunk)] == [8192] * 3
        assert follower.unsent == 100_000 - 3 * 8192
        assert advance_all(follower, session) == []
        assert follower.unsent == 100_000 - 3 * 8192
