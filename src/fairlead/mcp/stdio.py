"""MCP over standard input and output, for one client that started us."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import anyio

from fairlead.mcp.engine import Engine
from fairlead.mcp.server import build_server
from fairlead.mcp.stop import stop_on_signals, until
from fairlead.mcp.wire import claimed_descriptors, connected


async def serve_stdio(
    engine: AbstractAsyncContextManager[Engine],
    *,
    family: str = "all",
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until stdin closes, a signal comes or `stop` is set; then close the engine.

    Signals stay caught until the engine is closed, so that a second one can't leave
    processes behind.
    """
    stop = stop or asyncio.Event()
    with claimed_descriptors() as (wire_in, wire_out), stop_on_signals(stop):
        async with engine as running:
            await _serve(running, family, wire_in, wire_out, stop)


async def _serve(
    engine: Engine, family: str, wire_in: int, wire_out: int, stop: asyncio.Event
) -> None:
    server = build_server(engine, family=family)
    async with connected(wire_in, wire_out, on_lost=stop.set) as (incoming, outgoing):
        options = server.create_initialization_options()
        try:
            await until(stop, server.run(incoming, outgoing, options))
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # The SDK was about to pass a message on to the server that we had just stopped.
            if not stop.is_set():
                raise
