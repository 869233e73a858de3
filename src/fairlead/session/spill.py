"""A file without a name that holds the first half of a stream and a ring of its latest bytes."""

from __future__ import annotations

from pathlib import Path

Span = tuple[int, int]  # first position, position after the last


class SpillFile:
    """The bytes of a stream on disk, by their position in the stream.

    The file has no name from the start (or loses it at once where the file system can't do
    that), so nothing is left behind however we end. Not thread-safe: its owner is.
    """

    __slots__ = ("_file", "_half", "_ring", "end")

    def __init__(self, directory: Path | None, max_bytes: int) -> None:
        import tempfile

        self._file = tempfile.TemporaryFile("w+b", buffering=0, dir=directory)  # noqa: SIM115
        self._half = max_bytes // 2
        self._ring = max_bytes - self._half
        self.end = 0

    def append(self, data: memoryview) -> None:
        """Write the next bytes. On an error `end` says exactly how far it came."""
        while len(data):
            offset, room = self._place(self.end)
            self._file.seek(offset)
            written = self._file.write(data[:room])
            self.end += written
            data = data[written:]

    def spans(self) -> list[Span]:
        """What can still be read, in order, neighbours joined."""
        latest = self.end - self._ring
        if latest <= self._half:
            return [(0, self.end)]
        return [(0, self._half), (latest, self.end)]

    def read(self, start: int, stop: int) -> bytes:
        """The bytes of a range inside one span; shorter if the disk no longer gives them."""
        parts = []
        while start < stop:
            offset, room = self._place(start)
            self._file.seek(offset)
            part = self._file.read(min(room, stop - start))
            if not part:
                break
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Give the disk space back."""
        self._file.close()

    def _place(self, position: int) -> tuple[int, int]:
        """Where a position lies in the file, and how many bytes follow it there in one piece."""
        if position < self._half:
            return position, self._half - position
        into = (position - self._half) % self._ring
        return self._half + into, self._ring - into
