"""Finding a shell's marks in a log that grows. Every byte is looked at once."""

from __future__ import annotations

import os
import re

from fairlead.model.frozen import dataclass
from fairlead.session.log import OutputLog

_OPENS, _CLOSES = b"\x1b]133;", b"\a"
_LONGEST = 8192  # more than a mark with the longest path
_BLOCK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark of ours: what it says, and where in the log it stands."""

    start: int
    end: int
    said: re.Match[bytes]


class MarkReader:
    """Reads the marks of one shell, from a position on."""

    def __init__(self, log: OutputLog, pattern: re.Pattern[bytes], start: int) -> None:
        self._log = log
        self._pattern = pattern
        self._at = start

    def next(self) -> Mark | None:
        """The next mark, or None as long as there is none."""
        while self._at < self._log.size:
            data = self._block()
            found = data.find(_OPENS)
            match = self._pattern.search(data, found) if found >= 0 else None
            if match is not None:
                start, self._at = self._at + match.start(), self._at + match.end()
                return Mark(start, self._at, match)
            done = _finished(data)
            if not done:
                return None
            self._at += done
        return None

    def _block(self) -> bytes:
        """The next bytes that are still there: of a flood, some may have fallen out."""
        segments = self._log.read(self._at, _BLOCK)
        for segment in segments:
            if segment.data:
                self._at = segment.start
                return segment.data
        self._at = segments[-1].end if segments else self._log.size
        return b""


def _finished(data: bytes) -> int:
    """How many of the bytes can't belong to a mark whose end is still to come."""
    opened = data.rfind(_OPENS, max(0, len(data) - _LONGEST))
    if opened >= 0 and _CLOSES not in data[opened:]:
        return opened
    escape = data.rfind(_OPENS[:1], max(0, len(data) - len(_OPENS) + 1))
    return escape if escape >= 0 and _OPENS.startswith(data[escape:]) else len(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """A command is over: its output is this range of the log."""

    start: int
    end: int
    code: int
    cwd: str | None = None
    exited: bool = False  # the shell ended with it


class CommandMarks:
    """One command on its way through the log."""

    def __init__(self, reader: MarkReader, number: int, start: int) -> None:
        self._reader = reader
        self._number = number
        self.start = start  # of its output, as far as it is known
        self.begun = False

    def look(self) -> Over | None:
        """Its end, if the log has it by now."""
        while (mark := self._reader.next()) is not None:
            if (over := self._over(mark)) is not None:
                return over
        return None

    def _over(self, mark: Mark) -> Over | None:
        said = mark.said
        if said["begin"] and self._is_mine(said["begun"]):
            self.start = mark.end
            self.begun = True
        elif said["end"] and self._is_mine(said["ended"]):
            cwd = os.fsdecode(said["cwd"])
            return self._ended(mark, said["code"], cwd, exited=said["end"] == b"X")
        elif said["prompt"] and self._is_mine(said["last"]):
            # It never reached its end mark: it was interrupted, or the shell gave it up.
            return self._ended(mark, said["status"])
        return None

    def _is_mine(self, number: bytes) -> bool:
        return int(number) == self._number

    def _ended(
        self, mark: Mark, code: bytes, cwd: str | None = None, *, exited: bool = False
    ) -> Over:
        end = max(self.start, mark.start)
        return Over(start=self.start, end=end, code=int(code) & 0xFF, cwd=cwd, exited=exited)
