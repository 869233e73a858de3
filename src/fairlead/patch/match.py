"""Where the hunks of a patch belong in a file, and the file with them applied. Pure.

A place is looked for in four ways, each more forgiving than the one before: the lines as they
are, without white space at their end, without it on both sides, and with typographic dashes,
quotes and spaces read as their plain forms. Only the *place* is found so; lines that a hunk
keeps stay byte for byte as the file has them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from fairlead.patch.grammar import Hunk, verification_failed

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f"
_SPACES = (
    "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_PLAIN = str.maketrans(
    dict.fromkeys(_DASHES, "-")
    | dict.fromkeys(_SINGLE_QUOTES, "'")
    | dict.fromkeys(_DOUBLE_QUOTES, '"')
    | dict.fromkeys(_SPACES, " ")
)
_BOM = "\ufeff"
_SHOWN_LINES = 3
_MANY = 1000  # false starts, after which a search in linear time is cheaper


def _as_it_is(line: str) -> str:
    return line


def _folded(line: str) -> str:
    return line.strip() if line.isascii() else line.translate(_PLAIN).strip()


LADDER: tuple[Callable[[str], str], ...] = (_as_it_is, str.rstrip, str.strip, _folded)


@dataclass(slots=True)
class _Text:
    """A file's lines. `raw` have what precedes their newline, so a "\\r" shows a CRLF ending."""

    raw: list[str]
    bom: str
    final_newline: bool
    last: str  # as the file has it, where no newline ends it
    _rungs: dict[int, list[str]] = field(default_factory=dict)

    def rung(self, number: int) -> list[str]:
        """The lines as one step of the ladder sees them."""
        if number not in self._rungs:
            self._rungs[number] = (
                list(map(LADDER[number], self.rung(0)))
                if number
                else [line.removesuffix("\r") for line in self.raw]
            )
        return self._rungs[number]


def _read(content: bytes) -> _Text:
    text = content.decode("utf-8", "surrogateescape")
    bom = _BOM if text.startswith(_BOM) else ""
    raw = text.removeprefix(bom).split("\n")
    final_newline = raw[-1] == ""
    last = raw[-1]
    if final_newline:
        raw.pop()
    elif len(raw) > 1 and raw[-2].endswith("\r") and not last.endswith("\r"):
        raw[-1] += "\r"  # the ending it would have, should another line follow
    return _Text(raw, bom, final_newline, last)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A hunk and its place: `length` lines of the file from `start` on."""

    start: int
    length: int
    hunk: Hunk


def apply(content: bytes, hunks: Sequence[Hunk], name: str) -> bytes:
    """A file's content with every hunk applied. Raises `PatchError` where one has no place."""
    text = _read(content)
    placed = sorted(_place_all(text, hunks, name), key=lambda one: one.start)
    return _render(text, placed).encode("utf-8", "surrogateescape")


def _place_all(text: _Text, hunks: Sequence[Hunk], name: str) -> Iterator[_Placed]:
    cursor = 0
    for number, hunk in enumerate(hunks, start=1):
        label = f"{name}: hunk {number}" + (f" (patch line {hunk.line})" if hunk.line else "")
        placed = _Search(text, hunk, cursor, label).run()
        yield placed
        # An insertion at the end of the file says nothing about where the next hunk is.
        if placed.length or hunk.headers:
            cursor = placed.start + placed.length


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for the place of one hunk at or after `cursor`."""

    text: _Text
    hunk: Hunk
    cursor: int
    label: str

    def run(self) -> _Placed:
        after = self._after_headers()
        old = self.hunk.old
        if not old:
            at_end = self.hunk.at_end or not self.hunk.headers
            return _Placed(len(self.text.raw) if at_end else after, 0, self.hunk)
        for hunk in self._variants():
            if (start := self._find(hunk.old, after)) is not None:
                return _Placed(start, len(hunk.old), hunk)
        raise verification_failed(self._not_found(old, after))

    def _after_headers(self) -> int:
        after = self.cursor
        for header in self.hunk.headers:
            found = _climb(self.text, [header], after)
            if found is None:
                where = _since(after)
                raise verification_failed(f"{self.label}: '@@ {header}' was not found{where}")
            after = found + 1
        return after

    def _variants(self) -> Iterator[Hunk]:
        """The hunk, then without the empty lines at its end: often they only separate."""
        yield self.hunk
        edits = list(self.hunk.edits)
        while edits and edits[-1].kind == " " and not edits[-1].text:
            edits.pop()
        shorter = Hunk(self.hunk.headers, tuple(edits), self.hunk.at_end, self.hunk.line)
        if len(edits) < len(self.hunk.edits) and shorter.old:
            yield shorter

    def _find(self, old: list[str], after: int) -> int | None:
        if self.hunk.at_end:
            end = len(self.text.raw) - len(old)
            if end >= after and _climb(self.text, old, end) is not None:
                return end
        found = _climb(self.text, old, after)
        if found is None and self.hunk.headers:
            return _climb(self.text, old, after - 1)  # it repeats its header as its first line
        return found

    def _not_found(self, old: list[str], after: int) -> str:
        shown = "\n".join(f"  {line}" for line in old[:_SHOWN_LINES])
        more = len(old) - _SHOWN_LINES
        rest = f"\n  … and {more} more" if more > 0 else ""
        return (
            f"{self.label}: these lines were not found{_since(after)}:\n{shown}{rest}"
            f"{self._hint(old, after)}"
        )

    def _hint(self, old: list[str], after: int) -> str:
        """What comes nearest: the lines exist earlier, or the file differs after some of them."""
        earlier = _climb(self.text, old, 0)
        if earlier is not None:
            return f"\n(they are at line {earlier + 1}: hunks go in the order of the file)"
        matched, at = _longest_start([_folded(line) for line in old], self.text.rung(3), after)
        if not matched:
            return ""
        has = self.text.raw[at + matched] if at + matched < len(self.text.raw) else None
        instead = "the file ends" if has is None else f"the file has {has!r}"
        return f"\n(nearest: line {at + 1}; at line {at + matched + 1} {instead})"


def _since(after: int) -> str:
    return f" after line {after}" if after else ""


def _climb(text: _Text, old: list[str], start: int) -> int | None:
    """The first place of these lines at or after `start`, by the strictest step that has one."""
    for number, step in enumerate(LADDER):
        found = _find(text.rung(number), [step(line) for line in old], start)
        if found is not None:
            return found
    return None


def _find(hay: list[str], needle: list[str], start: int) -> int | None:
    end = len(hay) - len(needle) + 1
    for _ in range(_MANY):
        try:
            start = hay.index(needle[0], start, max(start, end))
        except ValueError:
            return None
        if hay[start : start + len(needle)] == needle:
            return start
        start += 1
    return _find_in_linear_time(hay, needle, start)


def _find_in_linear_time(hay: list[str], needle: list[str], start: int) -> int | None:
    """A character per distinct line makes this a search in a string."""
    codes: dict[str, str] = {}
    for line in needle:
        codes.setdefault(line, chr(len(codes) + 1))
    encoded = "".join(map(codes.get, hay, repeat("\0")))
    found = encoded.find("".join(codes[line] for line in needle), start)
    return None if found < 0 else found


def _longest_start(needle: list[str], hay: list[str], start: int) -> tuple[int, int]:
    """How many first lines of the needle occur together, and where."""
    best = (0, 0)
    for _ in range(_MANY):
        try:
            start = hay.index(needle[0], start)
        except ValueError:
            break
        length = _common(needle, hay, start)
        best = max(best, (length, start), key=lambda one: one[0])
        start += 1
    return best


def _common(needle: list[str], hay: list[str], start: int) -> int:
    length = 0
    for mine, theirs in zip(needle, hay[start : start + len(needle)], strict=False):
        if mine != theirs:
            break
        length += 1
    return length


def _render(text: _Text, placed: Sequence[_Placed]) -> str:
    out: list[str] = []
    at = 0
    for one in placed:
        out += text.raw[at : one.start]
        out += _edited(text.raw, one)
        at = one.start + one.length
    out += text.raw[at:]
    if not out:
        return text.bom
    if text.final_newline:
        return text.bom + "\n".join(out) + "\n"
    ends_as_before = at < len(text.raw) or (placed and placed[-1].hunk.edits[-1].kind == " ")
    out[-1] = text.last if ends_as_before else out[-1].removesuffix("\r")
    return text.bom + "\n".join(out)


def _edited(raw: list[str], placed: _Placed) -> Iterator[str]:
    """The lines of one hunk, each with the line ending of the line that it stands for."""
    at = placed.start
    ending = _ending_around(raw, at)
    spare: deque[str] = deque()  # endings of removed lines that no added line has taken yet
    for edit in placed.hunk.edits:
        if edit.kind == "+":
            ending = spare.popleft() if spare else ending
            yield edit.text + ending
            continue
        own = "\r" if raw[at].endswith("\r") else ""
        if edit.kind == "-":
            spare.append(own)
        else:
            spare.clear()
            ending = own
            yield raw[at]
        at += 1


def _ending_around(raw: list[str], at: int) -> str:
    """The ending of the line before, or of the first line."""
    nearest = raw[at - 1 : at] if at else raw[:1]
    return "\r" if nearest and nearest[0].endswith("\r") else ""
