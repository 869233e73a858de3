"""Real MCP clients, and servers for them to talk to.

To have the conversations with the real engine, let `stdio_command` name `fairlead mcp`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CallToolResult, TextContent

from fairlead.mcp.http import serve_http
from tests.mcp.fake_engine import FakeEngine

ROOT = Path(__file__).parents[2]
TOKEN = "correct-horse-battery-staple"

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """What the fake engine of a server in another process noted."""
    path = tmp_path / "journal"
    path.touch()
    return path


@pytest.fixture
def environment(journal: Path) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "FAKE_JOURNAL": str(journal)}


@pytest.fixture
def stdio_command(environment: dict[str, str]) -> StdioServerParameters:
    """The program that serves MCP over stdio."""
    argv = ["-m", "tests.mcp.fake_server", "stdio"]
    return StdioServerParameters(command=sys.executable, args=argv, env=environment)


@dataclass
class Served:
    """A running HTTP server, and its engine to look into."""

    url: str
    engine: FakeEngine
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def client(self, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
        sent = {"Authorization": f"Bearer {TOKEN}"}
        sent.update((name.replace("_", "-"), value) for name, value in headers.items())
        async with create_mcp_http_client(headers=sent) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[Served]:
    """Our HTTP server on a free port of loopback, ended afterwards."""
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    engine, stop = FakeEngine(), asyncio.Event()
    serve = serve_http(engine, token=TOKEN, ready=url.set_result, stop=stop, **options)
    server: asyncio.Future[Any] = asyncio.ensure_future(serve)
    try:
        await asyncio.wait({server, url}, return_when=asyncio.FIRST_COMPLETED)
        yield Served(await url, engine, stop)
    finally:
        stop.set()
        async with asyncio.timeout(15):
            await server


@pytest.fixture(params=["stdio-2026", "http-2025", "http-2026"])
def connect(request: pytest.FixtureRequest, stdio_command: StdioServerParameters) -> Connect:
    """Opens a connection of an MCP client, over each transport and protocol era."""

    @asynccontextmanager
    async def over_stdio() -> AsyncIterator[Client]:
        async with Client(stdio_command) as client:
            yield client

    @asynccontextmanager
    async def over_http() -> AsyncIterator[Client]:
        named = {"Fairlead_Agent": "tester"} if request.param == "http-2026" else {}
        async with serving() as served, served.client(**named) as client:
            yield client

    return over_stdio if request.param == "stdio-2026" else over_http


def text_of(result: CallToolResult) -> str:
    """The text of a result, of which there is one block."""
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text
