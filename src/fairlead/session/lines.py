"""Pages of lines from a log, by number or from its end, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Protocol

from fairlead.model.frozen import dataclass
from fairlead.session.kept import Segment
from fairlead.session.line_index import BLOCK

MAX_LINE = 64 << 10
FIRST_LOOK_BACK = 8 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of the log with the number of newlines before it."""

    start: int
    data: bytes
    newlines: int
    gap: int = 0  # bytes missing right before it

    @property
    def end(self) -> int:
        """The position after the last byte."""
        return self.start + len(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line without its newline, by its number from 1 and its place in the log."""

    number: int
    start: int  # of `data`
    end: int  # of the line: where its newline is, or how far it goes yet
    data: bytes
    cut: bool = False  # some of the line is not in `data`: too long, or no longer there


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A page of lines."""

    lines: tuple[Line, ...]
    total_lines: int | None  # None where knowing it would mean reading the rest of the log


class Source(Protocol):
    """What paging and searching need of a log."""

    @property
    def size(self) -> int: ...
    def read(self, start: int, length: int) -> list[Segment]: ...
    def block(self, start: int, length: int, newlines: int) -> Block | None: ...
    def newlines_before(self, position: int) -> int | None: ...
    def anchor(self, newlines: int) -> tuple[int, int]: ...
    def known_lines(self) -> int | None: ...


def walk(log: Source, start: int = 0, newlines: int = 0) -> Iterator[Block]:
    """Everything from `start` to what is now the end, block by block. Where the end itself is no
    longer there, the last block is empty, behind a gap."""
    stop = log.size
    while start < stop:
        block = log.block(start, min(BLOCK, stop - start), newlines)
        if block is None:
            yield Block(start=stop, data=b"", newlines=newlines, gap=stop - start)
            return
        yield block
        start, newlines = block.end, block.newlines + block.data.count(b"\n")


class _Pending:
    """A line whose end has not been seen yet, of which no more than `keep` bytes are held."""

    __slots__ = ("cut", "data", "end", "keep", "number", "start")

    def __init__(self, number: int, start: int, keep: int, *, cut: bool = False) -> None:
        self.number, self.start, self.end, self.keep = number, start, start, keep
        self.data = b""
        self.cut = cut

    def add(self, data: bytes, start: int, stop: int) -> None:
        room = self.keep - len(self.data)
        if stop > start and room > 0:
            self.data += data[start : min(stop, start + room)]
        self.end += stop - start
        self.cut = self.cut or stop - start > room

    def line(self, *, cut: bool = False) -> Line:
        return Line(
            number=self.number,
            start=self.start,
            end=self.end,
            data=self.data,
            cut=self.cut or cut,
        )

    def __bool__(self) -> bool:
        return self.end > self.start or self.cut


def iter_lines(blocks: Iterable[Block], keep: int, *, cut: bool = False) -> Iterator[Line]:
    """The lines of neighbouring blocks; a hole ends a line and begins one, both marked as cut."""
    pending: _Pending | None = None
    for block in blocks:
        if pending and block.gap:
            yield pending.line(cut=True)
        if block.gap and not block.data:
            return
        if pending is None or block.gap:
            pending = _Pending(block.newlines + 1, block.start, keep, cut=cut or block.gap > 0)
            cut = False
        at = 0
        while (found := block.data.find(b"\n", at)) >= 0:
            pending.add(block.data, at, found)
            yield pending.line()
            at = found + 1
            pending = _Pending(pending.number + 1, block.start + at, keep)
        pending.add(block.data, at, len(block.data))
    if pending:
        yield pending.line()


def page(log: Source, first: int, count: int, max_bytes: int, max_line: int) -> Lines:
    """Up to `count` lines from line `first` on; the first one even if it alone is too long.

    Where line `first` is no longer there, the page begins with the next one that is.
    """
    found: list[Line] = []
    place = _locate(log, max(first, 1))
    if place is not None and count > 0:
        start, newlines, cut = place
        lines = iter_lines(walk(log, start, newlines), min(max_line, max_bytes), cut=cut)
        found = list(_within(islice(lines, count), max_bytes))
    return Lines(lines=tuple(found), total_lines=log.known_lines())


def _within(lines: Iterable[Line], max_bytes: int) -> Iterator[Line]:
    room = max_bytes
    for number, line in enumerate(lines):
        room -= len(line.data) + 1
        if number and room < 0:
            return
        yield line


def _locate(log: Source, number: int) -> tuple[int, int, bool] | None:
    """Where a line starts, the newlines before that, and whether its start is missing."""
    wanted = number - 1
    for block in walk(log, *log.anchor(wanted)):
        if block.newlines >= wanted:
            return block.start, block.newlines, block.gap > 0
        missing = wanted - block.newlines
        if block.data.count(b"\n") >= missing:
            rest = block.data.split(b"\n", missing)[-1]
            return block.end - len(rest), wanted, False
    return None


def last_lines(log: Source, stop: int, count: int, max_bytes: int) -> tuple[Line, ...]:
    """The last `count` lines that end at or before `stop`, as far as `max_bytes` reach."""
    if count <= 0 or stop <= 0 or max_bytes <= 0:
        return ()
    segment, start = _look_back(log, stop, count, max_bytes)
    newlines = log.newlines_before(start) if segment.data else None
    if newlines is None:
        return ()
    block = Block(start=start, data=segment.data[start - segment.start :], newlines=newlines)
    return tuple(iter_lines([block], max_bytes, cut=not _starts_line(log, start)))


def _look_back(log: Source, stop: int, count: int, max_bytes: int) -> tuple[Segment, int]:
    """Ever longer stretches before `stop`, until one holds `count` lines; and where they start."""
    reach = FIRST_LOOK_BACK
    while True:
        reach = min(reach, max_bytes, stop)
        segment = log.read(stop - reach, reach)[-1]
        start = _start_of_last(segment.data, count)
        if start or reach in (max_bytes, stop) or segment.missing_before:
            return segment, segment.start + start
        reach *= 4


def _start_of_last(data: bytes, count: int) -> int:
    """Where the last `count` lines start, or 0 if there are not more than that."""
    at = len(data) - data.endswith(b"\n")
    for _ in range(count):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _starts_line(log: Source, position: int) -> bool:
    return position == 0 or any(part.data == b"\n" for part in log.read(position - 1, 1))
