"""The words of a command: their text with quotes, what it stands for, and back again.

Only what bash, zsh and POSIX shells all read the same, when none of them talks to a person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlead.policy.reading.parts import Why


def names(text: str) -> frozenset[str]:
    """The words of a table's row."""
    return frozenset(text.split())


# Outside quotes: no character that any of the shells may expand, wherever it stands. And no
# `'a''b'`, which stands for `a'b` in a zsh that was told so.
BARE = r"[A-Za-z0-9_./:,@%+=\-\u0080-\U0010ffff]"
WORD = rf"""(?:{BARE}++|\{{\}}|\\[ -~]|'[^']*+'(?!')|"(?:[^"\\$`]|\\[^!\n])*+")++"""
ONLY_AS_ARGUMENT = ("!", "]", "{}", "=")  # words of `find` and `[`: as a command, something else
WORD_ONLY = re.compile(WORD)

# What these words begin, at the place of a command, is not a command.
KEYWORDS = names(
    "if then elif else fi case esac for foreach select while until repeat do done end in"
    " function time coproc nocorrect noglob declare typeset local export readonly integer"
    " float"
)
_PIECES = re.compile(rf"({BARE}+|\{{\}})|\\(.)|'([^']*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_IN_QUOTES = re.compile(r'\\(["\\$`])')
_NAME = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./:,@%+\-]*")
_QUOTE_FREE = re.compile(r"[A-Za-z0-9_./:,@%+\-]+")
_WHERE_IT_BREAKS = re.compile(r"[$`]|\\[!\n]")

# What one character outside quotes starts.
_STARTS = {
    "`": Why.SUBSTITUTION,
    "*": Why.GLOB,
    "?": Why.GLOB,
    "[": Why.GLOB,
    "]": Why.GLOB,
    "^": Why.GLOB,
    "#": Why.GLOB,
    "~": Why.TILDE,
    "{": Why.BRACES,
    "}": Why.BRACES,
    "!": Why.HISTORY,
    "(": Why.SUBSHELL,
    ")": Why.SUBSHELL,
}
_AFTER_DOLLAR = (
    ("$((", Why.ARITHMETIC),
    ("$[", Why.ARITHMETIC),
    ("$(", Why.SUBSTITUTION),
    ("$'", Why.ANSI_C),
    ('$"', Why.TRANSLATED),
)
_AFTER_ANGLE = (
    ("<<<", Why.HERESTRING),
    ("<<", Why.HEREDOC),
    ("<(", Why.PROCESS_SUBSTITUTION),
    (">(", Why.PROCESS_SUBSTITUTION),
)


def decode(raw: str) -> str:
    """What the source text of a plain word stands for."""
    if raw in ONLY_AS_ARGUMENT or raw == "[":
        return raw
    return "".join(_piece(found) for found in _PIECES.finditer(raw))


def _piece(found: re.Match[str]) -> str:
    bare, escaped, single, double = found.groups()
    if double is not None:
        return _IN_QUOTES.sub(r"\1", double)
    return str(next(text for text in (bare, escaped, single) if text is not None))


def quoted(argv: Sequence[str]) -> str:
    """The text that stands for exactly these words, in every shell that is read here."""
    first = argv[0] if _NAME.fullmatch(argv[0]) and argv[0] not in KEYWORDS else _quote(argv[0])
    rest = (word if _QUOTE_FREE.fullmatch(word) else _quote(word) for word in argv[1:])
    return " ".join((first, *rest))


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def why_not(text: str, at: int) -> Why:
    """What begins at a place where no plain word or operator does."""
    character = text[at]
    if character == "$":
        return _first(_AFTER_DOLLAR, text, at, Why.EXPANSION)
    if character in "<>":
        return _first(_AFTER_ANGLE, text, at, Why.REDIRECTION)
    if character == '"':
        broken = _WHERE_IT_BREAKS.search(text, at)
        return Why.SYNTAX if broken is None else _in_quotes(text, broken.start())
    if character == "\\":
        return Why.LINE_CONTINUATION if text[at + 1 : at + 2] == "\n" else Why.SYNTAX
    return _STARTS.get(character, Why.SYNTAX)


def _in_quotes(text: str, at: int) -> Why:
    if text[at] != "\\":
        return why_not(text, at)
    return Why.HISTORY if text[at + 1] == "!" else Why.LINE_CONTINUATION


def _first(table: Sequence[tuple[str, Why]], text: str, at: int, otherwise: Why) -> Why:
    return next((why for start, why in table if text.startswith(start, at)), otherwise)
