"""Which line is where in a log of any size, without reading it twice."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence

from fairlead.session.spill import Span

BLOCK = 256 << 10

Read = Callable[[int, int], bytes]  # start, stop -> the bytes between


class LineIndex:
    """Counts of newlines at known positions; everything between them is counted when asked for.

    The part of a log that never falls out is counted by its readers, block by block, as far as
    they go. From the position on where bytes may fall out (`since`) the writer counts, because
    nobody can do it afterwards: so line numbers stay exact on the far side of a hole.
    Not thread-safe: the log calls it under its lock.
    """

    __slots__ = ("_marks", "_newlines", "front", "since")

    def __init__(self) -> None:
        self.front = [0]  # newlines before position i * BLOCK
        self.since: int | None = None
        self._newlines = 0  # from `since` to the end of the log
        self._marks: deque[tuple[int, int]] = deque()  # position, newlines from `since` to it

    # -- the writer's side ---------------------------------------------------------------------

    def count_from(self, position: int) -> None:
        """From here on the writer tells of every byte."""
        self.since = position
        self.mark(position)

    def add(self, data: memoryview, end: int, oldest: int) -> None:
        """Count what was just written up to `end`, and forget marks before `oldest`."""
        self._newlines += bytes(data).count(b"\n")
        while self._marks and self._marks[0][0] < oldest:
            self._marks.popleft()
        if not self._marks or end - self._marks[-1][0] >= BLOCK:
            self.mark(end)

    def add_unmarked(self, data: memoryview, failed_at: int) -> None:
        """Count what comes after the disk failed at a position, the last one to remember."""
        if self._marks[-1][0] < failed_at:
            self.mark(failed_at)
        self._newlines += bytes(data).count(b"\n")

    def mark(self, position: int) -> None:
        """Remember the count at this position, the end of the log."""
        self._marks.append((position, self._newlines))

    # -- the readers' side ---------------------------------------------------------------------

    def grow(self, size: int, read: Read) -> bool:
        """Count one more block of the part that stays; False if there is none."""
        start = (len(self.front) - 1) * BLOCK
        if start + BLOCK > self._front_end(size):
            return False
        self.front.append(self.front[-1] + read(start, start + BLOCK).count(b"\n"))
        return True

    def has(self, position: int) -> bool:
        """Whether the front part is counted up to the block of a position."""
        return len(self.front) * BLOCK > position

    def uncounted(self, size: int) -> int:
        """How many bytes of the front part nobody has counted yet."""
        return self._front_end(size) - (len(self.front) - 1) * BLOCK

    def newlines_before(self, position: int, spans: Sequence[Span], size: int, read: Read) -> int:
        """How many newlines precede a position that can be read or ends what can."""
        if position <= self._front_end(size):
            return self._in_front(position, size, read)
        at, known = self._nearest_mark(position, spans, size)
        if at <= position:
            return self._base(size, read) + known + read(at, position).count(b"\n")
        return self._base(size, read) + known - read(position, at).count(b"\n")

    def anchor(
        self, newlines: int, spans: Sequence[Span], size: int, read: Read
    ) -> tuple[int, int]:
        """The last known position with fewer newlines before it, and their number; else 0, 0."""
        block = bisect_left(self.front, newlines) - 1
        if block < 0:
            return 0, 0
        found = (block * BLOCK, self.front[block])
        if self.since is None or block < len(self.front) - 1:
            return found
        base = self._base(size, read)
        for position, count in self._marks:
            if base + count < newlines and any(a <= position < b for a, b in spans):
                found = (position, base + count)
        return found

    def _front_end(self, size: int) -> int:
        return size if self.since is None else self.since

    def _in_front(self, position: int, size: int, read: Read) -> int:
        while not self.has(position) and self.grow(size, read):
            pass
        block = position // BLOCK
        return self.front[block] + read(block * BLOCK, position).count(b"\n")

    def _base(self, size: int, read: Read) -> int:
        """Newlines before `since`."""
        return self._in_front(self._front_end(size), size, read)

    def _nearest_mark(self, position: int, spans: Sequence[Span], size: int) -> tuple[int, int]:
        """A counted position with nothing missing between it and `position`."""
        first, last = next((a, b) for a, b in spans if a <= position <= b)
        marks = [*self._marks, (size, self._newlines)]
        inside = [mark for mark in marks if first <= mark[0] <= last]
        return min(inside, key=lambda mark: abs(mark[0] - position))
