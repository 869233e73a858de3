"""The MCP front end over the real engine: `fairlead mcp` as a client starts it, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from fairlead.tools.catalogue import specs
from tests.cli.trees import TREE, all_gone, pidfds, ready_pipe
from tests.front_ends import INITIALIZE, PROGRAM, SECONDS, OverMcp, environment, finish, started
from tests.mcp.conftest import TOKEN, text_of

Connection = AbstractAsyncContextManager[Client]


def over_stdio(cwd: Path, *flags: str) -> Connection:
    command, *rest = PROGRAM
    argv = [*rest, "mcp", "--cwd", str(cwd), *flags]
    return Client(StdioServerParameters(command=command, args=argv, env=environment()))


@asynccontextmanager
async def served(cwd: Path) -> AsyncIterator[str]:
    """`fairlead mcp --http`; its URL, as it prints it."""
    argv = [*PROGRAM, "mcp", "--http", "--cwd", str(cwd)]
    variables = {**environment(), "FAIRLEAD_TOKEN": TOKEN}
    with subprocess.Popen(argv, env=variables, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        first = await asyncio.to_thread(server.stdout.readline)
        try:
            yield first.split()[-1]
        finally:
            server.terminate()
            assert await asyncio.to_thread(server.wait, SECONDS) == 0


@asynccontextmanager
async def client_of(url: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
    ):
        yield client


@asynccontextmanager
async def over_http(cwd: Path) -> AsyncIterator[Client]:
    async with served(cwd) as url, client_of(url) as client:
        yield client


@pytest.fixture(params=[over_stdio, over_http], ids=["stdio", "http"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Connection:
    opened: Connection = request.param(tmp_path)
    return opened


async def test_a_whole_conversation(connection: Connection) -> None:
    """Tools with schemas and hints, a command, a session that is typed into, its output read."""
    async with asyncio.timeout(SECONDS), connection as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() == {spec.name for spec in specs()}
        assert all(tool.annotations and tool.title for tool in tools.values())
        assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())

        ran = await client.call_tool("exec_command", {"cmd": "echo hi; exit 7"})
        assert "Process exited with code 7" in text_of(ran)
        assert ran.is_error
        assert ran.structured_content["exit_code"] == 7
        fits(ran.structured_content, tools["exec_command"].output_schema)

        begun = await client.call_tool("exec_command", {"cmd": "cat", "tty": True})
        session_id = begun.structured_content["session_id"]
        typed = await client.call_tool("write_stdin", {"session_id": session_id, "chars": "ahoy\n"})
        assert "ahoy" in text_of(typed)
        uri = f"fairlead://sessions/{session_id}/output"
        assert uri in {resource.uri for resource in (await client.list_resources()).resources}
        [contents] = (await client.read_resource(uri)).contents
        assert "ahoy" in getattr(contents, "text", "")
        await client.call_tool("kill_session", {"session_id": session_id})
        [contents] = (await client.read_resource(uri)).contents
        assert "ahoy" in getattr(contents, "text", "")


def fits(structured: object, schema: dict[str, Any] | None) -> None:
    assert schema is not None
    jsonschema.validate(structured, schema)


async def test_every_answer_fits_its_schema(tmp_path: Path) -> None:
    """The structured content of each tool's answer is what its output schema says."""
    patch = "*** Begin Patch\n*** Add File: new\n+text\n*** End Patch"
    async with asyncio.timeout(SECONDS), over_stdio(tmp_path) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        begun = await client.call_tool("exec_command", {"cmd": "cat", "tty": True})
        session: dict[str, Any] = {"session_id": begun.structured_content["session_id"]}
        calls: dict[str, dict[str, Any]] = {
            "shell": {"command": ["true"]},
            "shell_command": {"command": "echo hi"},
            "exec_command": {"cmd": "echo hi"},
            "write_stdin": {**session, "chars": "x\n"},
            "apply_patch": {"input": patch},
            "run_in_session": {"command": "pwd"},
            "read_output": session,
            "wait_for": {**session, "quiet_ms": 10},
            "list_sessions": {},
            "resize": {**session, "rows": 10, "cols": 40},
            "kill_session": session,
        }
        assert calls.keys() == schemas.keys()
        for name, arguments in calls.items():
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, text_of(answer)
            fits(answer.structured_content, schemas[name])
            refused = await client.call_tool(name, {**arguments, "nonsense": 1})
            fits(refused.structured_content, schemas[name])


async def test_progress_of_a_real_command(connection: Connection) -> None:
    """A client that asked for it hears how many bytes came and the last line of them."""
    heard: list[tuple[float, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    script = "for i in 1 2 3 4 5 6 7 8; do echo tick $i; sleep 0.25; done"
    async with asyncio.timeout(SECONDS), connection as client:
        answer = await client.call_tool("exec_command", {"cmd": script}, progress_callback=listen)
    assert "tick 8" in text_of(answer)
    assert len(heard) >= 2
    assert all(message is not None and message.startswith("tick ") for _, message in heard)
    assert [value for value, _ in heard] == sorted({value for value, _ in heard})


async def test_cancelling_ends_the_tree(connection: Connection, tmp_path: Path) -> None:
    """A call that its client gives up takes its whole process tree with it, and only that."""
    ready = ready_pipe(tmp_path)
    async with asyncio.timeout(SECONDS), connection as client:
        keep = await client.call_tool("exec_command", {"cmd": "sleep 86400", "yield_time_ms": 250})
        arguments = {"cmd": TREE, "yield_time_ms": 30000}
        call = asyncio.create_task(client.call_tool("exec_command", arguments))
        tree = await asyncio.to_thread(pidfds, ready)
        call.cancel()
        assert await asyncio.to_thread(all_gone, tree)
        listed = await client.call_tool("list_sessions", {})
    states = {one["session_id"]: one["state"] for one in listed.structured_content["sessions"]}
    assert states[keep.structured_content["session_id"]] == "running"


@pytest.mark.parametrize("how", ["eof", signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_server_ends_everything(how: Any, tmp_path: Path) -> None:
    """However a stdio server ends, what it started ends; nothing but messages was on stdout."""
    ready = ready_pipe(tmp_path)
    with started("mcp", "--cwd", str(tmp_path), stderr=subprocess.PIPE) as program:
        front = OverMcp(program)
        front.open()
        # A child that writes to whatever descriptors it might have got from us.
        noisy = {"command": ["sh", "-c", "echo out; echo err >&2"]}
        assert "out" in front.call("shell", noisy).text
        front.call("exec_command", {"cmd": TREE, "yield_time_ms": 250})
        tree = pidfds(ready)
        if how == "eof":
            assert finish(program) == 0
        else:
            program.send_signal(how)
            assert program.wait(SECONDS) == (-how if how == signal.SIGKILL else 0)
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.read() == b""
        assert program.stderr.read() == b""
    assert all_gone(tree)


async def test_two_clients_are_two_agents(tmp_path: Path) -> None:
    """A client of the HTTP server neither sees nor reaches another one's sessions, and when it
    leaves, its own end."""
    ready = ready_pipe(tmp_path)
    async with asyncio.timeout(SECONDS), served(tmp_path) as url, client_of(url) as two:
        async with client_of(url) as one:
            begun = await one.call_tool("exec_command", {"cmd": TREE, "yield_time_ms": 250})
            tree = pidfds(ready)
            mine = {"session_id": begun.structured_content["session_id"]}
            assert (await two.call_tool("list_sessions", {})).structured_content["sessions"] == []
            for tool in ("write_stdin", "read_output", "kill_session"):
                answer = await two.call_tool(tool, mine)
                assert "unknown session_id" in text_of(answer)
            with pytest.raises(MCPError):
                await two.read_resource(f"fairlead://sessions/{mine['session_id']}/output")
        assert await asyncio.to_thread(all_gone, tree)


async def test_the_door_is_locked(tmp_path: Path) -> None:
    """Without the token, under a foreign name or from a foreign page, nobody gets in."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    accept = {"Accept": "application/json, text/event-stream"}
    good = {"Authorization": f"Bearer {TOKEN}", **accept}
    cases = [
        (good, 200),
        (accept, 401),
        ({**good, "Authorization": "Bearer wrong"}, 401),
        ({**good, "Host": "evil.example"}, 421),
        ({**good, "Origin": "http://evil.example"}, 403),
    ]
    async with asyncio.timeout(SECONDS), served(tmp_path) as url, httpx2.AsyncClient() as http:
        for headers, status in cases:
            assert (await http.post(url, json=body, headers=headers)).status_code == status


async def test_a_server_says_how_to_go_on(tmp_path: Path) -> None:
    """What `mcp --http` prints registers it with a client, and names a call to try."""
    argv = [*PROGRAM, "mcp", "--http", "--cwd", str(tmp_path)]
    with subprocess.Popen(argv, env=environment(), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = iter(server.stdout.readline, "")
        said = ""
        while "Ctrl-C" not in said:
            said += await asyncio.to_thread(next, lines)
        server.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(server.wait, SECONDS) == 0
    registration = json.loads(said[said.index("{") : said.index("}\n\n") + 1])
    entry = registration["mcpServers"]["fairlead"]
    assert entry["url"] in said.splitlines()[0]
    assert entry["headers"]["Authorization"].startswith("Bearer ")
    assert 'call exec_command \'{"cmd": "echo hello"}\'' in said


async def test_a_server_confines_as_it_was_told(tmp_path: Path) -> None:
    """Under read-only a command writes nothing, and the result says what it was kept from."""
    async with asyncio.timeout(SECONDS), over_stdio(tmp_path, "--sandbox", "read-only") as client:
        answer = await client.call_tool("exec_command", {"cmd": "touch ran"})
    assert answer.structured_content["status"] == "denied"
    [denial] = answer.structured_content["denials"]
    assert (denial["what"], denial["path"]) == ("write", str(tmp_path / "ran"))
    assert not (tmp_path / "ran").exists()


async def test_a_family_without_tools_has_none(tmp_path: Path) -> None:
    """`--tools` chooses the family that is offered."""
    async with asyncio.timeout(SECONDS), over_stdio(tmp_path, "--tools", "codex") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"shell", "exec_command", "write_stdin", "apply_patch", "read_output"} <= names
