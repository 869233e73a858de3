"""Waiting for something to happen in a session: by event, never by looking again and again."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from fairlead.model.frozen import dataclass
from fairlead.session.session import Session

OVERLAP = 4096  # bytes looked at again, so that a match across two reads is seen
_BLOCK = 256 * 1024
_PORT_TICK = 0.05  # the kernel has no event for "now it listens": this one is looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """What ends the wait: the first of these. `exit` always does."""

    regex: Any = None  # compiled, for bytes
    quiet: float | None = None  # seconds without a byte
    size: int | None = None  # bytes of output since the wait began
    port: int | None = None
    since: int | None = None  # where in the log the wait begins; default: what is unread


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Which of them came first: exit, pattern, quiet, bytes, port or timeout."""

    reason: str
    match: str | None = None
    offset: int | None = None


async def wait_until(session: Session, until: Until, timeout: float) -> Met:
    """Wait for the first of the conditions, at most `timeout` seconds."""
    start = session.cursor if until.since is None else until.since
    search = _Search(session, until.regex, start) if until.regex is not None else None
    deadline = time.monotonic() + timeout
    with session.attention():
        while True:
            seen = session.log.size
            met = _met(session, until, start, search) or _port_met(session, until)
            if met is not None:
                return met
            left = deadline - time.monotonic()
            if left <= 0:
                return Met(reason="timeout")
            if search is not None and search.behind:
                await asyncio.sleep(0)  # a long log is searched in turns with everything else
            else:
                await _next_event(session, until, seen, left)


def _met(session: Session, until: Until, start: int, search: _Search | None) -> Met | None:
    if search is not None:
        found = search.advance()
        if found is not None or search.behind:
            return found
    if until.size is not None and session.log.size - start >= until.size:
        return Met(reason="bytes")
    if not session.running:
        return Met(reason="exit")
    if until.quiet is not None and _quiet_for(session) >= until.quiet:
        return Met(reason="quiet")
    return None


def _port_met(session: Session, until: Until) -> Met | None:
    if until.port is None or session.process is None:
        return None
    return Met(reason="port") if session.process.listens_on(until.port) else None


def _quiet_for(session: Session) -> float:
    return time.monotonic() - session.last_output


async def _next_event(session: Session, until: Until, seen: int, left: float) -> None:
    """Until there is output or an end, or until a clock that we were given runs out."""
    if until.quiet is not None:
        left = min(left, max(0.0, until.quiet - _quiet_for(session)))
    if until.port is not None:
        left = min(left, _PORT_TICK)
    try:
        async with asyncio.timeout(left):
            await session.change(seen)
    except TimeoutError:
        return


class _Search:
    """A pattern looked for in a log that grows. Linear, whatever the pattern (RE2)."""

    def __init__(self, session: Session, regex: Any, start: int) -> None:
        self._log = session.log
        self._start = start
        self._seen = start
        self._regex = regex

    @property
    def behind(self) -> bool:
        return self._seen < self._log.size

    def advance(self) -> Met | None:
        """Look at the next block of what is new."""
        begin = max(self._start, self._seen - OVERLAP)
        # The byte before is context, so that ^ and \b are not true of every block's first byte.
        context = 1 if begin > self._start else 0
        stop = min(self._log.size, self._seen + _BLOCK)
        self._seen = stop
        for segment in self._log.read(begin - context, stop - begin + context):
            skipped = max(0, begin - segment.start)
            found = self._regex.search(segment.data, skipped)
            if found is not None:
                text = found.group(0).decode("utf-8", "replace")
                return Met(
                    reason="pattern", match=text[:1000], offset=segment.start + found.start()
                )
        return None
