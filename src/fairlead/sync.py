"""The engine for code without an event loop: the same calls, each of which blocks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, TypeVar

from fairlead.config.options import Options
from fairlead.engine import Engine
from fairlead.model.errors import BadRequest
from fairlead.model.event import Event
from fairlead.tools.model import ToolOutput

T = TypeVar("T")


class SyncEngine:
    """An engine with a thread of its own. Several threads may call it at the same time."""

    def __init__(self, options: Options | None = None) -> None:
        self._engine = Engine(options)
        self._loop = asyncio.new_event_loop()
        self._closing = threading.Lock()
        self._gate = threading.Lock()
        self._closed = False
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

    def sessions(self, agent: str = "default") -> list[dict[str, Any]]:
        """The agent's sessions, oldest first."""

        async def look() -> list[dict[str, Any]]:
            return self._engine.sessions(agent)

        return self._wait(look())

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
        if self._thread.ident is None:
            raise BadRequest("the engine is not open: use it as `with SyncEngine() as engine:`")
        if threading.get_ident() == self._thread.ident:
            raise BadRequest("a listener may not call the engine: it would wait for itself")
        with self._gate:  # nothing is given to the loop after its last work: nobody would do it
            if self._closed:
                raise BadRequest("the engine is closed")
            self._closed = last
            return asyncio.run_coroutine_threadsafe(work, self._loop)
