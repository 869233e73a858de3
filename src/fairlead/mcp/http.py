"""MCP over streamable HTTP: on loopback, behind a bearer token, for any number of clients."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any

import uvicorn
from mcp.server.context import CallNext, HandlerResult
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.types import UNSUPPORTED_PROTOCOL_VERSION
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from fairlead.mcp.calls import Calls
from fairlead.mcp.engine import Engine
from fairlead.mcp.gate import PATH, Gate
from fairlead.mcp.scopes import Scopes, agent_of
from fairlead.mcp.server import DEFAULT_AGENT, Context, build_server
from fairlead.mcp.stop import stop_on_signals
from fairlead.model.errors import BadRequest, ExecError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # and where a client here finds them
MIN_TOKEN = 16
IDLE_TIMEOUT = 30 * 60.0
LAST_WORDS = 3  # seconds for calls to clean up and answer, and for connections to close

NO_SESSION = (
    "This server keeps sessions between calls, so it needs to know whose they are: use the "
    "initialize handshake, or name yourself with the header Fairlead-Agent (letters, digits, . _ -)"
)


async def serve_http(
    engine: AbstractAsyncContextManager[Engine],
    *,
    token: str,
    host: str = "127.0.0.1",
    port: int = 0,
    ready: Callable[[str], object] | None = None,
    family: str = "all",
    idle_timeout: float = IDLE_TIMEOUT,
    allowed_hosts: Sequence[str] = (),
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until a signal comes or `stop` is set; then close the engine.

    `port` 0 takes a free one; `ready` is told the URL. `allowed_hosts` are names, besides those
    of loopback and `host`, under which clients may address the server.
    """
    if len(token) < MIN_TOKEN:
        raise BadRequest(f"token: at least {MIN_TOKEN} characters")
    stop = stop or asyncio.Event()
    with listening(host, port) as listener, stop_on_signals(stop):
        async with engine as running:
            front = _Front(running, token, family, idle_timeout, security(host, allowed_hosts))
            await front.serve(listener, stop, lambda: ready and ready(url_of(host, listener)))


class _Front:
    """The SDK's session manager, our gate before it, and the web server that carries both."""

    def __init__(
        self,
        engine: Engine,
        token: str,
        family: str,
        idle_timeout: float,
        settings: TransportSecuritySettings,
    ) -> None:
        self._calls = Calls()
        server = build_server(engine, family=family, agent_of=request_agent, calls=self._calls)
        server.middleware.append(require_agent)
        self._manager = StreamableHTTPSessionManager(
            server, security_settings=settings, session_idle_timeout=idle_timeout
        )
        self._scopes = Scopes(engine.end_agent, idle_timeout)
        app = StreamableHTTPASGIApp(self._manager)
        self._gate = Gate(app, token=token, scopes=self._scopes)
        self._web = _Web(
            uvicorn.Config(
                self._gate,
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=LAST_WORDS,
            )
        )

    async def serve(
        self, listener: socket.socket, stop: asyncio.Event, started: Callable[[], object]
    ) -> None:
        """Serve until `stop`. Sessions end first, since their streams would hold the web server."""
        web = asyncio.ensure_future(self._web.serve(sockets=[listener]))
        try:
            async with self._manager.run():
                started()
                await _first(web, stop)
                self._calls.end_all()
                await self._gate.refuse(LAST_WORDS)
        finally:
            self._gate.close()
            self._web.should_exit = True
            await web
            await self._scopes.close()


class _Web(uvicorn.Server):
    """Uvicorn without its own handling of signals: ours ends the sessions before the server."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _first(web: asyncio.Future[Any], stop: asyncio.Event) -> None:
    waiting: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({web, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def request_agent(ctx: Context) -> str:
    """The agent of a request that the gate has let in."""
    return _named(ctx) or DEFAULT_AGENT


async def require_agent(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Turn sessionless clients without a name away, to the handshake that nearly all also speak."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and _named(ctx) is None:
        versions = {
            "supported": list(HANDSHAKE_PROTOCOL_VERSIONS),
            "requested": ctx.protocol_version,
        }
        raise MCPError(UNSUPPORTED_PROTOCOL_VERSION, NO_SESSION, versions)
    return await call_next(ctx)


def _named(ctx: Context) -> str | None:
    if ctx.request is None:
        return None
    sessionless = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    return agent_of(ctx.request.headers, sessionless=sessionless)


def security(host: str, allowed_hosts: Sequence[str]) -> TransportSecuritySettings:
    """Which Host and Origin headers pass: no page may reach us under a name of its own."""
    own = [] if host in WILDCARDS else [bracketed(host)]
    names = list(dict.fromkeys([*LOOPBACK, *own, *allowed_hosts]))
    hosts = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{form}" for form in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
    )


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that accepts connections, before anybody is told of it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        number = error.errno or 0  # below zero for a name that can't be resolved
        why = os.strerror(number) if number > 0 else "unknown host"
        raise ExecError(f"can't listen on {bracketed(host)}:{port}: {why}") from None
    with listener:
        yield listener


def url_of(host: str, listener: socket.socket) -> str:
    """Where a client finds a listening server."""
    reachable = bracketed(WILDCARDS.get(host, host))
    return f"http://{reachable}:{listener.getsockname()[1]}{PATH}"


def bracketed(host: str) -> str:
    """An address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host
