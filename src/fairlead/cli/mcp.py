"""`fairlead mcp`: an MCP server on standard input and output, or over HTTP on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from fairlead.cli import streams
from fairlead.cli.common import POLICY_FLAGS, options_from
from fairlead.cli.flags import Flag, Line, Syntax
from fairlead.cli.main import FAILED, complain
from fairlead.engine import Engine
from fairlead.model.errors import BadRequest

TOKEN_VARIABLE = "FAIRLEAD_TOKEN"

SYNTAX = Syntax(
    usage="fairlead mcp [--http [--host H] [--port N]] [--tools FAMILY] [FLAGS]",
    about="Serves the tools to an MCP client. Over HTTP it asks for a bearer token, from the\n"
    f"variable {TOKEN_VARIABLE} or else made up and printed.",
    flags=(
        *POLICY_FLAGS,
        Flag("tools", "codex, openclaw or all (default)", "FAMILY"),
        Flag("http", "serve streamable HTTP instead of stdin and stdout"),
        Flag("host", "with --http: the address to listen on (default: 127.0.0.1)", "H"),
        Flag("port", "with --http: the port (default: a free one)", "N"),
    ),
)


def main(arguments: Sequence[str]) -> int:
    line = SYNTAX.parse(arguments)
    if line.words:
        raise BadRequest(f"mcp: unexpected {line.words[0]!r}")
    engine, family = Engine(options_from(line)), _family(line)
    if line.on("http"):
        from fairlead.mcp.http import serve_http

        token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(24)
        asyncio.run(
            serve_http(
                engine,
                host=line.get("host") or "127.0.0.1",
                port=_port(line),
                token=token,
                family=family,
                ready=lambda url: _announce(url, token),
            )
        )
        return 0
    for name in ("host", "port"):
        if line.on(name):
            raise BadRequest(f"--{name} goes with --http")
    from fairlead.mcp.stdio import serve_stdio

    asyncio.run(serve_stdio(engine, family=family))
    return 0


def _family(line: Line) -> str:
    from fairlead.tools.families import specs_of

    family = line.get("tools") or "all"
    specs_of(family)
    return family


def _port(line: Line) -> int:
    text = line.get("port") or "0"
    if not text.isdigit() or int(text) > 65535:
        raise BadRequest(f"--port: expected 0 to 65535, got {text!r}")
    return int(text)


def _announce(url: str, token: str) -> None:
    """What a person needs to go on: where it is, how to register it, and what to try first."""
    server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    registration = json.dumps({"mcpServers": {"fairlead": server}}, indent=2)
    program = Path(sys.argv[0]).absolute()
    said = (
        f"Fairlead serves MCP at {url}\n\n"
        f"Register it with your MCP client:\n{registration}\n\n"
        "Or let the client start it itself, on stdin and stdout:\n"
        f"  {program} mcp\n\n"
        "Try a call from another terminal:\n"
        f"""  {program} call exec_command '{{"cmd": "echo hello"}}'\n\n"""
        "Ctrl-C stops the server and ends every process that it started."
    )
    try:
        print(said, flush=True)
    except OSError as error:  # served all the same: the token may be known from the environment
        streams.abandon()
        complain(f"can't print where the server is: {error.strerror}", FAILED)
