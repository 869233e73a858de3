"""Where the bytes of one output are: in memory, in a file, or what is left when the disk fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairlead.model.frozen import dataclass
from fairlead.session.budget import MemoryBudget
from fairlead.session.buffer import MIB, HeadTailBuffer
from fairlead.session.spill import Span, SpillFile

Read = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of an output is kept, and where."""

    spill_at: int
    max_bytes: int
    directory: Path | None
    budget: MemoryBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Bytes that lie together, and how many are missing right before them."""

    start: int
    data: bytes
    missing_before: int = 0

    @property
    def end(self) -> int:
        """The position after the last byte."""
        return self.start + len(self.data)


class Kept:
    """The bytes of an output by position. Not thread-safe: the log calls it under its lock."""

    __slots__ = (
        "_after", "_closed", "_file", "_limits", "_memory", "_reserved", "problem", "size", "stored"
    )  # fmt: skip

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._memory: bytearray | None = None  # made with the first byte: most sessions are quiet
        self._file: SpillFile | None = None
        self._after: HeadTailBuffer | None = None  # what came after the disk failed
        self._closed = False
        self._reserved = 0
        self.stored = 0  # bytes that went to memory or file; what follows them is in _after
        self.size = 0
        self.problem: str | None = None

    # -- writing -------------------------------------------------------------------------------

    def append(self, view: memoryview) -> int:
        """Take the next bytes and say how many of them went where positions stay in order.

        The others come after a failure of the disk: their head and tail are kept in memory.
        """
        stored = 0 if self._after is not None or self._closed else self._store(view)
        if stored < len(view) and not self._closed:
            self._keep_after(view[stored:])
        self.stored += stored
        self.size += len(view)
        return stored

    def _store(self, view: memoryview) -> int:
        if self._file is None:
            if self.stored + len(view) <= self._limits.spill_at and self._reserve(len(view)):
                if self._memory is None:
                    self._memory = bytearray()
                self._memory += view
                return len(view)
            self._file = self._spill()
        return self._write(self._file, view) if self._file is not None else 0

    def _reserve(self, count: int) -> bool:
        granted = self._limits.budget.take(count)
        self._reserved += count if granted else 0
        return granted

    def _spill(self) -> SpillFile | None:
        """Move from memory to a file, or stay in memory if that fails half-way."""
        file = None
        try:
            file = SpillFile(self._limits.directory, self._limits.max_bytes)
            file.append(memoryview(bytes(self._memory or b"")))
        except OSError as error:
            self._fail(error)
            if file is not None:
                file.close()
            return None
        self._memory = None
        self._release()
        return file

    def _write(self, file: SpillFile, view: memoryview) -> int:
        before = file.end
        try:
            file.append(view)
        except OSError as error:
            self._fail(error)
        return file.end - before

    def _fail(self, error: OSError) -> None:
        self.problem = (
            f"output log: {error.strerror or error}; of what follows byte {self.stored} "
            "only the head and the tail are kept"
        )

    def _keep_after(self, view: memoryview) -> None:
        if self._after is None:
            granted = self._limits.budget.take_up_to(MIB)
            self._reserved += granted
            self._after = HeadTailBuffer(granted)
        self._after.push(view)

    def _release(self) -> None:
        self._limits.budget.give(self._reserved)
        self._reserved = 0

    def close(self) -> None:
        """Give memory and disk space back; what comes now is only counted."""
        self._closed = True
        if self._file is not None:
            self._file.close()
        self._file = self._memory = self._after = None
        self._release()

    # -- reading -------------------------------------------------------------------------------

    def spans(self) -> list[Span]:
        """What can be read, in order, neighbours joined."""
        joined: list[Span] = []
        for first, last, _ in self._parts():
            if joined and joined[-1][1] == first:
                joined[-1] = (joined[-1][0], last)
            else:
                joined.append((first, last))
        return joined

    def get(self, start: int, stop: int) -> bytes:
        """What is left of a range."""
        return b"".join(segment.data for segment in self.segments(start, stop))

    def segments(self, start: int, stop: int) -> list[Segment]:
        """What is left of a range, in order; a hole at its end is a last one without data."""
        found: list[Segment] = []
        at = start
        for first, last, read in self._parts():
            begin, end = max(first, at), min(last, stop)
            if begin < end and (data := read(begin, end)):
                found.append(Segment(start=begin, data=data, missing_before=begin - at))
                at = begin + len(data)
        if at < stop:
            found.append(Segment(start=stop, data=b"", missing_before=stop - at))
        return _joined(found)

    def _parts(self) -> list[tuple[int, int, Read]]:
        parts: list[tuple[int, int, Read]] = []
        if self._memory is not None:
            parts.append((0, len(self._memory), self._from_memory))
        if self._file is not None:
            parts += [(first, last, self._from_file) for first, last in self._file.spans()]
        if self._after is not None:
            head, tail = self._after.sizes
            parts.append((self.stored, self.stored + head, self._from_head))
            parts.append((self.size - tail, self.size, self._from_tail))
        return [part for part in parts if part[0] < part[1]]

    def _from_memory(self, start: int, stop: int) -> bytes:
        return bytes(self._memory[start:stop]) if self._memory is not None else b""

    def _from_file(self, start: int, stop: int) -> bytes:
        try:
            return self._file.read(start, stop) if self._file is not None else b""
        except OSError:
            return b""  # a disk that does not give bytes back: they are missing, like any others

    def _from_head(self, start: int, stop: int) -> bytes:
        head = self._after.head if self._after is not None else b""
        return head[start - self.stored : stop - self.stored]

    def _from_tail(self, start: int, stop: int) -> bytes:
        tail = self._after.tail if self._after is not None else b""
        first = self.size - len(tail)
        return tail[start - first : stop - first]


def _joined(segments: list[Segment]) -> list[Segment]:
    """Neighbours with nothing missing between them as one."""
    if all(segment.missing_before or not at for at, segment in enumerate(segments)):
        return segments
    found = [segments[0]]
    for segment in segments[1:]:
        last = found[-1]
        if segment.missing_before:
            found.append(segment)
        else:
            data = last.data + segment.data
            found[-1] = Segment(start=last.start, data=data, missing_before=last.missing_before)
    return found
