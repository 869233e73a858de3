"""Search in a log: line by line in meaning, block by block in work, linear on any pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass
from fairlead.session.lines import Block, Line, Source, iter_lines, last_lines, walk

LONG_LINE = 1 << 20
OVERLAP = 4 << 10
MAX_LINE = 16 << 10
MOST_COUNTED = 1_000_000

DOLLAR_OR_OPAQUE = re.compile(  # everything inside which a dollar is an ordinary character
    rb"\\Q.*?\\E|\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]])*\]|\$", re.DOTALL
)
SPECIAL = re.compile(rb"[\\.^$*+?{}\[\]|()]")
WHOLE_TEXT_ANCHOR = re.compile(rb"(?<!\\)(?:\\\\)*\\[Az]|\(\?[A-Za-z]*-[A-Za-z]*m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A line that matches, where in the log the match begins, and the lines around it."""

    line: Line
    at: int
    before: tuple[Line, ...] = ()
    after: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The first matches, and how many lines match in all, or before the counting stopped."""

    matches: tuple[Match, ...]
    total: int
    stopped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """How much to show: lines before and after a match, matches, and bytes in all."""

    before: int
    after: int
    max_matches: int
    max_bytes: int


class Literal:
    """Plain bytes, looked for as they are."""

    confirms = False

    def __init__(self, text: bytes) -> None:
        self._text = text

    def find(self, data: bytes, start: int) -> int:
        return data.find(self._text, start)

    def confirm(self, line: bytes) -> bool:
        return True


class Regex:
    """A pattern of RE2, which has no backtracking: its time is linear in the text.

    A terminal ends lines with CR LF, and `$` has to match before both. So the blocks are
    searched with a wider pattern, and a line that ends with CR is confirmed without it.
    """

    def __init__(self, pattern: bytes, *, literal: bool, ignore_case: bool) -> None:
        import re2

        if not literal and WHOLE_TEXT_ANCHOR.search(pattern):
            raise BadRequest(r"pattern: lines are matched one by one: use ^ and $, not \A, \z, -m")
        options = re2.Options()
        options.never_nl = True
        options.never_capture = True
        options.log_errors = False
        options.literal = literal
        options.case_sensitive = not ignore_case
        wider = pattern if literal else b"(?m)" + DOLLAR_OR_OPAQUE.sub(_before_cr, pattern)
        try:
            self._exact = re2.compile(pattern, options)
            self._wider = re2.compile(wider, options)
        except re2.error as error:
            raise BadRequest(f"pattern: {_reason(error)}") from None
        self.confirms = b"$" in pattern and not literal

    def find(self, data: bytes, start: int) -> int:
        found = self._wider.search(data, start)
        return found.start() if found else -1

    def confirm(self, line: bytes) -> bool:
        return not self.confirms or self._exact.search(line) is not None


def _before_cr(part: re.Match[bytes]) -> bytes:
    return rb"(?:\r?$)" if part[0] == b"$" else part[0]


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "not understood"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def parse_pattern(
    pattern: str | bytes, *, literal: bool = False, ignore_case: bool = False
) -> Literal | Regex:
    """Something that finds the pattern in bytes; BadRequest says what is wrong with it."""
    data = pattern.encode("utf-8", "surrogateescape") if isinstance(pattern, str) else pattern
    if b"\n" in data:
        raise BadRequest("pattern: a line break can't match: lines are matched one by one")
    if not ignore_case and (literal or not SPECIAL.search(data)):
        return Literal(data)
    return Regex(data, literal=literal, ignore_case=ignore_case)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Whole lines, or a part of one that is too long to hold."""

    start: int
    data: bytes
    newlines: int
    line_start: int  # of the line that its first byte belongs to
    cut: bool  # its last line may go on: it ends at a hole, or is too long


def windows(blocks: Iterable[Block]) -> Iterator[Window]:
    """The blocks again, cut at line ends; parts of a very long line overlap a little."""
    start, line_start, newlines, carry = 0, 0, 0, b""
    for block in blocks:
        if block.gap and carry:
            yield _window(start, carry, newlines, line_start, cut=True)
        if block.gap or not carry:
            carry, start = b"", block.start
            line_start = start - (block.gap > 0)  # after a hole the line began somewhere inside it
        data, newlines = carry + block.data, block.newlines
        whole = data.rfind(b"\n") + 1
        if whole:
            yield _window(start, data[:whole], newlines, line_start, cut=False)
            start = line_start = start + whole
            newlines += block.data.count(b"\n")
        carry = data[whole:]
        if len(carry) >= LONG_LINE:
            yield _window(start, carry, newlines, line_start, cut=True)
            start += len(carry) - OVERLAP
            carry = carry[-OVERLAP:]
    if carry:
        yield _window(start, carry, newlines, line_start, cut=False)


def _window(start: int, data: bytes, newlines: int, line_start: int, *, cut: bool) -> Window:
    return Window(start=start, data=data, newlines=newlines, line_start=line_start, cut=cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Where in a window a matching line lies, its number, and where in it the match begins."""

    number: int
    start: int
    stop: int
    at: int


def hits(window: Window, finder: Literal | Regex) -> Iterator[Hit]:
    """The matching lines of a window."""
    data, at, counted, number = window.data, 0, 0, window.newlines + 1
    while at < len(data) and (found := finder.find(data, at)) >= 0:
        start = data.rfind(b"\n", at, found) + 1 or at
        stop = data.find(b"\n", found)
        stop = len(data) if stop < 0 else stop
        if start >= len(data):
            return  # an empty match after the last newline: no line begins there
        number += data.count(b"\n", counted, start)
        counted = start
        if data[stop - 1 : stop] != b"\r" or finder.confirm(data[start : stop - 1]):
            yield Hit(number=number, start=start, stop=stop, at=found)
        at = stop + 1


def count_hits(window: Window, finder: Literal | Regex) -> int:
    """How many lines match, for when nobody asks which."""
    data, at, total = window.data, 0, 0
    if finder.confirms and b"\r" in data:
        return sum(1 for _ in hits(window, finder))
    while at < len(data) and (found := finder.find(data, at)) >= 0:
        if found == len(data) and data.endswith(b"\n"):
            break
        total += 1
        stop = data.find(b"\n", found)
        at = len(data) if stop < 0 else stop + 1
    return total


def search(log: Source, finder: Literal | Regex, around: Around) -> Matches:
    """The first matching lines are shown, within the limits, and up to `MOST_COUNTED` counted:
    counting costs microseconds for each, and a log may have a hundred million."""
    matches: list[Match] = []
    total, seen, room = 0, -1, around.max_bytes
    for window in windows(walk(log)):
        full = room <= 0 or len(matches) >= around.max_matches
        if total >= MOST_COUNTED and full:
            return Matches(matches=tuple(matches), total=total, stopped=True)
        if full and window.line_start == window.start and not window.cut:
            total += count_hits(window, finder)
            continue
        for hit in hits(window, finder):
            line_start = window.line_start if hit.start == 0 else window.start + hit.start
            if line_start == seen:
                continue  # a later part of a very long line
            seen = line_start
            total += 1
            if room > 0 and len(matches) < around.max_matches:
                match = _show(log, window, hit, line_start, around, room)
                matches.append(match)
                room -= _size(match)
    return Matches(matches=tuple(matches), total=total)


def _show(
    log: Source, window: Window, hit: Hit, line_start: int, around: Around, room: int
) -> Match:
    line = _shown_line(window, hit, line_start, min(MAX_LINE, room))
    room -= len(line.data)
    before = last_lines(log, line_start, around.before, min(room, MAX_LINE * around.before))
    room -= sum(len(one.data) for one in before)
    return Match(
        line=line,
        at=window.start + hit.at,
        before=before,
        after=_after(log, window, hit, around.after, room),
    )


def _shown_line(window: Window, hit: Hit, line_start: int, keep: int) -> Line:
    """The line, or of one that is too long the part where the match is."""
    start = hit.start
    if hit.stop - start > keep:
        start = max(start, min(hit.at - keep // 4, hit.stop - keep))
    data = window.data[start : min(hit.stop, start + keep)]
    goes_on = start + len(data) < hit.stop or (window.cut and hit.stop == len(window.data))
    return Line(
        number=hit.number,
        start=window.start + start,
        end=window.start + hit.stop,
        data=data,
        cut=goes_on or window.start + start != line_start,
    )


def _after(log: Source, window: Window, hit: Hit, count: int, room: int) -> tuple[Line, ...]:
    if count <= 0 or room <= 0:
        return ()
    ended = hit.stop < len(window.data)
    blocks = walk(log, window.start + hit.stop + ended, hit.number - (not ended))
    keep = max(1, min(MAX_LINE, room // count))
    lines = iter_lines(blocks, keep)
    return tuple(islice(lines, not ended, count + (not ended)))


def _size(match: Match) -> int:
    return sum(len(line.data) for line in (match.line, *match.before, *match.after))
