"""The engine for code without an event loop."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import fairlead
from fairlead.model.errors import BadRequest
from fairlead.model.event import Event, Started
from tests.session.house import is_running


def sleeps(seconds: int) -> dict[str, Any]:
    return {"command": ["sleep", str(seconds)], "timeout_ms": 600_000}


def test_a_call_blocks_and_answers() -> None:
    """The same answers as the engine with a loop gives, refusals included."""
    with fairlead.SyncEngine() as engine:
        assert engine.call("shell", {"command": ["echo", "hi"]}).structured["output"] == "hi\n"
        assert not engine.call("no_such_tool").success
        assert [one["state"] for one in engine.sessions()] == ["exited"]


def test_many_threads_call_at_once() -> None:
    """Each gets its own answer, and none waits for another."""
    began = time.monotonic()
    with fairlead.SyncEngine() as engine, ThreadPoolExecutor(16) as threads:

        def call(number: int) -> str:
            done = engine.call("shell", {"command": ["sh", "-c", f"sleep 1; echo {number}"]})
            return str(done.structured["output"])

        assert list(threads.map(call, range(16))) == [f"{number}\n" for number in range(16)]
    assert time.monotonic() - began < 10


def test_events_come_while_the_call_blocks() -> None:
    """A listener is called on the engine's own thread."""
    heard: list[tuple[str, str]] = []

    def listen(event: Event) -> None:
        heard.append((type(event).__name__, threading.current_thread().name))

    with fairlead.SyncEngine() as engine:
        engine.call("shell", {"command": ["echo", "hi"]}, on_event=listen)
    assert heard == [(name, "fairlead") for name in ("Started", "Chunk", "Ended")]


def test_closing_answers_the_calls_of_other_threads() -> None:
    """Nobody hangs: what was on its way gets an answer, what comes later is refused."""
    engine = fairlead.SyncEngine().__enter__()
    started = threading.Semaphore(0)
    pids: list[int] = []

    def listen(event: Event) -> None:
        if isinstance(event, Started):
            pids.append(event.pid)
            started.release()

    with ThreadPoolExecutor(4) as threads:
        calls = [
            threads.submit(engine.call, "shell", sleeps(300), on_event=listen) for _ in range(4)
        ]
        for _ in calls:
            assert started.acquire(timeout=60)
        engine.close()
        texts = [call.result(timeout=60).content for call in calls]
    assert texts == ["the engine was closed during this call"] * 4
    assert not any(map(is_running, pids))
    engine.close()
    with pytest.raises(BadRequest, match=r"^the engine is closed$"):
        engine.call("list_sessions")


def test_calls_that_race_with_the_close_all_return() -> None:
    """However the two meet, each call is answered or refused."""
    for _ in range(5):
        engine = fairlead.SyncEngine().__enter__()

        def call(engine: fairlead.SyncEngine = engine) -> str:
            while True:
                try:
                    engine.call("list_sessions")
                except BadRequest as error:
                    return str(error)

        with ThreadPoolExecutor(6) as threads:
            calls = [threads.submit(call) for _ in range(4)]
            closes = [threads.submit(engine.close) for _ in range(2)]
            assert [call.result(timeout=60) for call in calls] == ["the engine is closed"] * 4
            for close in closes:
                close.result(timeout=60)


def test_an_engine_that_is_not_open_says_so() -> None:
    """It refuses instead of waiting for a thread that does not run."""
    engine = fairlead.SyncEngine()
    with pytest.raises(BadRequest, match="the engine is not open: use it as `with SyncEngine"):
        engine.call("list_sessions")
    engine.close()
    with fairlead.SyncEngine() as other, pytest.raises(BadRequest, match="opened once"):
        other.__enter__()


def test_a_listener_that_calls_the_engine_is_refused() -> None:
    """It would wait for itself for ever."""
    refused: list[str] = []

    def listen(event: Event) -> None:
        try:
            engine.call("list_sessions")
        except BadRequest as error:
            refused.append(str(error))

    with fairlead.SyncEngine() as engine:
        assert engine.call("shell", {"command": ["true"]}, on_event=listen).success
    assert set(refused) == {"a listener may not call the engine: it would wait for itself"}
