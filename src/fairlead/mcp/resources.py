"""The output of sessions as resources: `fairlead://sessions/{id}/output`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from fairlead.mcp.engine import Engine
from fairlead.mcp.plain import plain_text
from fairlead.tools.model import ToolOutput

URI_TEMPLATE = "fairlead://sessions/{id}/output"
URI = re.compile(r"fairlead://sessions/([A-Za-z0-9-]{1,64})/output")
MIME_TYPE = "text/plain"
MAX_CHARS = 256 * 1024
MAX_TITLE = 80


def output_template() -> ResourceTemplate:
    """How to name the output of any session."""
    return ResourceTemplate(
        name="session-output",
        title="Output of a session",
        uri_template=URI_TEMPLATE,
        description="What a session has written so far. `id` is its session_id.",
        mime_type=MIME_TYPE,
    )


def list_outputs(engine: Engine, agent: str) -> list[Resource]:
    """One resource for each session of the agent, living or remembered."""
    return [_describe(info) for info in engine.sessions(agent) if "session_id" in info]


def _describe(info: Mapping[str, Any]) -> Resource:
    session_id = str(info["session_id"])
    return Resource(
        name=f"session-{session_id}",
        title=plain_text(str(info.get("command") or f"session {session_id}"))[:MAX_TITLE],
        uri=URI_TEMPLATE.replace("{id}", session_id),
        description=f"Output of session {session_id} ({info.get('state', 'unknown')})",
        mime_type=MIME_TYPE,
    )


async def read_output(engine: Engine, agent: str, untrusted_uri: str) -> ReadResourceResult:
    """The text that a session wrote, bounded."""
    session_id = parse_uri(untrusted_uri)
    output = await engine.call("read_output", {"session_id": session_id}, agent=agent)
    text = clip(plain_text(_text_of(output, untrusted_uri)))
    contents = TextResourceContents(uri=untrusted_uri, mime_type=MIME_TYPE, text=text)
    return ReadResourceResult(contents=[contents])


def parse_uri(untrusted_uri: str) -> int | str:
    """The session that a URI names: a number, or a slug."""
    match = URI.fullmatch(untrusted_uri)
    if match is None:
        raise MCPError(INVALID_PARAMS, f"No such resource. There is {URI_TEMPLATE} only.")
    session_id = match[1]
    return int(session_id) if session_id.isdecimal() else session_id


def _text_of(output: ToolOutput, uri: str) -> str:
    if not output.success:
        raise MCPError(INVALID_PARAMS, plain_text(output.content), {"uri": uri})
    text = output.structured.get("output")
    return text if isinstance(text, str) else output.content


def clip(text: str, limit: int = MAX_CHARS) -> str:
    """Head and tail of a text that is too long for a resource, and how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    missing = len(text) - 2 * half
    note = f"\n... {missing} characters left out; read_output pages through all of it ...\n"
    return text[:half] + note + text[-half:]
