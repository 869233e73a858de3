"""Which agent an HTTP request is for, and when an agent is gone.

A client with a protocol session is an agent of its own, until it deletes the session. The
sessionless protocol has no such end and no such name, so there the client names itself with a
header, and is gone when it has been idle for long.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

SESSION_HEADER = "mcp-session-id"
AGENT_HEADER = "fairlead-agent"
SESSION_ID = re.compile(r"[0-9a-f]{32}")
AGENT_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def agent_of(headers: Mapping[str, str], *, sessionless: bool) -> str | None:
    """The agent that a request's headers name, or None.

    A session id lets its bearer speak for the session, so only part of it becomes the name,
    which goes into logs.
    """
    if sessionless:
        name = headers.get(AGENT_HEADER, "")
        return f"http-{name}" if AGENT_NAME.fullmatch(name) else None
    session_id = headers.get(SESSION_HEADER, "")
    return f"mcp-{session_id[:16]}" if SESSION_ID.fullmatch(session_id) else None


class Scopes:
    """Ends an agent when it says so, or when no request of its own was open for `idle` seconds."""

    def __init__(self, end: Callable[[str], Awaitable[None]], idle: float) -> None:
        self._end = end
        self._idle = idle
        self._open: Counter[str] = Counter()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def enter(self, agent: str) -> None:
        """A request of this agent has begun."""
        self._open[agent] += 1
        self._stop_timer(agent)

    def leave(self, agent: str, *, gone: bool = False) -> None:
        """It is over; `gone`: and so is the agent."""
        self._open[agent] -= 1
        if gone:
            self._end_now(agent)
        elif not self._open[agent]:
            del self._open[agent]
            loop = asyncio.get_running_loop()
            self._timers[agent] = loop.call_later(self._idle, self._end_now, agent)

    async def close(self) -> None:
        """Stop every clock, and wait for the endings under way."""
        for agent in list(self._timers):
            self._stop_timer(agent)
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _end_now(self, agent: str) -> None:
        self._stop_timer(agent)
        if not self._open[agent]:
            del self._open[agent]
        # Held here, because the loop keeps only a weak reference to a task.
        task = asyncio.ensure_future(self._end(agent))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _stop_timer(self, agent: str) -> None:
        if (timer := self._timers.pop(agent, None)) is not None:
            timer.cancel()
