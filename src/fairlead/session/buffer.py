"""The first and last bytes of a stream, in bounded memory, with an exact count of what fell out."""

from __future__ import annotations

from fairlead.model.output import StreamOutput

MIB = 1 << 20


def omission_marker(omitted: int) -> str:
    """The line that stands where `omitted` bytes are missing."""
    return f"\n... {omitted} bytes omitted ...\n"


class HeadTailBuffer:
    """Keeps the first half of `max_bytes` from the start of a stream and the rest from its end.

    The tail is a ring that grows as needed: one copy of each kept byte, whatever the size of
    the pieces, and no per-piece objects. Not thread-safe: its owner is.
    """

    __slots__ = ("_at", "_gap", "_head", "_head_max", "_tail", "_tail_max", "omitted")

    def __init__(self, max_bytes: int = MIB) -> None:
        self._head_max = max(max_bytes, 0) // 2
        self._tail_max = max(max_bytes, 0) - self._head_max
        self.clear()

    def clear(self) -> None:
        """Forget everything, the count included, as after handing it over."""
        self._head = bytearray()
        self._tail = bytearray()
        self._at = 0  # where the oldest byte of a full ring is
        self._gap = False  # bytes were skipped: the head is finished even if it is not full
        self.omitted = 0

    def push(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next piece of the stream."""
        view = memoryview(data)
        room = 0 if self._gap else self._head_max - len(self._head)
        if room:
            self._head += view[:room]
            view = view[room:]
        if len(view):
            self._keep_last(view)

    def skip(self, count: int) -> None:
        """Count bytes that were lost before they could be pushed here.

        What the tail held lies before the new hole, so it is counted as omitted too: two holes
        cannot be shown as one without pretending that the bytes around the second are neighbours.
        """
        if count <= 0:
            return
        self.omitted += count + len(self._tail)
        self._tail.clear()
        self._at = 0
        self._gap = True

    def _keep_last(self, view: memoryview) -> None:
        if len(view) >= self._tail_max:
            self.omitted += len(self._tail) + len(view) - self._tail_max
            self._tail[:] = view[len(view) - self._tail_max :]
            self._at = 0
            return
        grow = self._tail_max - len(self._tail)
        self._tail += view[:grow]
        self._overwrite(view[grow:])

    def _overwrite(self, view: memoryview) -> None:
        """Replace the oldest bytes of the full ring; `view` is shorter than the ring."""
        first = min(len(view), self._tail_max - self._at)
        self._tail[self._at : self._at + first] = view[:first]
        self._tail[: len(view) - first] = view[first:]
        self.omitted += len(view)
        self._at = (self._at + len(view)) % max(self._tail_max, 1)

    @property
    def head(self) -> bytes:
        """The first bytes of the stream."""
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        """The bytes after the hole, or simply after the head where nothing is missing."""
        return bytes(self._tail[self._at :] + self._tail[: self._at])

    @property
    def sizes(self) -> tuple[int, int]:
        """How long head and tail are."""
        return len(self._head), len(self._tail)

    @property
    def kept(self) -> bytes:
        """Head and tail without a mark between them."""
        return self.head + self.tail

    @property
    def total(self) -> int:
        """How many bytes the stream has had, kept or not."""
        return len(self._head) + self.omitted + len(self._tail)

    def render(self) -> bytes:
        """What is kept, with a line in the middle that counts what is not."""
        marker = omission_marker(self.omitted).encode() if self.omitted else b""
        return self.head + marker + self.tail

    def stream(self) -> StreamOutput:
        """The frozen value of this moment."""
        return StreamOutput(head=self.head, tail=self.tail, omitted=self.omitted)
