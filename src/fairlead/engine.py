"""The engine: what a Python program holds, and what every front end talks to."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from fairlead.assemble import Parts, assemble
from fairlead.config.options import Options
from fairlead.model.errors import BadRequest, Bug
from fairlead.model.event import Event
from fairlead.model.process import Spawner
from fairlead.session.session import Session
from fairlead.session.summary import summary
from fairlead.tools.model import FunctionPayload, ToolInvocation, ToolOutput, ToolPayload
from fairlead.tools.registry import ToolRegistry
from fairlead.typed import TypedCalls


class Engine(TypedCalls):
    """Runs tool calls. Use it as an async context manager: leaving it ends every process.

    `call` takes any tool by name; the methods beside it (`shell`, `exec_command` …) are the same
    with typed arguments.
    """

    def __init__(self, options: Options | None = None, *, spawner: Spawner | None = None) -> None:
        self.options = options or Options()
        self._spawner = spawner
        self._parts: Parts | None = None
        self._registry: ToolRegistry | None = None
        self._calls: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Engine:
        self._parts = assemble(self.options, self._spawner)
        self._registry = ToolRegistry(self._parts.toolbox)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End every session, then every process that is left. Nothing of ours survives."""
        parts, self._parts = self._parts, None
        if parts is None:
            return
        for call in list(self._calls):
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        living = [one for one in parts.toolbox.store.everyone() if one.running or one.tree_alive]
        await asyncio.gather(*(one.end(by="the engine was closed") for one in living))
        await parts.spawner.close()
        parts.toolbox.live.close()
        for session in parts.toolbox.store.everyone():
            session.forget()

    @property
    def tools(self) -> ToolRegistry:
        self._open()
        assert self._registry is not None
        return self._registry

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | ToolPayload | None = None,
        *,
        call_id: str | None = None,
        agent: str = "default",
        on_event: Callable[[Event], None] | None = None,
    ) -> ToolOutput:
        """Carry out one tool call. Bad input and refusals are answers, not exceptions.

        Cancelling the caller ends what this call started and waits until it is gone. `on_event`
        hears what happens to the call's process, also after the call has returned.
        """
        parts = self._open()
        number = call_id or secrets.token_hex(8)
        if on_event is not None:
            self._listen(parts, on_event, number)
        invocation = ToolInvocation(
            call_id=number, tool_name=tool, payload=_payload(arguments), agent=agent
        )
        with self._known_call():
            return await self.tools.handle(invocation)

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Hear of every process of this engine. Returns the way to stop."""
        return self._open().toolbox.hub.subscribe(listener)

    def session(self, session_id: int, *, agent: str = "default") -> Session:
        """A session, living or remembered. Raises `UnknownSession`."""
        return self._open().toolbox.store.get(agent, session_id)

    def sessions(self, agent: str = "default") -> list[dict[str, Any]]:
        """The agent's sessions in a few facts each, oldest first."""
        return [summary(one) for one in self._open().toolbox.store.of(agent)]

    async def end_agent(self, agent: str) -> None:
        """End every process of an agent that will not come back, and forget its sessions."""
        store = self._open().toolbox.store
        mine = list(store.of(agent))
        await asyncio.gather(*(one.end(by="the agent left") for one in mine))
        store.forget_agent(agent)

    def _open(self) -> Parts:
        if self._parts is None:
            raise BadRequest("the engine is not open: use it as `async with Engine() as engine:`")
        return self._parts

    @contextlib.contextmanager
    def _known_call(self) -> Any:
        """Closing the engine cancels the calls that are on their way."""
        task = asyncio.current_task()
        if task is None:
            raise Bug("a call outside of any task")
        self._calls.add(task)
        try:
            yield
        finally:
            self._calls.discard(task)

    def _listen(self, parts: Parts, on_event: Callable[[Event], None], call_id: str) -> None:
        """Hear of one call until its process has ended."""
        from fairlead.model.event import Ended

        def forward(event: Event) -> None:
            on_event(event)
            if isinstance(event, Ended):
                unsubscribe()

        unsubscribe = parts.toolbox.hub.subscribe(forward, call_id)


def _payload(arguments: Mapping[str, Any] | str | ToolPayload | None) -> ToolPayload:
    if arguments is None:
        return FunctionPayload({})
    if isinstance(arguments, str):
        return FunctionPayload(arguments)
    if isinstance(arguments, Mapping):
        return FunctionPayload(dict(arguments))
    return arguments
