"""The server as a child of its client: protocol only, and an end that leaves nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from fairlead.mcp import stdio
from tests.mcp.conftest import text_of
from tests.mcp.fake_engine import FOREVER, HELLO

SECONDS = 15.0

Server = subprocess.Popen[bytes]


def message(method: str, params: dict[str, Any], number: int | None = None) -> bytes:
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        body["id"] = number
    return json.dumps(body).encode() + b"\n"


INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "0"},
}
OPENING = message("initialize", INITIALIZE, 1) + message("notifications/initialized", {})
CALL_FOREVER = {"name": "exec_command", "arguments": {"cmd": FOREVER}}


@pytest.fixture
def server(stdio_command: StdioServerParameters) -> Iterator[Server]:
    argv = [stdio_command.command, *stdio_command.args]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, env=stdio_command.env, stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        yield process
        process.kill()


def ask(server: Server, sent: bytes) -> dict[str, Any]:
    """Send, and read the one line that comes back."""
    say(server, sent)
    assert server.stdout is not None
    answer: dict[str, Any] = json.loads(server.stdout.readline())
    return answer


def say(server: Server, sent: bytes) -> None:
    assert server.stdin is not None
    server.stdin.write(sent)
    server.stdin.flush()


def wait_for(journal: Path, what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while what not in journal.read_text().splitlines():
        assert time.monotonic() < deadline, f"never noted: {what}"
        time.sleep(0.01)


async def test_a_handshake_client_is_served_too(stdio_command: StdioServerParameters) -> None:
    """A client of the handshake era has the same conversation."""
    async with Client(stdio_command, mode="legacy") as client:
        result = await client.call_tool("exec_command", {"cmd": HELLO})
        assert client.protocol_version == "2025-11-25"
    assert "hello" in text_of(result)


def test_only_protocol_is_on_stdout(server: Server, journal: Path) -> None:
    """What else is printed in the process goes to stderr."""
    assert ask(server, OPENING)["id"] == 1
    rest, errors = server.communicate(timeout=SECONDS)
    assert rest == b""
    assert b"a stray line" in errors


def test_closed_stdin_ends_everything(server: Server, journal: Path) -> None:
    """When the client closes stdin, running calls end, the engine closes, and the exit is 0."""
    ask(server, OPENING)
    say(server, message("tools/call", CALL_FOREVER, 2))
    wait_for(journal, "started for default")
    server.communicate(timeout=SECONDS)
    assert server.returncode == 0
    assert journal.read_text().splitlines()[-2:] == ["tree ended", "closed"]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_everything(server: Server, journal: Path, signum: signal.Signals) -> None:
    """SIGTERM and SIGINT end calls and engine while stdin is still open; twice does no harm."""
    ask(server, OPENING)
    say(server, message("tools/call", CALL_FOREVER, 2))
    wait_for(journal, "started for default")
    server.send_signal(signum)
    server.send_signal(signum)
    assert server.wait(SECONDS) == 0
    assert journal.read_text().splitlines()[-2:] == ["tree ended", "closed"]
    assert server.stderr is not None
    assert b"Traceback" not in server.stderr.read()


def test_a_client_that_reads_no_more_is_gone(server: Server, journal: Path) -> None:
    """When stdout has no reader any more, the server ends although stdin is open."""
    ask(server, OPENING)
    assert server.stdout is not None
    server.stdout.close()
    say(server, message("ping", {}, 2))
    wait_for(journal, "closed")
    assert server.wait(SECONDS) == 0


def test_what_is_no_message_is_answered(server: Server) -> None:
    """A line that is not JSON-RPC gets a parse error, and the connection goes on."""
    ask(server, OPENING)
    assert ask(server, b"what?\n")["error"]["code"] == -32700
    assert ask(server, b'\n{"half": \xff}\n')["error"]["code"] == -32700
    assert ask(server, message("ping", {}, 2)) == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_arguments_of_any_shape_reach_the_engine(server: Server) -> None:
    """Arguments that are no object are judged by the engine, which understands JSON text."""
    ask(server, OPENING)
    for arguments in ('{"cmd": "echo hello"}', [1], 7, None):
        params = {"name": "exec_command", "arguments": arguments}
        result = ask(server, message("tools/call", params, 2))["result"]
        [block] = result["content"]
        assert block["text"]
        assert ("hello" in block["text"]) is isinstance(arguments, str)
        assert result["isError"] is not isinstance(arguments, str)


@pytest.mark.parametrize("number", [7, "seven"])
def test_who_asked_hears_of_a_parse_error(server: Server, number: int | str) -> None:
    """A request that can't be read (here for its version) is answered under its id."""
    ask(server, OPENING)
    asked = json.dumps({"jsonrpc": "1.0", "method": "tools/list", "id": number})
    answer = ask(server, asked.encode() + b"\n")
    assert (answer["id"], answer["error"]["code"]) == (number, -32700)


@pytest.mark.parametrize("half", [b"\\ud800", b"\xff"])
def test_what_is_not_text_is_for_the_tool_to_judge(server: Server, half: bytes) -> None:
    """A lone surrogate, or a byte that is not UTF-8, reaches the engine as what it is: it is never
    made into another command, and no protocol error hides whose mistake it was."""
    ask(server, OPENING)
    call = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"exec_command",'
    answer = ask(server, call + b'"arguments":{"cmd":"' + half + b'"}}}\n')
    assert answer["result"]["isError"] is True


class _Interrupted:
    """A server that is stopped while a message is on its way into it."""

    def create_initialization_options(self) -> None:
        return None

    async def run(self, *_: object) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ExceptionGroup("tasks", [anyio.BrokenResourceError()]) from None


async def test_a_stop_amid_a_message_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that nobody takes any more, because we stopped, is not our mistake."""
    monkeypatch.setattr(stdio, "build_server", lambda *_, **__: _Interrupted())
    engine: Any = None
    stop = asyncio.Event()
    ends = [*os.pipe(), *os.pipe()]
    try:
        serving = asyncio.create_task(stdio._serve(engine, "all", ends[0], ends[3], stop))
        await asyncio.sleep(0.05)
        stop.set()
        async with asyncio.timeout(SECONDS):
            os.close(ends.pop(1))  # nobody writes: the reader's thread can leave
            await serving
    finally:
        for fd in ends:
            os.close(fd)
