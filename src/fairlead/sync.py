"""The engine for code without an event loop: the same calls, each of which blocks."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from fairlead.config.options import Options
from fairlead.engine import Engine
from fairlead.model.errors import BadRequest
from fairlead.model.event import Event
from fairlead.tools.model import ToolOutput

T = TypeVar("T")
P = ParamSpec("P")


def _blocking(
    method: Callable[Concatenate[Engine, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncEngine, P], T]:
    """The same method, for a caller that waits."""

    @wraps(method)
    def call(self: SyncEngine, /, *args: P.args, **more: P.kwargs) -> T:
        return self._wait(method(self._engine, *args, **more))

    return call


class SyncEngine:
    """An engine with a thread of its own. Several threads may call it at the same time."""

    def __init__(self, options: Options | None = None) -> None:
        self._engine = Engine(options)
        self._loop = asyncio.new_event_loop()
        self._closing = threading.Lock()
        self._gate = threading.Lock()
        self._closed = False
        self._owner = os.getpid()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fairlead", daemon=True)

    def __enter__(self) -> SyncEngine:
        if self._thread.ident is not None:
            raise BadRequest("an engine is opened once; make a new one")
        self._thread.start()
        self._wait(self._engine.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process and the thread. Calls of other threads are answered that they
        were ended."""
        if self._is_copy():
            return  # everything in it is the parent's, and its thread is not here
        with self._closing:
            if self._loop.is_closed():
                return
            if self._thread.ident is not None:
                self._wait(self._close(), last=True)
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
            self._loop.close()

    async def _close(self) -> None:
        await self._engine.close()
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)  # calls of other threads get their answers first

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        agent: str = "default",
        on_event: Callable[[Event], None] | None = None,
    ) -> ToolOutput:
        """Carry out one tool call. An interrupted caller takes the process tree with it."""
        return self._wait(self._engine.call(tool, arguments, agent=agent, on_event=on_event))

    shell = _blocking(Engine.shell)
    shell_command = _blocking(Engine.shell_command)
    exec_command = _blocking(Engine.exec_command)
    write_stdin = _blocking(Engine.write_stdin)
    run_in_session = _blocking(Engine.run_in_session)
    apply_patch = _blocking(Engine.apply_patch)
    wait_for = _blocking(Engine.wait_for)
    read_output = _blocking(Engine.read_output)
    list_sessions = _blocking(Engine.list_sessions)
    kill_session = _blocking(Engine.kill_session)
    resize = _blocking(Engine.resize)
    end_agent = _blocking(Engine.end_agent)

    def sessions(self, agent: str = "default") -> list[dict[str, Any]]:
        """The agent's sessions, oldest first."""

        async def look() -> list[dict[str, Any]]:
            return self._engine.sessions(agent)

        return self._wait(look())

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Hear of every process of this engine, on its thread. Returns the way to stop."""

        async def begin() -> Callable[[], None]:
            return self._engine.subscribe(listener)

        stop = self._wait(begin())

        def unsubscribe() -> None:
            if not self._is_copy():
                with suppress(RuntimeError):  # the engine is closed, and nothing more is heard
                    self._loop.call_soon_threadsafe(stop)

        return unsubscribe

    def _is_copy(self) -> bool:
        """A fork has made this a process that the engine does not run in."""
        return os.getpid() != self._owner

    def _wait(self, work: Coroutine[Any, Any, T], *, last: bool = False) -> T:
        try:
            future = self._submitted(work, last)
        except BadRequest:
            work.close()
            raise
        try:
            return future.result()
        except (KeyboardInterrupt, CancelledError):
            future.cancel()
            raise

    def _submitted(self, work: Coroutine[Any, Any, T], last: bool) -> Future[T]:
        if self._is_copy():
            raise BadRequest("this engine belongs to the process that was forked; open another")
        if self._thread.ident is None:
            raise BadRequest("the engine is not open: use it as `with SyncEngine() as engine:`")
        if threading.get_ident() == self._thread.ident:
            raise BadRequest("a listener may not call the engine: it would wait for itself")
        with self._gate:  # nothing is given to the loop after its last work: nobody would do it
            if self._closed:
                raise BadRequest("the engine is closed")
            self._closed = last
            return asyncio.run_coroutine_threadsafe(work, self._loop)
