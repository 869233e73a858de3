"""The tools that work with a session that is there: write, wait, list, resize, end."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from fairlead import Engine
from fairlead.model.event import Event, Interaction
from fairlead.tools.model import ToolOutput

UP = "echo up; exec sleep 1000"


async def start(engine: Engine, script: str = UP, **more: Any) -> int:
    """A session of `sh` that has said its first line."""
    args = {"cmd": ["sh", "-c", script], "yield_time_ms": 0, **more}
    answer = await engine.call("exec_command", args)
    number = answer.structured["session_id"]
    assert isinstance(number, int)
    if not answer.structured["output"]:
        await wait(engine, number, bytes=1)
    return number


async def wait(engine: Engine, number: int, **condition: Any) -> ToolOutput:
    return await engine.call("wait_for", {"session_id": number, "timeout_ms": 30_000, **condition})


async def write(engine: Engine, number: int, chars: str = "", **more: Any) -> ToolOutput:
    return await engine.call("write_stdin", {"session_id": number, "chars": chars, **more})


# --- write_stdin ---------------------------------------------------------------------------


async def test_a_write_answers_as_exec_command_does(engine: Engine) -> None:
    """The same lines, with the output since the last answer."""
    number = await start(engine, "echo up; cat", stdin="open")
    answer = await write(engine, number, "hello\n")
    assert re.fullmatch(
        r"Chunk ID: [0-9a-f]{6}\n"
        r"Wall time: \d+\.\d{4} seconds\n"
        rf"Process running with session ID {number}\n"
        r"Original token count: 2\n"
        r"Output:\n"
        r"hello\n",
        answer.content,
    )
    assert answer.structured["waiting_for_input"] is True


async def test_no_input_was_asked_for(engine: Engine) -> None:
    """A command with an empty stdin takes no text; the refusal says how to get one that does."""
    number = await start(engine)
    answer = await write(engine, number, "x")
    assert answer.content == (
        "stdin is closed for this session; rerun exec_command with tty=true, or with "
        'stdin="open", to keep it open'
    )
    assert not answer.success


async def test_a_closed_input_takes_no_more(engine: Engine) -> None:
    """After `eof` the session goes on, and further text is refused."""
    number = await start(engine, "echo up; cat; exec sleep 1000", stdin="open")
    assert (await write(engine, number, eof=True)).structured["status"] == "running"
    assert (await write(engine, number, "x")).content == "stdin is closed for this session"


@pytest.mark.parametrize("tool", ["write_stdin", "wait_for", "resize", "kill_session"])
async def test_a_session_that_never_was(engine: Engine, tool: str) -> None:
    """Each tool names the number, and the sessions that there are."""
    needed: dict[str, dict[str, Any]] = {
        "wait_for": {"exit": True},
        "resize": {"rows": 1, "cols": 1},
    }
    more = needed.get(tool, {})
    answer = await engine.call(tool, {"session_id": 4711, **more})
    assert answer.content == (
        "unknown session_id 4711: it never existed or is forgotten; there is no living session"
    )
    number = await start(engine)
    if number != 4711:
        answer = await engine.call(tool, {"session_id": 4711, **more})
        assert answer.content.endswith(f"living sessions: {number}")


async def test_the_session_of_another_agent(engine: Engine) -> None:
    """It does not exist for this one: neither its number nor its output."""
    number = await start(engine)
    for tool in ("write_stdin", "read_output", "kill_session"):
        answer = await engine.call(tool, {"session_id": number}, agent="other")
        assert answer.content.startswith(f"unknown session_id {number}: ")
        assert "living sessions" not in answer.content
    assert (await engine.call("list_sessions", agent="other")).content == "no sessions"


async def test_an_end_that_was_not_reported_yet(engine: Engine) -> None:
    """The next look has the rest of the output and the ending; after that it is an error which
    names the ending and where the output still is."""
    number = await start(engine, "echo up; read -r x; echo bye; exit 3", stdin="open")
    ended = asyncio.Event()
    engine.session(number).on_change.append(
        lambda session: None if session.running else ended.set()
    )
    engine.session(number).write(b"\n")
    await asyncio.wait_for(ended.wait(), 30)
    look = await write(engine, number)
    assert (look.structured["exit_code"], look.structured["output"]) == (3, "bye\n")
    for chars in ("", "x"):
        answer = await write(engine, number, chars)
        assert answer.content == (
            f"session {number} has ended (exit code 3) and all its output was returned; "
            "read_output still has it"
        )
        assert not answer.success


async def test_text_for_a_session_that_has_just_ended(engine: Engine) -> None:
    """The answer is its ending, with a warning that the text went nowhere."""
    number = await start(engine, "echo up; read -r x; exit 3", stdin="open")
    ended = asyncio.Event()
    engine.session(number).on_change.append(
        lambda session: None if session.running else ended.set()
    )
    engine.session(number).write(b"\n")
    await asyncio.wait_for(ended.wait(), 30)
    answer = await write(engine, number, "too late\n")
    assert answer.structured["exit_code"] == 3
    assert answer.structured["warnings"] == ["the session had ended, so nothing was written to it"]


async def test_a_look_at_a_silent_session_takes_its_time(engine: Engine) -> None:
    """An empty look waits for seconds, whatever it asks for: polling fast is pointless. It ends
    with the session."""
    number = await start(engine)
    look = asyncio.create_task(write(engine, number, yield_time_ms=0))
    done, _ = await asyncio.wait([look], timeout=1.0)
    assert not done
    await engine.call("kill_session", {"session_id": number})
    assert (await look).structured["exit_code"] == 143


async def test_typing_and_looking_are_events(engine: Engine) -> None:
    """Whoever listens hears what was typed; a look without text has no data."""
    heard: list[Event] = []
    engine.subscribe(heard.append)
    number = await start(engine, "echo up; cat", stdin="open")
    await write(engine, number, "hello\n")
    await write(engine, number)
    await write(engine, number, eof=True)
    interactions = [event.data for event in heard if isinstance(event, Interaction)]
    assert interactions == [b"hello\n", b"", b""]


# --- wait_for ------------------------------------------------------------------------------


async def test_waiting_for_the_end(engine: Engine) -> None:
    """`exit` is met by the end; the text begins with what was met, then the usual lines."""
    number = await start(engine, "echo up; read -r x; echo bye; exit 3", stdin="open")
    waiting = asyncio.create_task(wait(engine, number, exit=True))
    await asyncio.sleep(0)
    engine.session(number).write(b"\n")
    answer = await waiting
    assert answer.content.startswith("Met: exit\nChunk ID: ")
    assert answer.structured["met"] == "exit"
    assert (answer.structured["exit_code"], answer.structured["output"]) == (3, "bye\n")


@pytest.mark.parametrize("tty", [False, True])
async def test_waiting_for_a_pattern(engine: Engine, tty: bool) -> None:
    """`^` and `$` are the ends of a line, on a pipe as on a terminal; where it was is told."""
    script = "stty -echo 2>/dev/null; echo up; read -r x; echo not ready; echo ready; cat"
    number = await start(engine, script, **({"tty": True} if tty else {"stdin": "open"}))
    waiting = asyncio.create_task(wait(engine, number, pattern=r"^re\w+$"))
    await write_when_free(engine, number)
    answer = await waiting
    assert answer.content.startswith("Met: pattern (ready)\n")
    assert answer.structured["match"] == "ready"
    log = engine.session(number).log.tail_bytes(1000)
    assert answer.structured["match_offset"] == log.rindex(b"ready")


async def write_when_free(engine: Engine, number: int) -> None:
    """Type past the call that waits: calls on one session follow each other."""
    await asyncio.sleep(0)
    engine.session(number).write(b"\n")


async def test_waiting_for_bytes_quiet_and_the_clock(engine: Engine) -> None:
    """So much new output; nothing for a while; nothing of it in time."""
    number = await start(engine, "echo up; read -r x; echo 123456789; cat", stdin="open")
    waiting = asyncio.create_task(wait(engine, number, bytes=10))
    await write_when_free(engine, number)
    answer = await waiting
    assert (answer.structured["met"], answer.structured["output"]) == ("bytes", "123456789\n")
    assert (await wait(engine, number, quiet_ms=100)).structured["met"] == "quiet"
    late = await wait(engine, number, pattern="never", timeout_ms=100)
    assert late.structured["met"] == "timeout"
    assert late.success
    assert (await wait(engine, number, pattern="never", timeout_ms=0)).structured[
        "met"
    ] == "timeout"


async def test_waiting_for_a_port(engine: Engine) -> None:
    """It is met when something in the process tree listens there."""
    import socket
    import sys

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = (
        "import socket, sys; print('up', flush=True); input(); "
        f"s = socket.create_server(('127.0.0.1', {port})); input()"
    )
    args = {"cmd": [sys.executable, "-c", code], "stdin": "open", "yield_time_ms": 0}
    number = (await engine.call("exec_command", args)).structured["session_id"]
    assert (await wait(engine, number, port=port, timeout_ms=0)).structured["met"] == "timeout"
    engine.session(number).write(b"\n")
    assert (await wait(engine, number, port=port)).structured["met"] == "port"


async def test_a_bad_pattern_to_wait_for(engine: Engine) -> None:
    """The refusal shows the pattern as it was written."""
    answer = await engine.call("wait_for", {"session_id": 1, "pattern": "a$(b"})
    assert answer.content.startswith("wait_for.pattern: not a regular expression (RE2 syntax): ")
    assert "a$(b" in answer.content


# --- list_sessions, kill_session, resize ---------------------------------------------------


async def test_the_list(engine: Engine) -> None:
    """One line for each session, running or ended, whatever its command looks like."""
    ended = await engine.call("shell", {"command": ["sh", "-c", "exit 2"]})
    number = await start(engine, "echo up\n\nexec sleep 1000")
    answer = await engine.call("list_sessions")
    first, second = answer.structured["sessions"]
    assert (first["state"], first["exit_code"]) == ("exited", 2)
    assert first["ended"] == "exit code 2"
    assert (second["session_id"], second["state"], second["tty"]) == (number, "running", False)
    assert second["pid"] > 1
    assert second["total_bytes"] == 3
    lines = answer.content.splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("sh -c 'echo up exec sleep 1000'")
    assert not ended.success
    running = await engine.call("list_sessions", {"include_exited": False})
    assert [one["session_id"] for one in running.structured["sessions"]] == [number]


async def test_ending_a_session(engine: Engine) -> None:
    """It is a success that it ended; who and why is on record; the output stays readable."""
    number = await start(engine)
    answer = await engine.call("kill_session", {"session_id": number, "reason": "no longer needed"})
    assert answer.success
    assert answer.structured["exit_code"] == 143
    assert answer.structured["signal"] == "SIGTERM"
    assert answer.structured["killed_by"] == "kill_session: no longer needed"
    again = await write(engine, number)
    assert "signal SIGTERM, ended by kill_session: no longer needed" in again.content
    kept = await engine.call("read_output", {"session_id": number})
    assert kept.structured["output"] == "up\n"
    assert (await engine.call("kill_session", {"session_id": number})).success


async def test_ending_what_a_command_left_behind(engine: Engine) -> None:
    """A child that outlived its command ends with the session, also one that left the group."""
    script = "setsid sleep 1000 & sleep 1000 & echo done"
    answer = await engine.call("exec_command", {"cmd": script, "login": False})
    assert answer.structured["descendants_alive"] is True
    (only,) = engine.sessions()
    killed = await engine.call("kill_session", {"session_id": only["session_id"]})
    assert "descendants_alive" not in killed.structured
    assert engine.sessions()[0]["state"] == "exited"


@pytest.mark.parametrize(
    ("given", "code", "name"),
    [("INT", 130, "SIGINT"), (9, 137, "SIGKILL"), (36, 164, "SIGRTMIN+2")],
)
async def test_ending_by_a_signal(engine: Engine, given: Any, code: int, name: str) -> None:
    """By name or by number, real-time ones too."""
    number = await start(engine)
    await engine.call("kill_session", {"session_id": number, "signal": given})
    answer = await wait(engine, number, exit=True)
    assert (answer.structured["exit_code"], answer.structured["signal"]) == (code, name)
    assert answer.structured["killed_by"] == f"kill_session ({name})"


async def test_a_signal_that_is_survived(engine: Engine) -> None:
    """The session goes on, and its later end is not put down to the signal."""
    script = "trap 'echo caught' USR1; echo up; read -r x; read -r y; exit 0"
    number = await start(engine, script, stdin="open")
    answer = await engine.call("kill_session", {"session_id": number, "signal": "USR1"})
    assert answer.success
    assert answer.structured["status"] == "running"
    engine.session(number).write(b"\n\n")
    ended = await wait(engine, number, exit=True)
    assert "killed_by" not in ended.structured
    assert "caught\n" in (await engine.call("read_output", {"session_id": number})).content


async def test_a_pipe_has_no_size(engine: Engine) -> None:
    """Only a terminal can be resized."""
    number = await start(engine)
    answer = await engine.call("resize", {"session_id": number, "rows": 10, "cols": 20})
    assert answer.content == "the session has no terminal to resize; start it with tty=true"
