"""Following a log: events for those who listen, and the picture of now for those who join late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from fairlead.model.errors import Bug
from fairlead.model.event import (
    MAX_CHUNK_BYTES,
    MAX_CHUNKS_PER_CALL,
    Chunk,
    Ended,
    Event,
    FellBehind,
)
from fairlead.model.frozen import dataclass
from fairlead.model.output import Ending
from fairlead.session.session import Session
from fairlead.session.utf8 import cut, incomplete_head, incomplete_tail

BACKLOG = 1 << 20  # bytes a follower may lag before it is told and taken forward
_CAUGHT_UP = 64 * 1024  # how much of the end it then still gets
_LONGEST_CHARACTER = 4


class Follower:
    """A cursor into one session's log that turns what is new into chunks.

    Every byte after `start` is in exactly one chunk, or counted: in a `FellBehind`, or in
    `unsent` once `most` chunks were made.
    """

    def __init__(self, session: Session, start: int, most: int | None) -> None:
        self._session = session
        self._cursor = start
        self._left = most
        self.unsent = 0

    def advance(self, stop: int | None = None) -> list[Event]:
        """Everything new, as events; with `stop` up to there, and to the last byte."""
        end = self._session.log.size if stop is None else stop
        if self._left == 0:
            self._leave(end)
            return []
        events = list[Event]()
        if (lag := end - self._cursor) > BACKLOG:
            events.append(self._skip(lag - _CAUGHT_UP, end))
        for segment in self._session.log.read(self._cursor, end - self._cursor):
            if segment.missing_before:
                events.append(self._skip(segment.missing_before, end))
            data = segment.data[max(0, self._cursor - segment.start) :]
            if stop is None and segment.end == end:
                data = data[: len(data) - incomplete_tail(data[-4:])]
            events += self._chunks(data)
        if self._left == 0:
            self._leave(end)
        return events

    def _chunks(self, data: bytes) -> list[Event]:
        events = list[Event]()
        while data and self._left != 0:
            size = cut(data, MAX_CHUNK_BYTES)
            events.append(self._chunk(data[:size]))
            data = data[size:]
        return events

    def _chunk(self, data: bytes) -> Chunk:
        offset, self._cursor = self._cursor, self._cursor + len(data)
        if self._left is not None:
            self._left -= 1
        session = self._session
        return Chunk(
            call_id=session.params.call_id, session_id=session.id, offset=offset, data=data
        )

    def _leave(self, end: int) -> None:
        self.unsent += max(0, end - self._cursor)
        self._cursor = max(end, self._cursor)

    def _skip(self, count: int, end: int) -> FellBehind:
        """Go forward, to the start of a character."""
        session = self._session
        at = self._cursor + count
        count += incomplete_head(session.log.range_bytes(at, min(at + 3, end)))
        self._cursor += count
        return FellBehind(call_id=session.params.call_id, session_id=session.id, skipped=count)


def stream_deltas(session: Session, emit: Callable[[Event], None]) -> Callable[[int], int]:
    """Emit the output of the session's process as it comes, at most 10,000 chunks. Call what this
    returns at the end with the size of the whole output: it emits the rest, and says how many
    bytes went past that limit."""
    follower = Follower(session, session.process_start, MAX_CHUNKS_PER_CALL)

    def forward(_: Session) -> None:
        for event in follower.advance():
            emit(event)

    def finish(size: int) -> int:
        session.on_change.remove(forward)
        for event in follower.advance(size):
            emit(event)
        return follower.unsent

    session.on_change.append(forward)
    forward(session)  # what came before anybody listened
    return finish


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
    """A snapshot, then every later event, to the end of the process that runs now. A watcher
    that is slow is told what it missed."""

    def __init__(self, session: Session, snapshot_bytes: int = 64 * 1024) -> None:
        running = session.running
        # One look: the reader thread may append between a look at the size and one at the bytes.
        last = session.log.tail(snapshot_bytes + _LONGEST_CHARACTER)
        unfinished = incomplete_tail(last.data[-4:]) if running else 0
        end = len(last.data) - unfinished
        start = max(0, end - snapshot_bytes)
        if last.start + start:
            start = min(end, start + incomplete_head(last.data[start : start + 3]))
        self.snapshot = Snapshot(
            session_id=session.id,
            offset=last.start + start,
            data=last.data[start:end],
            total_bytes=last.start + end,
            running=running,
            ending=session.ending,
        )
        self._session = session
        self._ended: Ended | None = None
        self._follower = Follower(session, self.snapshot.total_bytes, None)

    async def __aiter__(self) -> AsyncIterator[Event]:
        session = self._session
        take_back = session.on_finish(self._finished)
        try:
            while self._ended is None:
                seen = session.log.size
                for event in self._follower.advance():
                    yield event
                if self._ended is None:
                    await session.change(seen)
                    await asyncio.sleep(0)  # let more arrive: no need to wake up for every write
        finally:
            take_back()
        for event in self._follower.advance(self._ended.total_bytes):
            yield event
        yield self._ended

    def _finished(self) -> None:
        """The session may be started anew before we get a turn: so this is kept now."""
        self._ended = ended(self._session, self._session.log.size)


def ended(session: Session, total_bytes: int, unsent: int = 0) -> Ended:
    """The last event of a session's process."""
    if session.ending is None:
        raise Bug("a process ended without an ending")
    return Ended(
        call_id=session.params.call_id,
        session_id=session.id,
        ending=session.ending,
        wall_time=session.wall_time,
        total_bytes=total_bytes,
        unsent=unsent,
    )
