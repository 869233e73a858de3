"""The engine: what a Python program holds, and what every front end talks to."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from fairlead.assemble import Parts, assemble
from fairlead.config.options import Options
from fairlead.config.surroundings import surroundings
from fairlead.model.errors import BadRequest, Bug
from fairlead.model.event import Ended, Event, Started
from fairlead.model.output import Status
from fairlead.model.process import Spawner
from fairlead.session.hub import EventHub
from fairlead.session.session import Session
from fairlead.session.stay import wait_in_spite_of_cancelling
from fairlead.session.summary import summary
from fairlead.tools.answer import refusal
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
        self._closing: asyncio.Task[None] | None = None
        self._all_returned = asyncio.Event()

    async def __aenter__(self) -> Engine:
        if self._parts is not None or self._closing is not None:
            raise BadRequest("an engine is opened once; make a new one")
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
        """End every session, then every process that is left. Nothing of ours survives, also if
        the caller is cancelled meanwhile. Calls that are on their way are answered so."""
        if self._closing is None:
            parts, self._parts = self._parts, None
            if parts is None:
                return
            self._closing = asyncio.create_task(self._close(parts))
        await wait_in_spite_of_cancelling(self._closing)

    async def _close(self, parts: Parts) -> None:
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        if calls:  # not the tasks: what else a caller does in its task is its own
            await self._all_returned.wait()
        everyone = parts.toolbox.store.everyone
        living = [one for one in everyone() if one.running or one.tree_alive]
        try:
            await asyncio.gather(*(one.end(by="the engine was closed") for one in living))
        finally:
            await parts.spawner.close()
            parts.protector.close()
            parts.toolbox.live.close()
            for session in everyone():
                session.forget()

    @property
    def tools(self) -> ToolRegistry:
        self._open()
        assert self._registry is not None
        return self._registry

    @property
    def surroundings(self) -> str:
        """How commands run, in words for an agent."""
        return surroundings(self.options)

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
        invocation = ToolInvocation(
            call_id=call_id or secrets.token_hex(8),
            tool_name=tool,
            payload=_payload(arguments),
            agent=agent,
        )
        if on_event is None:
            return await self._handle(invocation)
        with _Listening(parts.toolbox.hub, on_event, invocation.call_id):
            return await self._handle(invocation)

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
        parts = self._open()
        store = parts.toolbox.store
        mine = list(store.of(agent))
        await asyncio.gather(*(one.end(by="the agent left") for one in mine))
        store.forget_agent(agent)
        parts.spawner.release(agent)

    def _open(self) -> Parts:
        if self._parts is not None:
            return self._parts
        if self._closing is not None:
            raise BadRequest("the engine is closed")
        raise BadRequest("the engine is not open: use it as `async with Engine() as engine:`")

    async def _handle(self, invocation: ToolInvocation) -> ToolOutput:
        """Closing the engine cancels the calls that are on their way, and only those."""
        task = asyncio.current_task()
        if task is None:
            raise Bug("a call outside of any task")
        nested = task in self._calls
        self._calls.add(task)
        try:
            return await self.tools.handle(invocation)
        except asyncio.CancelledError:
            if self._closing is None or nested or task.uncancel() > 0:
                raise
            return refusal(Status.REJECTED, "the engine was closed during this call", "closed")
        finally:
            if not nested:
                self._calls.discard(task)
            if not self._calls and self._closing is not None:
                self._all_returned.set()


class _Listening:
    """Hears of one call: while it is on its way, and of its process until that has ended."""

    def __init__(self, hub: EventHub, on_event: Callable[[Event], None], call_id: str) -> None:
        self._on_event = on_event
        self._processes = 0
        self._returned = False
        self._unsubscribe = hub.subscribe(self._hear, call_id)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._returned = True
        self._leave_if_over()

    def _hear(self, event: Event) -> None:
        self._processes += isinstance(event, Started) - isinstance(event, Ended)
        try:
            self._on_event(event)
        finally:
            self._leave_if_over()

    def _leave_if_over(self) -> None:
        if self._returned and self._processes <= 0:
            self._unsubscribe()


def _payload(arguments: object) -> ToolPayload:
    if arguments is None:
        return FunctionPayload({})
    if isinstance(arguments, str):
        return FunctionPayload(arguments)
    if isinstance(arguments, Mapping):
        return FunctionPayload(dict(arguments))
    if isinstance(arguments, ToolPayload):
        return arguments
    return FunctionPayload(arguments)  # for the tool to refuse
