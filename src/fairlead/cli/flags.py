"""Flags, read from a small table. Not argparse: importing that costs more than starting a command.

`--name VALUE`, `--name=VALUE`, switches, one-letter forms, `--` before words that are not ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass


class Help(Exception):
    """Somebody asked for help: the text is the answer."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. Without `value` it is a switch."""

    name: str
    doc: str
    value: str | None = None
    short: str | None = None
    many: bool = False  # may be given more than once

    def usage(self) -> str:
        short = f"-{self.short}, " if self.short else ""
        value = f" {self.value}" if self.value else ""
        return f"  {short}--{self.name}{value}".ljust(28) + self.doc


@dataclass(frozen=True, slots=True)
class Line:
    """A command line that was understood."""

    values: dict[str, list[str]]
    words: list[str]

    def get(self, name: str) -> str | None:
        found = self.values.get(name)
        return found[0] if found else None

    def all(self, name: str) -> list[str]:
        return self.values.get(name, [])

    def on(self, name: str) -> bool:
        return name in self.values


@dataclass(frozen=True, slots=True)
class Syntax:
    """What one subcommand takes."""

    usage: str
    about: str
    flags: tuple[Flag, ...]
    stops_at_word: bool = False  # the first word that is no flag begins somebody else's line

    def parse(self, arguments: Sequence[str]) -> Line:
        """Raises `BadRequest` for what is not in the table, and `Help` when asked."""
        values: dict[str, list[str]] = {}
        words: list[str] = []
        rest = list(arguments)
        while rest:
            word = rest.pop(0)
            if word == "--":
                words += rest
                break
            if word in ("-h", "--help"):
                raise Help(self.help())
            if not word.startswith("-") or word == "-":
                words.append(word)
                if self.stops_at_word:
                    words += rest
                    break
                continue
            flag, attached = self._find(word)
            if flag.name in values and not flag.many:
                raise BadRequest(f"--{flag.name}: given twice")
            values.setdefault(flag.name, []).append(self._value(flag, attached, rest))
        return Line(values, words)

    def help(self) -> str:
        lines = [f"usage: {self.usage}", "", self.about, ""]
        return "\n".join([*lines, *(flag.usage() for flag in self.flags)]).rstrip()

    def _find(self, word: str) -> tuple[Flag, str | None]:
        name, equals, attached = word.partition("=")
        for flag in self.flags:
            if name == f"--{flag.name}" or (flag.short and name == f"-{flag.short}"):
                return flag, attached if equals else None
        allowed = ", ".join(f"--{flag.name}" for flag in self.flags)
        raise BadRequest(f"unknown flag {name}; allowed: {allowed}")

    @staticmethod
    def _value(flag: Flag, attached: str | None, rest: list[str]) -> str:
        if flag.value is None:
            if attached is not None:
                raise BadRequest(f"--{flag.name} takes no value")
            return ""
        if attached is not None:
            return attached
        if not rest:
            raise BadRequest(f"--{flag.name} needs a value: {flag.value}")
        return rest.pop(0)
