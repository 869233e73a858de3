"""Progress of a running command: how many bytes came, and the last line of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from fairlead.model.event import Chunk, Event, FellBehind

FIRST_AFTER = 1.0
INTERVAL = 0.25
# Clients give up on a call that says nothing; many restart their clock on progress.
HEARTBEAT = 10.0
# A heartbeat has no new bytes, yet each value has to be greater than the one before.
NUDGE = 1 / 1024
MAX_LINE = 200
TAIL_BYTES = 4096

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


Report = Callable[[float, float | None, str | None], Awaitable[None]]  # value, total, message


class Progress:
    """Counts what a call's events carry and reports it, not more often than four times a second."""

    def __init__(
        self, report: Report, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._report = report
        self._sleep = sleep
        self._bytes = 0
        self._tail = b""
        self._told = -1.0
        self._quiet = 0.0

    def on_event(self, event: Event) -> None:
        """Note an event. Cheap, since it is called for every chunk of output."""
        if isinstance(event, Chunk):
            self._bytes += len(event.data)
            self._tail = (self._tail + event.data)[-TAIL_BYTES:]
        elif isinstance(event, FellBehind):
            self._bytes += event.skipped

    async def run(self) -> None:
        """Report until cancelled."""
        await self._sleep(FIRST_AFTER)
        while True:
            await self._tell()
            await self._sleep(INTERVAL)

    async def _tell(self) -> None:
        if self._bytes > self._told:
            self._quiet = 0.0
            await self._send(float(self._bytes))
            return
        self._quiet += INTERVAL
        if self._quiet >= HEARTBEAT:
            self._quiet = 0.0
            await self._send(self._told + NUDGE)

    async def _send(self, value: float) -> None:
        self._told = value
        await self._report(value, None, last_line(self._tail) or "no output yet")


def last_line(tail: bytes) -> str:
    """The last line with something on it, as a person would read it on one row."""
    text = UNSEEN.sub("", ESCAPES.sub("", tail.decode("utf-8", "replace")))
    lines = (line.strip() for line in reversed(re.split(r"[\r\n]+", text)))
    return next((line[:MAX_LINE] for line in lines if line), "")
