"""Who reads which descriptor: the loop, or the drainer thread, and everybody gets a turn."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest

from fairlead.spawn.local import LocalSpawner
from fairlead.spawn.reactor import Reactor
from tests.spawn.running import command, eventually, python, start


class Pipe:
    """A pipe that notes which thread read it, in a reactor's care."""

    def __init__(self, reactor: Reactor) -> None:
        self.ours, self.theirs = os.pipe()
        os.set_blocking(self.ours, False)
        self.data = b""
        self.threads: list[int] = []
        self._lock = threading.Lock()  # as every reader has: the number is ours until we close it
        self._closed = False
        reactor.add(self.ours, self.readable)

    def readable(self, buffer: memoryview) -> None:
        with self._lock:
            try:
                count = os.readv(self.ours, [buffer]) if not self._closed else 0
            except BlockingIOError:
                return
        if not count:
            return
        self.threads.append(threading.get_ident())
        self.data += buffer[:count]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
async def reactor() -> AsyncIterator[Reactor]:
    """On this loop, closed at the end."""
    found = Reactor(asyncio.get_running_loop())
    yield found
    found.close()


async def test_the_loop_reads_at_first_and_the_drainer_when_told(reactor: Reactor) -> None:
    """Hot on the event loop, cold in one other thread, and back again."""
    pipe = Pipe(reactor)
    here = threading.get_ident()
    for hot in (True, False, True, False):
        reactor.move(pipe.ours, hot=hot)
        pipe.data, pipe.threads = b"", []
        os.write(pipe.theirs, b"x")
        await eventually(lambda: pipe.data == b"x")
        assert [thread == here for thread in pipe.threads] == [hot]
    reactor.remove(pipe.ours)
    reactor.remove(pipe.ours)
    pipe.close()


async def test_what_was_removed_is_not_read(reactor: Reactor) -> None:
    """Neither hot nor cold, and moving it is nothing."""
    for cold in (False, True):
        pipe = Pipe(reactor)
        other = Pipe(reactor)
        for one in (pipe, other):
            reactor.move(one.ours, hot=not cold)
        reactor.remove(pipe.ours)
        reactor.move(pipe.ours, hot=cold)
        for one in (pipe, other):
            os.write(one.theirs, b"x")
        await eventually(lambda other=other: other.data)  # type: ignore[misc]
        assert pipe.data == b""
        reactor.remove(other.ours)
        pipe.close()
        other.close()


async def test_a_reused_number_never_meets_the_drainer(reactor: Reactor) -> None:
    """A descriptor for the loop is called on the loop, though the drainer just had its number."""
    here = threading.get_ident()
    wrong: list[int] = []
    for _ in range(500):
        cold = Pipe(reactor)
        reactor.move(cold.ours, hot=False)
        os.write(cold.theirs, b"x")  # the drainer may be on its way to this number
        reactor.remove(cold.ours)
        cold.close()
        hot = Pipe(reactor)
        os.write(hot.theirs, b"x")
        await eventually(lambda hot=hot: hot.data)  # type: ignore[misc]
        wrong += [thread for thread in hot.threads if thread != here]
        reactor.remove(hot.ours)
        hot.close()
    assert wrong == []


async def test_all_cold_ones_get_their_turn(reactor: Reactor) -> None:
    """More than one turn's worth of ready descriptors: each is read once before any twice."""
    order: list[int] = []
    plug, entered, gate = Pipe(reactor), threading.Event(), threading.Event()
    pipes = [Pipe(reactor) for _ in range(200)]

    def held_up(buffer: memoryview) -> None:
        """The drainer waits here until all the others are there."""
        entered.set()
        gate.wait()
        os.readv(plug.ours, [buffer])

    def served(at: int, buffer: memoryview) -> None:
        os.readv(pipes[at].ours, [buffer[:1]])  # one byte: it stays ready
        order.append(at)

    def make_ready(pipe: Pipe, callback: Callable[[memoryview], None]) -> None:
        reactor.remove(pipe.ours)
        reactor.add(pipe.ours, callback)
        os.write(pipe.theirs, b"abc")
        reactor.move(pipe.ours, hot=False)

    make_ready(plug, held_up)
    entered.wait()  # else it could see some of them in this very turn, and again in the next
    for at, pipe in enumerate(pipes):
        make_ready(pipe, partial(served, at))
    gate.set()
    await eventually(lambda: len(order) == 600)
    for begin in (0, 200, 400):
        assert set(order[begin : begin + 200]) == set(range(200))
    for pipe in (plug, *pipes):
        reactor.remove(pipe.ours)
        pipe.close()


async def test_closing_ends_the_thread() -> None:
    """The drainer is gone when close returns, also with something to read."""
    reactor = Reactor(asyncio.get_running_loop())
    pipe = Pipe(reactor)
    reactor.move(pipe.ours, hot=False)
    assert "fairlead-drainer" in {thread.name for thread in threading.enumerate()}
    os.write(pipe.theirs, b"x")
    reactor.close()
    assert "fairlead-drainer" not in {thread.name for thread in threading.enumerate()}
    pipe.close()


async def test_an_awaited_session_is_heard_through_a_flood(guarded: LocalSpawner) -> None:
    """While thirty commands flood, the one that somebody waits for answers."""
    floods = [await start(guarded, command("yes")) for _ in range(30)]
    for one in floods:
        one.output.feed = ignore  # type: ignore[method-assign]
        one.process.awaited(False)
    echo = await start(guarded, python("while 1: print(input(), flush=True)", stdin="open"))
    for number in range(20):
        begun = time.monotonic()
        echo.process.write(b"%d\n" % number)
        await echo.output.shows(b"%d\n" % number)
        assert time.monotonic() - begun < 10, "it starves"


def ignore(data: memoryview) -> None:
    """Take it and forget it."""
