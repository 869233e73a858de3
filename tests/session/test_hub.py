"""Events: one beginning and one end per process, its output between them."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from itertools import pairwise
from typing import Any

from fairlead.model.event import (
    MAX_CHUNK_BYTES,
    MAX_CHUNKS_PER_CALL,
    Chunk,
    Ended,
    Event,
    Started,
)
from fairlead.model.limits import Capacity
from fairlead.model.params import Stdin
from fairlead.testing import FakeProcess, FakeSpawner
from tests.session.house import House, grow_to, house, request


def kinds(events: list[Event]) -> Counter[str]:
    return Counter(type(event).__name__ for event in events)


def output(events: list[Event]) -> bytes:
    """The chunks put together; each has to begin where the one before ended."""
    chunks = [event for event in events if isinstance(event, Chunk)]
    for before, after in pairwise(chunks):
        assert after.offset == before.offset + len(before.data)
    return b"".join(chunk.data for chunk in chunks)


def the_end(events: list[Event]) -> Ended:
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Ended)
    assert kinds(events)["Started"] == kinds(events)["Ended"] == 1
    return events[-1]


async def test_a_process_begins_and_ends_once() -> None:
    """Started first, all of its output, Ended last."""
    async with house() as home:
        events: list[Event] = []
        home.hub.subscribe(events.append)
        session = await home.run("echo out; printf '\\303'; exit 3")
        end = the_end(events)
        assert (end.ending.code, end.total_bytes, end.unsent) == (3, 5, 0)
        assert end.session_id == session.id
        assert output(events) == b"out\n\xc3"


async def test_it_ends_once_however_it_ends() -> None:
    """In the background, by timeout, by kill, by a signal, by eviction: exactly one Ended."""
    async with house(capacity=Capacity(live=3, warn_at=3, protected=1)) as home:
        events: list[Event] = []
        home.hub.subscribe(events.append)
        timed = await home.start("sleep 300", timeout=0.1)
        await timed.wait_done(60)
        home.store.retire(timed)
        killed = await home.start("sleep 300 & sleep 300")
        await asyncio.gather(killed.end(by="a"), killed.end(by="b"))
        home.store.retire(killed)
        signalled = await home.start("exec sleep 300")
        signalled.signal(signal.SIGKILL, by="c")
        await signalled.wait_done(60)
        background = await home.run("sleep 300 & exit 1")
        await background.end(by="d")
        evicted = await home.start("exec sleep 300")
        for _ in range(3):
            await home.start("exec sleep 300")
        assert not evicted.running
        ended = Counter(event.session_id for event in events if isinstance(event, Ended))
        gone = (timed, killed, signalled, background, evicted)
        assert [ended[one.id] for one in gone] == [1] * 5
    ended = Counter(event.session_id for event in events if isinstance(event, Ended))
    assert kinds(events)["Started"] == kinds(events)["Ended"] == len(ended) == 8


async def test_a_session_started_anew_has_two_lives_and_each_byte_once() -> None:
    """Another process in the session: another Started and Ended, no output told twice."""
    async with house() as home:
        events: list[Event] = []
        home.hub.subscribe(events.append)
        session = await home.run("echo one")
        params, env = request("echo two; exit 7")
        await home.starter.restart(session, params, env)
        await session.wait_done(60)
        names = [type(event).__name__ for event in events]
        assert names == ["Started", "Chunk", "Ended"] * 2
        assert output(events) == b"one\ntwo\n"
        assert session.on_change == []


async def test_chunks_are_small_and_end_with_a_character() -> None:
    """At most 8192 bytes, and never half of a character."""
    async with house() as home:
        events: list[Event] = []
        home.hub.subscribe(events.append)
        await home.run("for n in $(seq 20000); do printf 'é€'; done")
        for event in events:
            if isinstance(event, Chunk):
                assert len(event.data) <= MAX_CHUNK_BYTES
                event.data.decode()
        assert output(events).decode() == "é€" * 20_000


async def test_chunks_per_process_are_capped_and_the_rest_is_counted() -> None:
    """Ten thousand chunks, then only a number; together they are every byte."""

    async def play(process: FakeProcess) -> int:
        for _ in range(MAX_CHUNKS_PER_CALL + 500):
            process.say(b"x" * 10)
        return 0

    home = House(spawner=FakeSpawner(play))
    events: list[Event] = []
    home.hub.subscribe(events.append)
    session = await home.run("many small writes")
    end = the_end(events)
    assert kinds(events)["Chunk"] == MAX_CHUNKS_PER_CALL
    assert end.unsent == 5000
    assert len(output(events)) + end.unsent == end.total_bytes == session.log.size
    await home.close()


async def test_nothing_is_told_after_the_end() -> None:
    """A descendant that goes on writing is in the log, and not in the events."""
    async with house() as home:
        events: list[Event] = []
        home.hub.subscribe(events.append)
        script = "exec 3<&0; (read <&3; echo late) & echo now"
        session = await home.start(script, stdin=Stdin.OPEN)
        await session.wait_done(60)
        await session.end(by="a test")
        assert output(events) == b"now\n"
        assert isinstance(events[-1], Ended)
        assert session.on_change == []


async def test_a_listener_hears_its_own_call_only() -> None:
    """One for a call gets that call's events; one that left gets none."""
    async with house() as home:
        own: list[Event] = []
        other: list[Event] = []
        gone: list[Event] = []
        home.hub.subscribe(own.append, "call")
        home.hub.subscribe(other.append, "another call")
        leave = home.hub.subscribe(gone.append)
        leave()
        leave()
        await home.run("echo out")
        assert kinds(own) == {"Started": 1, "Chunk": 1, "Ended": 1}
        assert other == gone == []


async def test_a_listener_that_fails_harms_nobody() -> None:
    """The command runs, the others hear it, and the mistake is reported to the loop."""
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context))

    def fails(event: Event) -> None:
        raise ValueError(type(event).__name__)

    async with house() as home:
        events: list[Event] = []
        home.hub.subscribe(fails)
        home.hub.subscribe(events.append)
        session = await home.start("echo one; read; echo two", stdin=Stdin.OPEN)
        await grow_to(session, 4)
        session.write(b"\n")
        await session.wait_done(60)
        assert output(events) == b"one\ntwo\n"
    assert {str(context["exception"]) for context in reported} == {"Started", "Chunk", "Ended"}
    assert "a listener failed on Started" in {context["message"] for context in reported}
