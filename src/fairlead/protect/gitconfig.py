"""Reads git's configuration format, without git. What git would refuse, or what could be read in
two ways, is refused: a caller must then treat the whole file as dangerous."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairlead.model.frozen import dataclass

LARGEST = 1 << 20  # bytes
_SPACE = " \t\r"  # git's own idea of it: a form feed is none
_PLAIN = re.compile(r"[A-Za-z0-9_./:@+*-]+")  # the same with and without quotes
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}


class Malformed(Exception):
    """Not what git accepts. The text names the line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting. Section and key are in lower case, as git compares them."""

    section: str
    subsection: str | None
    key: str
    value: str | None  # None: named without `=`, which means yes

    @property
    def name(self) -> str:
        """As `git config` spells it."""
        middle = "" if self.subsection is None else f"{self.subsection}."
        return f"{self.section}.{middle}{self.key}"


def parse(content: bytes) -> list[Entry]:
    """Every setting, in order. Raises `Malformed`."""
    if len(content) > LARGEST:
        raise Malformed(f"larger than {LARGEST} bytes")
    if b"\0" in content:
        raise Malformed("has a NUL byte")  # git's strings would end there
    text = content.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    return _Reader(text.removeprefix("\ufeff")).entries()


def render(entries: Iterable[Entry]) -> bytes:
    """A file with exactly these settings."""
    lines = []
    before: tuple[str, str | None] | None = None
    for entry in entries:
        header = (entry.section, entry.subsection)
        if header != before:
            lines.append(_header(entry))
            before = header
        lines.append(f"\t{entry.key}" + ("" if entry.value is None else f" = {_value(entry)}"))
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _header(entry: Entry) -> str:
    if entry.subsection is None:
        return f"[{entry.section}]"
    return f'[{entry.section} "{_quoted(entry.subsection)}"]'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _value(entry: Entry) -> str:
    if _PLAIN.fullmatch(entry.value or ""):
        return entry.value or ""
    text = _quoted(entry.value or "")
    for letter, meant in (("t", "\t"), ("b", "\b"), ("n", "\n")):
        text = text.replace(meant, f"\\{letter}")
    return f'"{text}"'


class _Reader:
    """One pass over the text, a character at a time, with the rules that git has."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def entries(self) -> list[Entry]:
        found: list[Entry] = []
        header: tuple[str, str | None] | None = None
        while self._at < len(self._text):
            char = self._next()
            if char == "\n" or char in _SPACE:
                continue
            if char in "#;":
                self._rest_of_line()
            elif char == "[":
                header = self._section()
            elif header is None or not _is_letter(char):
                raise self._malformed()
            else:
                found.append(Entry(*header, *self._setting(char)))
        return found

    def _next(self) -> str:
        """The next character. The end of the file also ends the line."""
        char = self._text[self._at] if self._at < len(self._text) else "\n"
        self._at += 1
        return char

    def _rest_of_line(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end + 1

    def _section(self) -> tuple[str, str | None]:
        name = ""
        while (char := self._next()) != "]":
            if char in " \t":
                return self._named(name), self._subsection()
            if not (_is_name(char) or char == "."):
                raise self._malformed()
            name += char
        section, dot, rest = self._named(name).partition(".")
        return section, rest if dot else None

    def _named(self, name: str) -> str:
        if not name:
            raise self._malformed()
        return name.lower()

    def _subsection(self) -> str:
        while (char := self._next()) in " \t":
            pass
        if char != '"':
            raise self._malformed()
        found = ""
        while (char := self._next()) != '"':
            if char == "\\":
                char = self._next()
            if char == "\n":
                raise self._malformed()
            found += char
        if self._next() != "]":
            raise self._malformed()
        return found

    def _setting(self, first: str) -> tuple[str, str | None]:
        key = first
        while _is_name(char := self._next()):
            key += char
        while char in " \t":
            char = self._next()
        if char == "\n":
            return key.lower(), None
        if char != "=":
            raise self._malformed()
        return key.lower(), self._rest_of_value()

    def _rest_of_value(self) -> str:
        found, kept, quoted = "", 0, False  # up to `kept`, nothing is trailing space
        while True:
            char = self._next()
            if char == "\n":
                if quoted:
                    raise self._malformed()
                return found[:kept]
            if not quoted and char in "#;":
                self._rest_of_line()
                return found[:kept]
            if not quoted and char in _SPACE:
                found += char if found else ""
                continue
            if char == '"':
                quoted = not quoted
                kept = len(found)
                continue
            if char == "\\":
                char = self._next()
                if char == "\n":
                    continue
                if char not in _ESCAPED:
                    raise self._malformed()
                char = _ESCAPED[char]
            found += char
            kept = len(found)

    def _malformed(self) -> Malformed:
        return Malformed(f"line {self._text.count(chr(10), 0, max(self._at - 1, 0)) + 1}")


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def _is_name(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "-")
