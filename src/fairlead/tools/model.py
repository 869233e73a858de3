"""What a tool call is made of, whichever front end it came in through."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

from fairlead.model.event import Event
from fairlead.model.frozen import dataclass


class ToolKind(StrEnum):
    """The shape in which a model's call arrives."""

    FUNCTION = "function"
    CUSTOM = "custom"
    LOCAL_SHELL = "local_shell"
    MCP = "mcp"


class Family(StrEnum):
    """Which group of tools an agent is offered together."""

    FIRST = "first"
    SECOND = "second"
    COMPANION = "companion"


@dataclass(frozen=True, slots=True)
class FunctionPayload:
    """A function call: JSON text or an object, not yet checked."""

    arguments: object


@dataclass(frozen=True, slots=True)
class CustomPayload:
    """A free-form call: raw text."""

    input: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalShellPayload:
    """A model's built-in shell call. Its fields are as untrusted as a function's."""

    command: object
    workdir: object = None
    timeout_ms: object = None
    sandbox_permissions: object = None
    additional_permissions: object = None
    justification: object = None
    prefix_rule: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPayload:
    """A call of a tool that an MCP server offers."""

    server: str
    tool: str
    arguments: object = None


ToolPayload = FunctionPayload | CustomPayload | LocalShellPayload | McpPayload


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInvocation:
    """One call of one tool by one agent."""

    call_id: str
    tool_name: str
    payload: ToolPayload
    agent: str = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """What a call answers: text for the model, the same facts as data, and whether it succeeded."""

    content: str
    success: bool
    structured: Mapping[str, Any]
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Hints to a client about what a tool may do. Never a promise that policy relies on."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is offered to a model."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    annotations: Annotations
    family: Family


class ToolHandler(Protocol):
    """Carries out the calls of one tool."""

    @property
    def kind(self) -> ToolKind: ...

    def matches_kind(self, payload: ToolPayload) -> bool:
        """Whether this handler understands a payload of that shape."""

    async def is_mutating(self, invocation: ToolInvocation) -> bool:
        """Whether the call may change anything outside its own answer."""

    async def handle(self, invocation: ToolInvocation) -> ToolOutput: ...
