"""Every tool by name: finds the handler, and turns every refusal into an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from fairlead.model.errors import BadRequest, ExecError, Rejected, SpawnFailed
from fairlead.model.output import Status
from fairlead.model.shown import in_a_line
from fairlead.tools import catalogue
from fairlead.tools.answer import refusal
from fairlead.tools.families import specs_of
from fairlead.tools.model import (
    CustomPayload,
    FunctionPayload,
    LocalShellPayload,
    McpPayload,
    ToolHandler,
    ToolInvocation,
    ToolKind,
    ToolOutput,
    ToolPayload,
    ToolSpec,
)
from fairlead.tools.toolbox import Call, Toolbox


class Runnable(Protocol):
    """What a tool's module offers to be run."""

    NAME: str
    ANNOTATIONS: Any
    parse: Callable[[object], Any]
    run: Callable[[Any, Call], Awaitable[ToolOutput]]


class ModuleHandler:
    """Carries out the calls of one module of tools/. Satisfies `ToolHandler`."""

    kind = ToolKind.FUNCTION

    def __init__(self, module: Any, box: Toolbox) -> None:
        self._module: Runnable = module
        self._box = box

    def matches_kind(self, payload: ToolPayload) -> bool:
        match payload:
            case FunctionPayload() | McpPayload():
                return True
            case CustomPayload():
                return hasattr(self._module, "parse_custom")
            case LocalShellPayload():
                return hasattr(self._module, "parse_local")

    async def is_mutating(self, invocation: ToolInvocation) -> bool:
        return not self._module.ANNOTATIONS.read_only

    async def handle(self, invocation: ToolInvocation) -> ToolOutput:
        args = self._parse(invocation.payload)
        call = Call(
            call_id=invocation.call_id,
            agent=invocation.agent,
            tool=self._module.NAME,
            box=self._box,
        )
        return await self._module.run(args, call)

    def _parse(self, payload: ToolPayload) -> Any:
        module: Any = self._module
        match payload:
            case FunctionPayload() | McpPayload():
                return module.parse(payload.arguments)
            case CustomPayload():
                return module.parse_custom(payload.input)
            case LocalShellPayload():
                return module.parse_local(payload)


_SHAPES: dict[type, str] = {
    FunctionPayload: "a function call",
    CustomPayload: "free-form text",
    LocalShellPayload: "a local shell call",
    McpPayload: "an MCP call",
}


class ToolRegistry:
    """The tools of one engine."""

    def __init__(self, box: Toolbox) -> None:
        self._handlers: dict[str, ToolHandler] = {
            module.NAME: ModuleHandler(module, box)
            for modules in catalogue.MODULES.values()
            for module in modules
        }

    def specs(self, family: str = "all") -> tuple[ToolSpec, ...]:
        """The tools of a family (`codex`, `openclaw` or `all`), as a model is shown them."""
        return specs_of(family)

    def handler(self, name: str) -> ToolHandler:
        """The handler of a tool, by its name or an alias."""
        found = self._handlers.get(catalogue.canonical(name))
        if found is None:
            there_are = ", ".join(self._handlers)
            raise BadRequest(f"unknown tool '{in_a_line(name)}'; there are: {there_are}")
        return found

    async def handle(self, invocation: ToolInvocation) -> ToolOutput:
        """Carry out a call. Everything that can be said about it is said in the answer."""
        try:
            handler = self.handler(invocation.tool_name)
            if not handler.matches_kind(invocation.payload):
                kind = _SHAPES[type(invocation.payload)]
                raise BadRequest(f"{invocation.tool_name}: does not take {kind}")
            return await handler.handle(invocation)
        except BadRequest as error:
            return refusal(Status.FAILED, str(error), "bad_request")
        except Rejected as error:
            return refusal(Status.REJECTED, str(error), "rejected")
        except SpawnFailed as error:
            return refusal(Status.FAILED, str(error), "spawn_failed")
        except ExecError as error:
            return refusal(Status.FAILED, f"BUG: {error} (please report)", "bug")
