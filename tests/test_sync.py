"""The engine for code without an event loop."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
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


def test_many_threads_call_at_once(tmp_path: Path) -> None:
    """Each gets its own answer, and none waits for another: each command waits for all others."""
    everybody = 'touch $0; until [ "$(ls | wc -l)" = 16 ]; do sleep 0.05; done; echo $0'
    options = fairlead.Options(cwd=tmp_path)
    with fairlead.SyncEngine(options) as engine, ThreadPoolExecutor(16) as threads:

        def call(number: int) -> str:
            command = ["sh", "-c", everybody, str(number)]
            done = engine.call("shell", {"command": command, "timeout_ms": 100_000})
            return str(done.structured["output"])

        assert list(threads.map(call, range(16))) == [f"{number}\n" for number in range(16)]


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


def test_every_tool_has_a_method() -> None:
    """The same typed calls as with a loop, each of which blocks."""
    with fairlead.SyncEngine() as engine:
        assert engine.shell(["echo", "hi"]).structured["output"] == "hi\n"
        session = engine.exec_command("cat", stdin="open", yield_time_ms=250)
        number = session.structured["session_id"]
        assert engine.write_stdin(number, "bye", eof=True).structured["output"] == "bye"
        assert engine.read_output(number).structured["output"] == "bye"
        engine.end_agent("default")
        assert engine.sessions() == []


def test_a_listener_hears_of_every_process_until_it_has_enough() -> None:
    """Once it has said so, it hears nothing more; after the end there is nothing to say."""
    heard: list[Event] = []
    with fairlead.SyncEngine() as engine:
        stop = engine.subscribe(heard.append)
        engine.shell(["true"])
        assert [type(one).__name__ for one in heard] == ["Started", "Ended"]
        stop()
        engine.shell(["true"])
        assert len(heard) == 2
    stop()


FORKED = """
import os, signal, sys
import fairlead
with fairlead.SyncEngine() as engine:
    engine.exec_command("sleep 300", yield_time_ms=250)
    if (child := os.fork()) == 0:
        signal.alarm(60)
        try:
            engine.shell(["true"])
        except fairlead.model.errors.BadRequest as error:
            print(error, flush=True)
        engine.close()
        sys.stdout.flush()
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print([one["state"] for one in engine.sessions()])
"""


def test_a_fork_has_no_engine() -> None:
    """Its thread stays with the parent: the child is told, and closing does the parent no harm."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, timeout=100)
    refusal = "this engine belongs to the process that was forked; open another"
    assert done.stdout.decode().splitlines() == [refusal, "7", "['running']"], done.stderr
