"""Following a log: events for those who listen, and the picture of now for those who join late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from fairlead.model.event import (
    MAX_CHUNK_BYTES,
    MAX_CHUNKS_PER_CALL,
    Chunk,
    Ended,
    Event,
    FellBehind,
)
from fairlead.model.output import Ending
from fairlead.session.session import Session
from fairlead.session.utf8 import cut, incomplete_tail

BACKLOG = 1 << 20  # bytes a follower may lag before it is told and taken forward
_CAUGHT_UP = 64 * 1024  # how much of the end it then still gets


class Follower:
    """A cursor into one session's log that turns what is new into chunks."""

    def __init__(self, session: Session, start: int, most: int | None) -> None:
        self._session = session
        self._cursor = start
        self._left = most
        self.unsent = 0

    def advance(self) -> list[Event]:
        """Everything new, as events."""
        session, events = self._session, list[Event]()
        if (lag := session.log.size - self._cursor) > BACKLOG:
            events.append(self._skip(lag - _CAUGHT_UP))
        data = session.log.range_bytes(self._cursor, session.log.size)
        if session.running:
            data = data[: len(data) - incomplete_tail(data[-4:])]
        while data and self._left != 0:
            size = cut(data, MAX_CHUNK_BYTES)
            events.append(self._chunk(data[:size]))
            data = data[size:]
        self.unsent += len(data)
        self._cursor += len(data)
        return events

    def _chunk(self, data: bytes) -> Chunk:
        offset, self._cursor = self._cursor, self._cursor + len(data)
        if self._left is not None:
            self._left -= 1
        session = self._session
        return Chunk(
            call_id=session.params.call_id, session_id=session.id, offset=offset, data=data
        )

    def _skip(self, count: int) -> FellBehind:
        self._cursor += count
        session = self._session
        return FellBehind(call_id=session.params.call_id, session_id=session.id, skipped=count)


def stream_deltas(session: Session, emit: Callable[[Event], None]) -> Follower:
    """Emit the session's output as it comes, from its first byte, at most 10,000 chunks."""
    follower = Follower(session, 0, MAX_CHUNKS_PER_CALL)

    def forward(_: Session) -> None:
        for event in follower.advance():
            emit(event)

    session.on_change.append(forward)
    forward(session)  # what came before anybody listened
    return follower


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The picture of now: the end of the output so far, and where it stands in the whole."""

    session_id: int
    offset: int
    data: bytes
    total_bytes: int
    running: bool
    ending: Ending | None


class Watch:
    """A snapshot, then every later event. A watcher that is slow is told what it missed."""

    def __init__(self, session: Session, snapshot_bytes: int = 64 * 1024) -> None:
        size = session.log.size
        data = session.log.tail(snapshot_bytes).data
        self.snapshot = Snapshot(
            session_id=session.id,
            offset=size - len(data),
            data=data,
            total_bytes=size,
            running=session.running,
            ending=session.ending,
        )
        self._session = session
        self._follower = Follower(session, size, None)

    async def __aiter__(self) -> AsyncIterator[Event]:
        session = self._session
        while True:
            seen = session.log.size
            for event in self._follower.advance():
                yield event
            if not session.running:
                break
            await session.change(seen)
            await asyncio.sleep(0)  # let more arrive: a watcher needs no wake-up per write
        if session.ending is not None:
            yield Ended(
                call_id=session.params.call_id,
                session_id=session.id,
                ending=session.ending,
                wall_time=session.wall_time,
                total_bytes=session.log.size,
            )
