"""The engine as a whole: its events, its end, its agents, and calls at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead.model.errors import BadRequest, UnknownSession
from fairlead.model.event import Chunk, Ended, Event, Interaction, Started
from fairlead.model.limits import Capacity
from fairlead.testing import FakeProcess, FakeSpawner
from fairlead.tools.model import ToolOutput
from tests.session.house import is_running


@pytest.fixture
async def engine() -> AsyncIterator[fairlead.Engine]:
    async with fairlead.Engine() as opened:
        yield opened


def tree_of(engine: fairlead.Engine, answer: ToolOutput) -> list[int]:
    """Every process of a session that an answer names."""
    process = engine.session(answer.structured["session_id"]).process
    assert process is not None
    return process.descendants()


def names(events: list[Event]) -> list[str]:
    """What happened, chunks that follow each other as one."""
    found: list[str] = []
    for event in events:
        name = type(event).__name__
        if found[-1:] != [name] or name != "Chunk":
            found.append(name)
    return found


async def ended(events: list[Event]) -> None:
    """Until the last event is an end."""
    async with asyncio.timeout(60):
        while not events or not isinstance(events[-1], Ended):
            await asyncio.sleep(0.01)


# --- events --------------------------------------------------------------------------------


async def test_one_beginning_and_one_end_for_a_call(engine: fairlead.Engine) -> None:
    """A command that ends within its call: everything has been told when that returns."""
    events: list[Event] = []
    argv = ["sh", "-c", "echo out; exit 3"]
    await engine.call("shell", {"command": argv}, call_id="mine", on_event=events.append)
    assert names(events) == ["Started", "Chunk", "Ended"]
    started, end = events[0], events[-1]
    assert isinstance(started, Started)
    assert isinstance(end, Ended)
    assert (started.call_id, started.argv, started.agent) == ("mine", tuple(argv), "default")
    assert (end.ending.code, end.total_bytes) == (3, 4)


async def test_a_session_is_followed_to_its_end_in_the_background(engine: fairlead.Engine) -> None:
    """The listener of a call hears its process also after the call, typing included."""
    events: list[Event] = []
    cmd = {"cmd": "read x; echo got $x", "stdin": "open", "login": False, "yield_time_ms": 250}
    done = await engine.call("exec_command", cmd, on_event=events.append)
    number = done.structured["session_id"]
    await engine.call("write_stdin", {"session_id": number, "chars": "hi\n"})
    await ended(events)
    assert names(events) == ["Started", "Interaction", "Chunk", "Ended"]
    typed = next(event for event in events if isinstance(event, Interaction))
    assert (typed.data, typed.session_id) == (b"hi\n", number)


@pytest.mark.parametrize("how", ["timeout", "kill", "eviction", "close", "agent"])
async def test_exactly_one_end_however_it_comes(how: str) -> None:
    """Timeout, kill, eviction, the engine's or the agent's end: one Ended that names it."""
    events: list[Event] = []
    options = fairlead.Options(capacity=Capacity(live=1, warn_at=1, protected=0))
    async with fairlead.Engine(options) as engine:
        engine.subscribe(events.append)
        if how == "timeout":
            await engine.call("shell", {"command": ["sleep", "300"], "timeout_ms": 100})
        else:
            start = {"cmd": ["sleep", "300"], "yield_time_ms": 250}
            done = await engine.call("exec_command", start)
            number = done.structured["session_id"]
            if how == "kill":
                await engine.call("kill_session", {"session_id": number, "reason": "a test"})
            elif how == "eviction":
                await engine.call("shell", {"command": ["true"]})
            elif how == "agent":
                await engine.end_agent("default")
    by = {
        "timeout": "timeout after 0.1 s",
        "kill": "kill_session: a test",
        "eviction": "eviction: too many sessions, and this was the least recently used",
        "close": "the engine was closed",
        "agent": "the agent left",
    }
    first = next(event for event in events if isinstance(event, Started))
    ends = [e for e in events if isinstance(e, Ended) and e.session_id == first.session_id]
    assert [end.ending.killed_by for end in ends] == [by[how]]
    assert names(events).count("Started") == names(events).count("Ended")


async def test_a_live_shell_that_is_replaced_has_two_lives(engine: fairlead.Engine) -> None:
    """`exit 7` ends one process and begins another: one Started and one Ended for each."""
    events: list[Event] = []
    engine.subscribe(events.append)
    for code in (7, 0):
        done = await engine.call("run_in_session", {"command": f"exit {code}", "shell": "bash"})
        assert done.structured["exit_code"] == code
    kinds = [name for name in names(events) if name != "Chunk"]
    assert kinds == ["Started", "Ended", "Started", "Ended", "Started"]
    chunks = [event for event in events if isinstance(event, Chunk)]
    for before, after in pairwise(chunks):
        assert after.offset == before.offset + len(before.data)


async def test_listeners_of_calls_that_start_nothing_are_forgotten(engine: fairlead.Engine) -> None:
    """A refused call, a look and an ended command leave no listener behind."""
    hub = engine._open().toolbox.hub
    for tool, arguments in (
        ("list_sessions", {}),
        ("no_such_tool", {}),
        ("shell", {"command": ["/no/such/program"]}),
        ("shell", {"command": ["true"]}),
    ):
        await engine.call(tool, arguments, on_event=lambda event: None)
    assert hub._subscriptions == []


async def test_a_listener_that_fails_does_not_fail_the_call(engine: fairlead.Engine) -> None:
    """Its mistake is reported to the loop, and the command is carried out."""
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: reported.append(what))

    def fails(event: Event) -> None:
        raise ValueError("a mistake")

    done = await engine.call("shell", {"command": ["echo", "hi"]}, on_event=fails)
    assert done.success
    assert len(reported) == 3


# --- the end -------------------------------------------------------------------------------


async def test_closing_ends_everything() -> None:
    """Sessions, their background children, and whoever ignores a polite request."""
    engine = await fairlead.Engine().__aenter__()
    script = "trap '' TERM HUP; setsid sleep 300 & echo $$ $!; while :; do sleep 0.1; done"
    cmd = {"cmd": ["bash", "-c", script], "yield_time_ms": 500}
    done = await engine.call("exec_command", cmd)
    pids = tree_of(engine, done)
    assert len(pids) >= len(done.structured["output"].split())
    assert all(map(is_running, pids))
    await engine.close()
    assert not any(map(is_running, pids))


async def test_closing_twice_is_fine_and_both_wait() -> None:
    """Whoever closes second returns when everything is gone, not before."""
    engine = await fairlead.Engine().__aenter__()
    cmd = {"cmd": ["bash", "-c", "trap '' TERM; echo $$; while :; do sleep 0.1; done"]}
    done = await engine.call("exec_command", {**cmd, "yield_time_ms": 500})
    pids = tree_of(engine, done)

    async def close() -> bool:
        await engine.close()
        return any(map(is_running, pids))

    assert list(await asyncio.gather(close(), close(), close())) == [False] * 3
    await engine.close()


async def test_a_close_that_is_cancelled_closes_all_the_same() -> None:
    """The caller is cancelled in the end, but nothing is left running."""
    engine = await fairlead.Engine().__aenter__()
    script = "trap '' TERM; echo $$; while :; do sleep 0.1; done"
    done = await engine.call("exec_command", {"cmd": ["bash", "-c", script], "yield_time_ms": 500})
    pids = tree_of(engine, done)
    assert pids
    closing = asyncio.create_task(engine.close())
    for _ in range(3):
        await asyncio.sleep(0.05)
        closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert not any(map(is_running, pids))


async def test_calls_after_the_end_are_refused() -> None:
    """A closed engine says so, as one says that was never opened."""
    engine = fairlead.Engine()
    with pytest.raises(BadRequest, match="the engine is not open: use it as `async with"):
        await engine.call("list_sessions")
    async with engine:
        pass
    with pytest.raises(BadRequest, match=r"^the engine is closed$"):
        await engine.call("list_sessions")
    with pytest.raises(BadRequest, match="an engine is opened once"):
        await engine.__aenter__()


async def test_calls_on_their_way_are_answered_when_the_engine_closes() -> None:
    """They get an answer, and the caller's own task is not cancelled."""
    engine = await fairlead.Engine().__aenter__()

    async def caller() -> str:
        done = await engine.call("shell", {"command": ["sleep", "300"], "timeout_ms": 600_000})
        await asyncio.sleep(0)  # a task that had been cancelled would end here
        assert not done.success
        return done.content

    calls = [asyncio.create_task(caller()) for _ in range(3)]
    while len(engine.sessions()) < 3:
        await asyncio.sleep(0.01)
    await engine.close()
    assert await asyncio.gather(*calls) == ["the engine was closed during this call"] * 3


# --- agents --------------------------------------------------------------------------------


async def test_agents_do_not_see_each_other(engine: fairlead.Engine) -> None:
    """Each tool that takes a session refuses another agent's as if it never existed."""
    start = {"cmd": ["sleep", "300"], "yield_time_ms": 250}
    done = await engine.call("exec_command", start, agent="a")
    number, chunk = done.structured["session_id"], done.structured["chunk_id"]
    for tool, more in (
        ("write_stdin", {}),
        ("wait_for", {"exit": True}),
        ("read_output", {}),
        ("kill_session", {}),
        ("resize", {"rows": 1, "cols": 1}),
        ("run_in_session", {"command": "true"}),
    ):
        found = await engine.call(tool, {"session_id": number, **more}, agent="b")
        assert found.content.startswith(f"unknown session_id {number}: "), tool
    found = await engine.call("read_output", {"chunk_id": chunk}, agent="b")
    assert found.content.startswith(f"unknown chunk_id {chunk}: ")
    assert engine.sessions("b") == []
    assert engine.session(number, agent="a").running
    with pytest.raises(UnknownSession):
        engine.session(number, agent="b")


async def test_an_agent_that_left_leaves_nothing(engine: fairlead.Engine) -> None:
    """Its processes end and its sessions are forgotten; another's go on."""
    start = {"cmd": ["sleep", "300"], "yield_time_ms": 250}
    mine = await engine.call("exec_command", start, agent="a")
    other = await engine.call("exec_command", start, agent="b")
    process = engine.session(mine.structured["session_id"], agent="a").process
    assert process is not None
    pid = process.pid
    await engine.end_agent("a")
    assert not is_running(pid)
    assert engine.sessions("a") == []
    assert engine.session(other.structured["session_id"], agent="b").running


# --- at the same time ----------------------------------------------------------------------


# Ends when six of it run, and only then.
ALL_SIX = 'mktemp -p . >/dev/null; until [ "$(ls | wc -l)" = 6 ]; do sleep 0.05; done'


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("shell", {"command": ["sh", "-c", ALL_SIX], "timeout_ms": 100_000}),
        ("exec_command", {"cmd": ALL_SIX, "login": False, "yield_time_ms": 30_000}),
        ("run_in_session", {"command": ALL_SIX, "shell": "bash", "timeout_ms": 100_000}),
    ],
)
async def test_six_calls_run_at_the_same_time(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    """Calls do not wait for each other: here each command waits for all others, so that one
    after the other they would never end."""
    async with fairlead.Engine(fairlead.Options(cwd=tmp_path)) as engine:
        calls = await asyncio.gather(*(engine.call(tool, arguments) for _ in range(6)))
        assert [call.structured.get("exit_code") for call in calls] == [0] * 6


async def test_calls_on_one_session_follow_each_other() -> None:
    """Two writers of a session get their own answers; another session is not held up."""

    async def play(process: FakeProcess) -> int:
        while data := await process.read():
            await asyncio.sleep(0.05)
            process.say(b"<" + data + b">")
        return 0

    async with fairlead.Engine(spawner=FakeSpawner(play)) as engine:
        start = {"cmd": ["echo"], "stdin": "open", "yield_time_ms": 250}
        one, two = [
            (await engine.call("exec_command", start)).structured["session_id"] for _ in range(2)
        ]

        async def write(number: int, chars: str) -> str:
            done = await engine.call("write_stdin", {"session_id": number, "chars": chars})
            return str(done.structured["output"])

        said = [f"{n}" for n in range(5)]
        answers = await asyncio.gather(*(write(one, text) for text in said), write(two, "x"))
        assert answers == [*(f"<{text}>" for text in said), "<x>"]


async def test_a_second_kind_of_spawner_fits() -> None:
    """Sessions, input, signals, waiting, ports, timeouts: all through the protocols alone."""

    async def play(process: FakeProcess) -> int:
        process.say("ready\n")
        if process.env.argv[0] == "stays":
            await asyncio.Event().wait()
        if process.env.argv[0] == "listens":
            process.ports.add(8080)
        while data := await process.read():
            process.say(data.upper())
        return 5

    async with fairlead.Engine(spawner=FakeSpawner(play)) as engine:
        start = {"cmd": ["listens"], "tty": True, "yield_time_ms": 30_000}
        done = await engine.call("exec_command", start)
        assert done.structured["waiting_for_input"] is True
        number = done.structured["session_id"]
        done = await engine.call("write_stdin", {"session_id": number, "chars": "abc"})
        assert done.structured["output"] == "ABC"
        done = await engine.call("wait_for", {"session_id": number, "port": 8080})
        assert done.structured["met"] == "port"
        assert (await engine.call("resize", {"session_id": number, "rows": 9, "cols": 9})).success
        done = await engine.call("write_stdin", {"session_id": number, "eof": True})
        assert done.structured["exit_code"] == 5
        done = await engine.call("shell", {"command": ["stays"], "timeout_ms": 100})
        assert (done.structured["timed_out"], done.structured["exit_code"]) == (True, 124)
        done = await engine.call("read_output", {"session_id": number, "grep": "ABC"})
        assert done.structured["matches"] == 1


# --- after the end -------------------------------------------------------------------------


async def test_an_ended_session_answers(engine: fairlead.Engine) -> None:
    """Exit, signal, who ended it, and all of its output; typing into it is refused."""
    start = {"cmd": ["sh", "-c", "echo out; exec sleep 300"], "yield_time_ms": 250}
    number = (await engine.call("exec_command", start)).structured["session_id"]
    kill = {"session_id": number, "signal": "KILL", "reason": "too slow"}
    done = await engine.call("kill_session", kill)
    assert done.structured["killed_by"] == "kill_session: too slow (SIGKILL)"
    assert (done.structured["signal"], done.structured["exit_code"]) == ("SIGKILL", 137)
    (listed,) = (await engine.call("list_sessions")).structured["sessions"]
    assert listed["ended"] == "signal SIGKILL, ended by kill_session: too slow (SIGKILL)"
    read = await engine.call("read_output", {"session_id": number})
    assert read.structured["output"] == "out\n"
    refused = await engine.call("write_stdin", {"session_id": number, "chars": "x"})
    assert refused.content.startswith(f"session {number} has ended (signal SIGKILL, ended by ")


async def test_a_killed_live_shell_stays_dead(engine: fairlead.Engine) -> None:
    """kill_session during a command ends the shell for good; the next call gets a new one."""
    await engine.call("run_in_session", {"command": "true", "shell": "bash"})
    (shell,) = engine.sessions()
    arguments = {"command": "sleep 300", "shell": "bash", "timeout_ms": 600_000}
    call = asyncio.create_task(engine.call("run_in_session", arguments))
    session = engine.session(shell["session_id"])
    while session.process is None or len(session.process.descendants()) < 2:
        await asyncio.sleep(0.01)
    await engine.call("kill_session", {"session_id": shell["session_id"]})
    await call
    assert not session.running
    done = await engine.call("run_in_session", {"command": "echo hi", "shell": "bash"})
    assert done.structured["output"] == "hi\n"
    assert done.structured["session_id"] != shell["session_id"]


@pytest.mark.parametrize("arguments", [5, [1], b"{}", object()])
async def test_arguments_of_no_known_shape_are_refused(
    engine: fairlead.Engine, arguments: Any
) -> None:
    """Whatever a program passes by mistake, it gets an answer and no exception."""
    answer = await engine.call("shell", arguments)
    assert answer.content.startswith("shell: arguments must be a JSON object, got ")
    assert answer.structured["error"]["kind"] == "bad_request"
