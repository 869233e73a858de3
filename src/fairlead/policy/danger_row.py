"""A row of the table of dangers, and whether it fits a command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from fairlead.model.frozen import dataclass


class Deed(StrEnum):
    """What is done."""

    DELETES = "deletes"
    WRITES = "writes"
    FORMATS = "formats"
    SENDS = "sends"
    RIGHTS = "changes rights"
    BECOMES = "acts as somebody else"
    STOPS = "stops"
    RUNS = "runs what is not in sight"


class Targets(StrEnum):
    """Which words an effect is on."""

    NONE = "none"  # it happens all the same, to something that is no path
    WORDS = "words"  # each that is no option
    AFTER_FIRST = "after the first"
    BUT_LAST = "but the last"
    LAST = "last"
    BEFORE_OPTIONS = "before options"  # as `find` takes its paths
    VALUES = "values"  # of the options that the row names


@dataclass(frozen=True, slots=True)
class Row:
    """One way to do damage. It fits if all of its conditions do."""

    name: str
    deed: Deed
    names: frozenset[str]
    says: str = ""
    then: tuple[frozenset[str], ...] = ()  # words that must follow, options aside, in order
    options: frozenset[str] = frozenset()  # at least one of them is there
    pattern: str | None = None  # at least one word matches
    values: frozenset[str] = frozenset()  # options whose next word is no target
    targets: Targets = Targets.NONE
    default: str | None = None  # the target where no word names one
    always: bool = False  # a danger wherever it happens
    early: bool = False  # the word that matches comes before all that are no options
    piped: bool = False  # only where the line itself makes what it reads, and no file is named

    @property
    def on_paths(self) -> bool:
        return self.targets is not Targets.NONE or bool(self.default) or not self.names


Words = Sequence[str | None]


def by_name(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each program, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        for name in row.names:
            found.setdefault(name, []).append(row)
    return found


def found_in(row: Row, words: Words, *, piped: bool) -> list[str | None] | None:
    """What a row's effect is on, for the arguments of its program; None if it does not fit."""
    if row.piped and not piped:
        return None
    plain, others = _sorted(row, words)
    if row.options and not any(_is_option(word, row.options) for word in plain):
        return None
    if row.pattern is not None and not _matches(row, words):
        return None
    if row.piped and any(word not in (None, "-", "/dev/stdin") for word in others):
        return None
    if not _begins(others, row.then):
        return None
    return _targets(row, words, others[len(row.then) :])


def _matches(row: Row, words: Words) -> bool:
    looked_at = _before_others(row, words) if row.early else words
    return any(word and re.match(row.pattern or "", word) for word in looked_at)


def _before_others(row: Row, words: Words) -> list[str]:
    """The options at the front, and their values."""
    found: list[str] = []
    for word in words:
        is_value = bool(found) and found[-1] in row.values
        if word is None or not (word.startswith("-") or is_value):
            break
        found.append(word)
    return found


def _sorted(row: Row, words: Words) -> tuple[list[str], list[str | None]]:
    """The options, and the words that are none."""
    options: list[str] = []
    others: list[str | None] = []
    skip = ended = False
    for word in words:
        if skip:
            skip = False
        elif ended or word is None or word == "-" or not word.startswith("-"):
            others.append(word)
        elif word == "--":
            ended = True
        else:
            options.append(word)
            skip = word in row.values
    return options, others


def _is_option(word: str, options: frozenset[str]) -> bool:
    """True for one of the options, also with a value, shortened, or in a cluster."""
    if word in options:
        return True
    if word.startswith("--"):
        name = word.partition("=")[0]
        return len(name) > 3 and any(o.startswith(name) for o in options if o.startswith("--"))
    return any(len(option) == 2 and option[1] in word[1:] for option in options)


def _begins(others: Words, then: Sequence[frozenset[str]]) -> bool:
    return len(others) >= len(then) and all(
        word is not None and word in allowed for word, allowed in zip(others, then, strict=False)
    )


def _targets(row: Row, words: Words, others: list[str | None]) -> list[str | None]:
    match row.targets:
        case Targets.WORDS:
            found = others
        case Targets.AFTER_FIRST:
            found = others[1:]
        case Targets.BUT_LAST:
            found = others[:-1]
        case Targets.LAST:
            found = others[-1:] if len(others) > 1 else []
        case Targets.BEFORE_OPTIONS:
            found = _before_options(words)
        case Targets.VALUES:
            return _values(row, words) or ([row.default] if row.default else [])
        case _:
            found = []
    return found or [row.default]


def _before_options(words: Words) -> list[str | None]:
    found: list[str | None] = []
    for word in words:
        if word is not None and word[:1] in ("-", "(", "!"):
            break
        found.append(word)
    return found


def _values(row: Row, words: Words) -> list[str | None]:
    """What stands behind or within the options that the row names."""
    found: list[str | None] = []
    for at, word in enumerate(words):
        if word is None:
            continue
        for option in row.values:
            if word == option:
                found.append(words[at + 1] if at + 1 < len(words) else None)
            elif option.endswith("=") and word.startswith(option):
                found.append(word[len(option) :])
            elif option.startswith("--") and word.startswith(f"{option}="):
                found.append(word[len(option) + 1 :])
            elif len(option) == 2 and not word.startswith("--") and word.startswith(option):
                found.append(word[2:])
    return found
