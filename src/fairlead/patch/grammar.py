"""The text of a patch, parsed. Pure: no file is looked at.

patch  = "*** Begin Patch" section+ "*** End Patch"
section = "*** Add File: " path, then lines with "+"
        | "*** Delete File: " path
        | "*** Update File: " path, ["*** Move to: " path], hunks
hunk   = ("@@" | "@@ " a line of the file)*, lines with " ", "-" or "+", ["*** End of File"]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ADD = "*** Add File:"
DELETE = "*** Delete File:"
UPDATE = "*** Update File:"
MOVE = "*** Move to:"
END_OF_FILE = "*** End of File"

SECTIONS = f"'{ADD} PATH', '{DELETE} PATH', '{UPDATE} PATH' or '{END}'"
HUNK_LINES = "a hunk line (starting with ' ', '-' or '+'), '@@', '@@ LINE OF THE FILE'"

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1\s*")
_LINE_NUMBERS = re.compile(r"-\d+(,\d+)? \+\d+(,\d+)? @@")
_SHOWN_CHARS = 120


class PatchError(BadRequest):
    """The patch can't be read, or does not fit the files. The text says where and why."""


def verification_failed(why: str) -> PatchError:
    """The patch reads well but does not fit what is on disk."""
    return PatchError(f"apply_patch verification failed: {why}")


class Edit(NamedTuple):
    """One line of a hunk: kept (" "), removed ("-") or added ("+")."""

    kind: Literal[" ", "-", "+"]
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change: lines that lead to its place, then what is kept, removed and added there."""

    headers: tuple[str, ...]
    edits: tuple[Edit, ...]
    at_end: bool = False
    line: int = 0  # of the patch

    @property
    def old(self) -> list[str]:
        return [edit.text for edit in self.edits if edit.kind != "+"]

    @property
    def new(self) -> list[str]:
        return [edit.text for edit in self.edits if edit.kind != "-"]


@dataclass(frozen=True, slots=True)
class AddFile:
    """A file that does not exist yet."""

    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file that goes away."""

    path: str


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """A file whose lines change, or whose name does, or both."""

    path: str
    move_to: str | None
    hunks: tuple[Hunk, ...]


Operation = AddFile | DeleteFile | UpdateFile


@dataclass(frozen=True, slots=True)
class Patch:
    """What a patch asks for, in its order."""

    operations: tuple[Operation, ...]


def parse(untrusted_text: str) -> Patch:
    """Read a patch, or raise `PatchError` with the line, what was found and what is allowed."""
    _refuse_unwritable(untrusted_text)
    numbered = [
        (number, line.removesuffix("\r"))
        for number, line in enumerate(untrusted_text.split("\n"), start=1)
    ]
    return Patch(tuple(_Reader(_inside_markers(_unwrapped(_trimmed(numbered)))).operations()))


_Numbered = list[tuple[int, str]]


def _refuse_unwritable(text: str) -> None:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        found = repr(text[error.start])
        raise _refusal(line, found, "text that can be written as UTF-8") from error


def _refusal(line: int, found: str, allowed: str) -> PatchError:
    return PatchError(f"patch line {line}: found {found}; allowed: {allowed}")


def _shown(line: str) -> str:
    return repr(line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + "…")


def _trimmed(lines: _Numbered) -> _Numbered:
    """Without the blank lines before and after the patch."""
    full = [index for index, (_, line) in enumerate(lines) if line.strip()]
    return lines[full[0] : full[-1] + 1] if full else []


def _unwrapped(lines: _Numbered) -> _Numbered:
    """Without a heredoc around it, which models copy from shell examples."""
    opening = _HEREDOC.fullmatch(lines[0][1].strip()) if lines else None
    if opening and lines[-1][1].strip() == opening[2]:
        return _trimmed(lines[1:-1])
    return lines


def _inside_markers(lines: _Numbered) -> _Numbered:
    if not lines:
        raise _refusal(1, "nothing", f"'{BEGIN}'")
    number, line = lines[0]
    if line.strip() != BEGIN:
        raise _refusal(number, _shown(line), f"'{BEGIN}'")
    number, line = lines[-1]
    if line.strip() != END:
        _refuse_words_after_end(lines)
        raise _refusal(
            number, f"the end of the text after {_shown(line)}", f"'{END}' as the last line"
        )
    return lines[1:]


def _refuse_words_after_end(lines: _Numbered) -> None:
    ends = [index for index, (_, line) in enumerate(lines) if line.rstrip() == END]
    for number, line in lines[ends[-1] + 1 :] if ends else ():
        if line.strip():
            raise _refusal(number, _shown(line), f"nothing after '{END}'")


class _Reader:
    """A place in the lines of a patch. The last line is the end marker."""

    def __init__(self, lines: _Numbered) -> None:
        self._lines = lines
        self._last = len(lines) - 1
        self._at = 0

    @property
    def _number(self) -> int:
        return self._lines[self._at][0]

    @property
    def _line(self) -> str:
        return self._lines[self._at][1]

    def _next(self) -> str:
        line = self._line
        self._at += 1
        return line

    def _refusal(self, allowed: str) -> PatchError:
        return _refusal(self._number, _shown(self._line), allowed)

    def _skip_blank(self) -> None:
        while not self._line.strip():
            self._at += 1

    def operations(self) -> Sequence[Operation]:
        found: list[Operation] = []
        self._skip_blank()
        while self._at < self._last:
            found.append(self._operation())
            self._skip_blank()
        if not found:
            raise self._refusal(f"at least one of {SECTIONS.rpartition(' or ')[0]}")
        return found

    def _operation(self) -> Operation:
        if (path := self._path(ADD)) is not None:
            return AddFile(path, self._added_lines())
        if (path := self._path(DELETE)) is not None:
            return DeleteFile(path)
        if (path := self._path(UPDATE)) is not None:
            return self._update(path)
        if self._line.startswith("+"):
            raise self._refusal(f"{SECTIONS} (an empty line of a new file is written '+')")
        raise self._refusal(SECTIONS)

    def _path(self, marker: str) -> str | None:
        """The path behind a marker. The marker may be padded with white space."""
        line = self._line.strip()
        if not line.startswith(marker):
            return None
        path = line.removeprefix(marker).strip()
        if not path or "\0" in path:
            raise self._refusal(f"'{marker} PATH'")
        self._at += 1
        return path

    def _added_lines(self) -> tuple[str, ...]:
        lines = []
        while self._at < self._last and self._line.startswith("+"):
            lines.append(self._next()[1:])
        return tuple(lines)

    def _update(self, path: str) -> UpdateFile:
        number = self._number
        self._skip_blank()
        move_to = self._path(MOVE)
        hunks: list[Hunk] = []
        self._skip_blank()
        while not self._at_section():
            hunks.append(self._hunk(first=not hunks))
            if hunks[-1].at_end:
                self._skip_blank()
        if not hunks and move_to is None:
            raise _refusal(number, f"no change to {path!r}", f"{HUNK_LINES}, '{MOVE} PATH'")
        return UpdateFile(path, move_to, tuple(hunks))

    def _at_section(self) -> bool:
        """Whether the hunks are over. A line that starts with a space is a line of a hunk."""
        return self._at == self._last or (
            self._line.lstrip("\t").startswith("***") and self._line.strip() != END_OF_FILE
        )

    def _hunk(self, *, first: bool) -> Hunk:
        number = self._number
        headers = self._headers(padded=first)
        if headers is None and not first:
            raise self._refusal(f"'@@', '@@ LINE OF THE FILE', {SECTIONS}")
        edits = self._edits()
        if not edits:
            raise self._refusal(HUNK_LINES)
        at_end = self._line.strip() == END_OF_FILE and self._at < self._last
        self._at += at_end
        if not (at_end or self._at_section() or self._line.startswith("@@")):
            raise self._refusal(f"{HUNK_LINES}, '{END_OF_FILE}', {SECTIONS}")
        return Hunk(tuple(headers or ()), tuple(edits), at_end, number)

    def _headers(self, *, padded: bool) -> list[str] | None:
        """The texts behind a run of `@@`; None where there is not even one."""
        found: list[str] | None = None
        line = self._line.lstrip() if padded else self._line
        while line.startswith("@@"):
            found = found or []
            if text := self._header(line):
                found.append(text)
            self._at += 1
            line = self._line
        return found

    def _header(self, line: str) -> str:
        text = line[2:]
        if text.strip() and not text.startswith(" "):
            raise self._refusal("'@@' or '@@ LINE OF THE FILE'")
        if _LINE_NUMBERS.match(text.strip()):
            raise self._refusal(
                "'@@' or '@@ LINE OF THE FILE' (a place is named by a line, not a number)"
            )
        return text[1:].rstrip()

    def _edits(self) -> list[Edit]:
        edits: list[Edit] = []
        bare = 0  # empty lines at the end of the hunk, without even the leading space
        while self._at < self._last and (edit := _edit(self._line)):
            bare = 0 if self._line else bare + 1
            edits.append(edit)
            self._at += 1
        # A blank line before the next section must not become the place of an insertion.
        if bare and all(edit.kind == "+" for edit in edits[:-bare]):
            del edits[-bare:]
        return edits


def _edit(line: str) -> Edit | None:
    if line.startswith("+"):
        return Edit("+", line[1:])
    if line.startswith("-"):
        return Edit("-", line[1:])
    if line.startswith(" "):
        return Edit(" ", line[1:])
    return None if line.strip() else Edit(" ", line)
