"""What the MCP server needs of an engine, and nothing more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from fairlead.model.event import Event
from fairlead.tools.model import ToolOutput, ToolSpec


class Registry(Protocol):
    """The tools of an engine."""

    def specs(self, family: str = "all") -> Sequence[ToolSpec]: ...


class Engine(Protocol):
    """Runs tool calls for agents, each of which has sessions of its own."""

    @property
    def tools(self) -> Registry: ...

    @property
    def surroundings(self) -> str:
        """How commands run, in words for an agent."""

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | None,
        *,
        call_id: str | None = None,
        agent: str = "default",
        on_event: Callable[[Event], None] | None = None,
    ) -> ToolOutput:
        """Do what the agent asks. Cancelled, end the call's process tree before returning."""

    def sessions(self, agent: str) -> Sequence[Mapping[str, Any]]:
        """The agent's sessions, living and remembered: `session_id`, `command`, `state`."""

    async def end_agent(self, agent: str) -> None:
        """End every process of an agent that will not come back, and forget its sessions."""
