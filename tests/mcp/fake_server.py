"""The MCP server over stdio or HTTP as a program, with the fake engine in it."""

from __future__ import annotations

import asyncio
import sys

from tests.mcp.fake_engine import FakeEngine


async def main(transport: str, *token: str) -> None:
    if transport == "stdio":
        from fairlead.mcp.stdio import serve_stdio

        await serve_stdio(Chatty())
    else:
        from fairlead.mcp.http import serve_http

        await serve_http(FakeEngine(), token=token[0], ready=lambda url: print(url, flush=True))


class Chatty(FakeEngine):
    """Prints, as a library might by mistake."""

    async def __aenter__(self) -> Chatty:
        print("a stray line on standard output")
        await super().__aenter__()
        return self


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
