"""The HTTP server: who gets in, whose sessions are whose, and what ends when."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from fairlead.mcp.http import security, serve_http, url_of
from fairlead.model.errors import BadRequest
from tests.mcp.conftest import TOKEN, Served, serving, text_of
from tests.mcp.fake_engine import FOREVER, HELLO, FakeEngine

SECONDS = 15.0

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALL_FOREVER = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "exec_command", "arguments": {"cmd": FOREVER}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}
GOOD = {"Authorization": f"Bearer {TOKEN}", **ACCEPT}


async def post(served: Served, headers: dict[str, str], path: str = "") -> httpx2.Response:
    async with httpx2.AsyncClient() as client:
        return await client.post(served.url + path, json=PING, headers=headers)


@pytest.mark.parametrize(
    "credential",
    [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"],
)
async def test_without_the_token_nobody_gets_in(credential: str | None) -> None:
    """Each request without the right bearer token is answered 401 with a challenge."""
    headers = ACCEPT if credential is None else {"Authorization": credential, **ACCEPT}
    async with serving() as served:
        response = await post(served, headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer ")
    assert TOKEN not in response.text


async def test_the_scheme_is_read_in_any_case() -> None:
    """`bearer` is as good as `Bearer`, as HTTP says."""
    async with serving() as served:
        response = await post(served, {"Authorization": f"bearer {TOKEN}", **ACCEPT})
    assert response.status_code == 400  # let in; only a session is missing


async def test_two_credentials_are_none() -> None:
    """A request with two Authorization headers is refused, whichever is right."""
    both = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer other")]
    async with serving() as served, httpx2.AsyncClient() as client:
        response = await client.post(served.url, json=PING, headers=[*both, *ACCEPT.items()])
    assert response.status_code == 401


async def test_there_is_one_path() -> None:
    """Any other path is not found, token or not."""
    async with serving() as served:
        assert (await post(served, GOOD, "/more")).status_code == 404
        assert (await post(served, {}, "/../.well-known/x")).status_code == 404


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Host", "evil.example:80", 421),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:3000", 400),  # let in; only a session is missing
    ],
)
async def test_foreign_hosts_and_origins_are_refused(header: str, value: str, status: int) -> None:
    """A page of another site can't reach the server, though its name resolves to loopback."""
    async with serving() as served:
        assert (await post(served, {**GOOD, header: value})).status_code == status


async def test_a_short_token_is_refused() -> None:
    """The server does not start with a token that could be guessed."""
    with pytest.raises(BadRequest, match="token"):
        await serve_http(FakeEngine(), token="short")


def test_named_hosts_pass() -> None:
    """Loopback, the bound address and the names that were given are allowed; wildcards are not."""
    allowed = security("0.0.0.0", ["box.example"]).allowed_hosts
    assert {"localhost:*", "[::1]:*", "box.example", "box.example:*"} <= set(allowed)
    assert not any("0.0.0.0" in host for host in allowed)
    assert "192.0.2.7:*" in security("192.0.2.7", ()).allowed_hosts


async def test_ipv6_loopback_is_served() -> None:
    """An IPv6 address is bracketed in the URL and in what Host may say."""
    async with serving(host="::1") as served, served.client() as client:
        assert served.url.startswith("http://[::1]:")
        assert "hello" in text_of(await client.call_tool("exec_command", {"cmd": HELLO}))


async def test_each_connection_is_an_agent_of_its_own() -> None:
    """Two clients with the same token do not see each other's sessions."""
    async with serving() as served, served.client() as one, served.client() as two:
        ran = await one.call_tool("exec_command", {"cmd": HELLO})
        session_id = ran.structured_content["session_id"]
        mine = text_of(await one.call_tool("list_sessions", {}))
        theirs = text_of(await two.call_tool("list_sessions", {}))
        with pytest.raises(MCPError):
            await two.read_resource(f"fairlead://sessions/{session_id}/output")
    assert str(session_id) in mine
    assert theirs == ""


async def test_a_sessionless_client_without_a_name_is_turned_away() -> None:
    """Who speaks only the sessionless protocol is told to name itself, and then served."""
    async with serving() as served:
        async with served.client(mode="2026-07-28") as client:
            with pytest.raises(MCPError, match="Fairlead-Agent"):
                await client.call_tool("exec_command", {"cmd": HELLO})
        async with served.client(mode="2026-07-28", Fairlead_Agent="one") as client:
            await client.call_tool("exec_command", {"cmd": HELLO})
        assert [info.agent for info in served.engine.kept.values()] == ["http-one"]


async def test_a_deleted_session_ends_its_agent() -> None:
    """When a client ends its session, what it left running ends, and nobody else's."""
    async with serving() as served, served.client() as other:
        await other.call_tool("exec_command", {"cmd": HELLO})
        [theirs] = served.engine.kept.values()
        async with served.client() as client:
            await client.call_tool("exec_command", {"cmd": FOREVER, "yield_time_ms": 250})
            agents = {session.agent for session in served.engine.kept.values()}
        [mine] = agents - {theirs.agent}
        await served.engine.until(f"ended {mine}")
        assert f"ended {theirs.agent}" not in served.engine.journal


async def test_a_deleted_session_ends_its_calls() -> None:
    """A call that still runs when its session is deleted is cancelled."""
    async with serving() as served, httpx2.AsyncClient(headers=GOOD) as http:
        opened = await http.post(served.url, json=INITIALIZE)
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        await http.post(served.url, json=INITIALIZED, headers=session)
        call = asyncio.create_task(http.post(served.url, json=CALL_FOREVER, headers=session))
        await served.engine.until(f"started for mcp-{session['mcp-session-id'][:16]}")
        assert (await http.delete(served.url, headers=session)).status_code == 200
        await served.engine.until("tree ended")
        assert "result" not in (await call).text
        assert (await http.post(served.url, json=PING, headers=session)).status_code == 404


async def test_an_idle_client_is_gone() -> None:
    """A client that neither asks nor listens for the idle time is ended."""
    async with serving(idle_timeout=0.3) as served:
        async with served.client(mode="2026-07-28", Fairlead_Agent="one") as client:
            await client.call_tool("exec_command", {"cmd": HELLO})
            assert "ended http-one" not in served.engine.journal
        await served.engine.until("ended http-one")


async def call_for_ever(served: Served, **headers: str) -> str:
    """What a client of its own is answered in the end."""
    async with served.client(**headers) as client:
        result = await client.call_tool("exec_command", {"cmd": FOREVER})
    assert result.is_error
    return text_of(result)


async def test_stopping_ends_calls_then_engine(caplog: pytest.LogCaptureFixture) -> None:
    """A stop cancels running calls of either era, tells their clients, and closes the engine."""
    async with serving() as served:
        first = asyncio.create_task(call_for_ever(served, Fairlead_Agent="one"))
        await served.engine.until("started for http-one")
        second = asyncio.create_task(call_for_ever(served))
        await served.engine.until("started for mcp-")
        served.stop.set()
        await served.engine.until("closed")
        async with asyncio.timeout(SECONDS):
            answers = await asyncio.gather(first, second)
    assert all("shutting down" in answer for answer in answers)
    assert served.engine.journal[-3:] == ["tree ended", "tree ended", "closed"]
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server(
    environment: dict[str, str], journal: Path, signum: signal.Signals
) -> None:
    """SIGTERM and SIGINT close the engine, and the exit is 0."""
    argv = [sys.executable, "-m", "tests.mcp.fake_server", "http", TOKEN]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=environment, stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("http://127.0.0.1:")
        begun = time.monotonic()
        server.send_signal(signum)
        _, errors = server.communicate(timeout=SECONDS)
    assert server.returncode == 0
    assert journal.read_text().splitlines()[-1] == "closed"
    assert "Traceback" not in errors
    assert time.monotonic() - begun < SECONDS


def test_the_url_is_where_a_client_goes() -> None:
    """The URL has the bound address and the port that was chosen."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert url_of("127.0.0.1", listener) == f"http://127.0.0.1:{port}/mcp"
        assert url_of("0.0.0.0", listener) == f"http://127.0.0.1:{port}/mcp"
        assert url_of("::", listener) == f"http://[::1]:{port}/mcp"
