"""The whole output of a session by absolute position: in memory while small, then on disk."""

from __future__ import annotations

import threading
from pathlib import Path

from fairlead.session.budget import SHARED, MemoryBudget
from fairlead.session.buffer import MIB, HeadTailBuffer, omission_marker
from fairlead.session.grep import Around, Match, Matches, parse_pattern, search
from fairlead.session.kept import Kept, Limits, Segment
from fairlead.session.line_index import BLOCK, LineIndex
from fairlead.session.lines import MAX_LINE, Block, Line, Lines, last_lines, page

__all__ = ["Line", "Lines", "Match", "Matches", "MemoryBudget", "OutputLog", "Segment"]

SPILL_AT = 64 << 10
MAX_BYTES = 256 << 20


class OutputLog:
    """Everything a process wrote, from position 0, as far as the limits allow, holes counted.

    Up to `spill_at` bytes stay in memory (fewer when the shared budget is used up), then all of
    it goes to a file without a name. Beyond `max_bytes` the first half stays and the rest is a
    ring. When the disk fails, what comes after is kept as head and tail in memory and `problem`
    says so: a writer never sees an error. One thread writes at a time, any number read; the
    reading methods take the time of a disk, so an event loop calls them in a thread.
    """

    __slots__ = ("_half", "_index", "_kept", "_lock", "_ring")

    def __init__(
        self,
        spill_at: int = SPILL_AT,
        max_bytes: int = MAX_BYTES,
        directory: Path | None = None,
        budget: MemoryBudget | None = None,
    ) -> None:
        if max_bytes < 1:
            raise ValueError("max_bytes: at least 1")
        limits = Limits(
            spill_at=min(spill_at, max_bytes),
            max_bytes=max_bytes,
            directory=directory,
            budget=budget or SHARED,
        )
        self._kept = Kept(limits)
        self._half = max_bytes // 2
        self._ring = max_bytes - self._half
        self._index: LineIndex | None = None
        self._lock = threading.Lock()

    # -- writing -------------------------------------------------------------------------------

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next output. Never raises for want of disk or memory budget."""
        view = memoryview(data)
        for start in range(0, len(view), MIB):
            with self._lock:
                self._append(view[start : start + MIB])

    def _append(self, view: memoryview) -> None:
        before = self._kept.size
        stored = self._kept.append(view)
        if stored and self._kept.stored > self._half:
            counted = view[max(0, self._half - before) : stored]
            oldest = self._kept.stored - self._ring
            self._counting(self._half).add(counted, self._kept.stored, oldest)
        if stored < len(view):
            self._counting(self._kept.stored).add_unmarked(view[stored:], self._kept.stored)

    def _counting(self, since: int) -> LineIndex:
        """The index, with the writer counting newlines: readers can't where bytes fall out."""
        index = self._lines()
        if index.since is None:
            index.count_from(since)
        return index

    def close(self) -> None:
        """Give memory and disk space back; all that was kept counts as dropped from now on."""
        with self._lock:
            self._kept.close()
            self._index = None

    # -- reading -------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How many bytes were ever appended."""
        return self._kept.size

    @property
    def problem(self) -> str | None:
        """Why not everything is kept, if the disk failed."""
        return self._kept.problem

    @property
    def dropped(self) -> int:
        """How many bytes can no longer be read."""
        with self._lock:
            return self.size - sum(last - first for first, last in self._kept.spans())

    @property
    def kept_bytes(self) -> int:
        """How many bytes can be read."""
        return self.size - self.dropped

    def range_bytes(self, start: int, stop: int) -> bytes:
        """What is left of a range, for those who need not know where something is missing."""
        with self._lock:
            return self._kept.get(max(start, 0), min(stop, self.size))

    def read(self, start: int, length: int) -> list[Segment]:
        """What is left of a range, in order; a hole at its end is a last segment without data."""
        with self._lock:
            return self._kept.segments(max(start, 0), min(start + length, self.size))

    def collect(self, start: int, end: int | None = None, limit: int = MIB) -> HeadTailBuffer:
        """A range as its head and tail; only what they keep is read."""
        end = self.size if end is None else min(end, self.size)
        start = max(0, min(start, end))
        buffer = HeadTailBuffer(limit)
        if end - start <= limit:
            self._push(buffer, start, end)
            return buffer
        head, tail = start + limit // 2, end - (limit - limit // 2)
        self._push(buffer, start, head)
        buffer.skip(tail - head)
        self._push(buffer, tail, end)
        return buffer

    def _push(self, buffer: HeadTailBuffer, start: int, end: int) -> None:
        for segment in self.read(start, end - start):
            buffer.skip(segment.missing_before)
            buffer.push(segment.data)

    def copy(self, start: int, end: int) -> OutputLog:
        """A log of its own with what is left of a range. The caller closes it."""
        twin = OutputLog()
        for position in range(start, end, MIB):
            for segment in self.read(position, min(MIB, end - position)):
                if segment.missing_before:
                    twin.append(omission_marker(segment.missing_before).encode())
                twin.append(segment.data)
        return twin

    def tail(self, count: int) -> Segment:
        """The last bytes, as far back as nothing is missing within `count`."""
        with self._lock:
            found = self._kept.segments(max(0, self.size - count), self.size)
            return found[-1] if found else Segment(start=self.size, data=b"")

    def tail_bytes(self, count: int) -> bytes:
        """The bytes of `tail`: they end where the log ends, unless its very end is missing."""
        return self.tail(count).data

    def lines(
        self, first: int, count: int, *, max_bytes: int = MIB, max_line: int = MAX_LINE
    ) -> Lines:
        """A page of lines by number, from 1."""
        return page(self, first, count, max_bytes, max_line)

    def tail_lines(self, count: int, *, max_bytes: int = MIB) -> Lines:
        """The last lines, with their numbers."""
        found = last_lines(self, self.size, count, max_bytes)
        return Lines(lines=found, total_lines=self.known_lines())

    def count_lines(self) -> int | None:
        """How many lines there are, if need be by reading what nobody has counted yet."""
        self._index_up_to(self.size)
        return self.known_lines()

    def grep(
        self,
        pattern: str | bytes,
        *,
        literal: bool = False,
        ignore_case: bool = False,
        before: int = 0,
        after: int = 0,
        max_matches: int = 100,
        max_bytes: int = MIB,
    ) -> Matches:
        """Lines that match an RE2 pattern or a literal text; raises BadRequest for a bad one."""
        finder = parse_pattern(pattern, literal=literal, ignore_case=ignore_case)
        around = Around(before=before, after=after, max_matches=max_matches, max_bytes=max_bytes)
        return search(self, finder, around)

    # -- what paging and searching read by (lines.Source) --------------------------------------

    def block(self, start: int, length: int, newlines: int) -> Block | None:
        """The next bytes at or after `start`; `newlines` are before it if none is missing."""
        with self._lock:
            for first, last in self._kept.spans():
                begin = max(first, start)
                if begin < last:
                    data = self._kept.get(begin, min(begin + length, last))
                    known = newlines if begin == start else self._newlines_before(begin)
                    block = Block(start=begin, data=data, newlines=known, gap=begin - start)
                    return block if data else None
            return None

    def newlines_before(self, position: int) -> int | None:
        """How many newlines precede a position, or None if it is no longer there."""
        self._index_up_to(position)
        with self._lock:
            there = any(first <= position <= last for first, last in self._kept.spans())
            return self._newlines_before(position) if there else None

    def anchor(self, newlines: int) -> tuple[int, int]:
        """A known position with fewer newlines before it, near the one that is looked for."""
        while True:
            with self._lock:
                index, kept = self._lines(), self._kept
                if index.front[-1] >= newlines or not index.grow(kept.size, kept.get):
                    return index.anchor(newlines, kept.spans(), kept.size, kept.get)

    def known_lines(self) -> int | None:
        """The number of lines, if finding out takes no more than reading one block."""
        with self._lock:
            index, kept = self._lines(), self._kept
            if not kept.size:
                return 0
            far = index.uncounted(kept.size) > BLOCK
            if far or not any(last == kept.size for _, last in kept.spans()):
                return None
            unfinished = kept.get(kept.size - 1, kept.size) != b"\n"
            return self._newlines_before(kept.size) + unfinished

    def _index_up_to(self, position: int) -> None:
        """Count newlines, the lock let go between blocks so that the writer goes on."""
        while True:
            with self._lock:
                index, kept = self._lines(), self._kept
                if index.has(position) or not index.grow(kept.size, kept.get):
                    return

    def _lines(self) -> LineIndex:
        if self._index is None:
            self._index = LineIndex()
        return self._index

    def _newlines_before(self, position: int) -> int:
        kept = self._kept
        return self._lines().newlines_before(position, kept.spans(), kept.size, kept.get)
