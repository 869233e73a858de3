"""An engine's tools and session outputs as an MCP server, whatever the transport.

The SDK's low-level server is used because it hands arguments through unvalidated: what is
wrong with a call is then said by the engine, in the same words as on every other front end.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from fairlead.mcp.calls import Calls
from fairlead.mcp.cancel import to_the_end
from fairlead.mcp.engine import Engine
from fairlead.mcp.plain import plain, plain_text
from fairlead.mcp.progress import Progress
from fairlead.mcp.resources import list_outputs, output_template, read_output
from fairlead.tools.model import ToolOutput, ToolSpec

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
AgentOf = Callable[[Context], str]

DEFAULT_AGENT = "default"
# Where arguments that are no JSON object travel past the SDK's own check, to the engine.
UNTRUSTED_ARGUMENTS = "untrustedArguments"
OUR_FAULT = (
    "Internal error in Fairlead; nothing is wrong with the request. The server's log has it."
)
STOPPED = "Fairlead is shutting down. The call was ended, and with it what it had started."

INSTRUCTIONS = """\
A terminal. {surroundings}
- A command that outlives the wait of its call goes on in a session; the result has its \
session_id. Nothing has to be run again.
- Do not poll in a loop. `wait_for` returns when a session exits, goes quiet, prints a pattern or \
opens a port.
- `run_in_session` keeps directory and variables from one command to the next.
- Long output is cut in the middle. `read_output` pages and searches all of it.
- A refusal says why. Do not retry it unchanged.
- Without a tty a command reads no input, unless stdin is "open". Set tty for programs that need \
a terminal.
- End sessions that are no longer needed with `kill_session`."""


def build_server(
    engine: Engine,
    *,
    family: str = "all",
    agent_of: AgentOf = lambda _: DEFAULT_AGENT,
    calls: Calls | None = None,
) -> Server[Any]:
    """The SDK's server over an engine.

    `agent_of` says for whom a request is; through `calls` the running calls can be ended.
    """
    bridge = Bridge(engine, family, agent_of, calls or Calls())
    server: Server[Any] = Server(
        "fairlead",
        version=_version(),
        title="Fairlead",
        instructions=INSTRUCTIONS.format(surroundings=engine.surroundings),
        get_tool_input_schema=bridge.input_schema,
        on_list_tools=bridge.list_tools,
        on_call_tool=bridge.call_tool,
        on_list_resources=bridge.list_resources,
        on_list_resource_templates=bridge.list_templates,
        on_read_resource=bridge.read_resource,
    )
    server.middleware.append(guard)
    return server


class Bridge:
    """Each MCP request as a question to the engine."""

    def __init__(self, engine: Engine, family: str, agent_of: AgentOf, calls: Calls) -> None:
        self._engine = engine
        self._family = family
        self._agent_of = agent_of
        self._calls = calls

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The schema of one tool, for the SDK's check of headers that mirror arguments."""
        specs = self._engine.tools.specs(self._family)
        return next((plain(spec.input_schema) for spec in specs if spec.name == name), None)

    async def list_tools(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(s) for s in self._engine.tools.specs(self._family)])

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        with anyio.CancelScope() as scope, self._calls.counted(scope):
            return await self._answer(ctx, params.name)
        return _error(STOPPED)

    async def _answer(self, ctx: Context, tool: str) -> CallToolResult:
        try:
            return _result(await self._run(ctx, tool))
        except Exception:
            logger.exception("tool %r raised", tool)
            return _error(OUR_FAULT)

    async def _run(self, ctx: Context, tool: str) -> ToolOutput:
        arguments, agent = _arguments(ctx), self._agent_of(ctx)
        if progress_token_from_params(ctx.params) is None:
            return await to_the_end(self._engine.call(tool, arguments, agent=agent))
        progress = Progress(ctx.session.report_progress)
        call = self._engine.call(tool, arguments, agent=agent, on_event=progress.on_event)
        async with anyio.create_task_group() as reporting:
            reporting.start_soon(progress.run)
            output = await to_the_end(call)
            reporting.cancel_scope.cancel()
        return output

    async def list_resources(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return ListResourcesResult(resources=list_outputs(self._engine, self._agent_of(ctx)))

    async def list_templates(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[output_template()])

    async def read_resource(
        self, ctx: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        reading = read_output(self._engine, self._agent_of(ctx), params.uri)
        return await to_the_end(reading)


async def guard(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Let the engine judge arguments of any shape, and keep our own mistakes off the wire."""
    try:
        return await call_next(_with_loose_arguments(ctx))
    except (MCPError, ValidationError):
        raise
    except Exception:
        logger.exception("%s raised", ctx.method)
        raise MCPError(INTERNAL_ERROR, OUR_FAULT) from None


def _with_loose_arguments(ctx: Context) -> Context:
    if ctx.method != "tools/call" or not ctx.params:
        return ctx
    arguments = ctx.params.get("arguments", {})
    if isinstance(arguments, dict):
        return ctx
    return replace(ctx, params={**ctx.params, "arguments": {}, UNTRUSTED_ARGUMENTS: arguments})


def _arguments(ctx: Context) -> Mapping[str, Any] | str | None:
    params = ctx.params or {}
    arguments = params.get(UNTRUSTED_ARGUMENTS, params.get("arguments"))
    if arguments is None or isinstance(arguments, Mapping | str):
        return arguments
    return json.dumps(arguments)  # a list or a number: for the engine to refuse


def _tool(spec: ToolSpec) -> Tool:
    hints = spec.annotations
    return Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=plain(spec.input_schema),
        output_schema=plain(spec.output_schema) or None,
        annotations=ToolAnnotations(
            title=spec.title,
            read_only_hint=hints.read_only,
            destructive_hint=hints.destructive,
            idempotent_hint=hints.idempotent,
            open_world_hint=hints.open_world,
        ),
    )


def _result(output: ToolOutput) -> CallToolResult:
    # A success has its data even if that is empty: clients check it against the output schema.
    data = plain(output.structured) if output.structured or output.success else None
    return CallToolResult(
        content=[TextContent(text=plain_text(output.content))],
        structured_content=data,
        is_error=not output.success,
    )


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _version() -> str:
    try:
        return version("fairlead")
    except PackageNotFoundError:
        return ""
