"""The grammars, loaded when the first text is read, and kept from taking long."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING

from fairlead.policy.reading.parts import Why

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

MAX_TEXT = 64 * 1024  # characters; a longer line is a file that was meant to be written first
SECONDS = 0.25  # a typical line takes microseconds, but some nonsense takes the square of its size
_PIECE = 4096


def unreadable(text: str) -> Why | None:
    """Why a text is not even given to a reader."""
    if len(text) > MAX_TEXT:
        return Why.TOO_LONG
    printed = text.replace("\n", "").replace("\t", "")
    # Zero-width, bidi and control characters, lone surrogates, blanks that no shell splits at.
    return None if printed.isprintable() else Why.CONTROL_CHARACTER


def parse_bash(source: bytes) -> Tree | None:
    """The tree of a text for a POSIX shell; None if that takes too long."""
    return _parse(source, _bash())


def parse_powershell(source: bytes) -> Tree | None:
    """The tree of a text for PowerShell; None if that takes too long."""
    return _parse(source, _powershell())


def _parse(source: bytes, language: Language) -> Tree | None:
    from tree_sitter import Parser

    parser = Parser(language)
    if len(source) <= 256:  # so short that nothing is slow
        return parser.parse(source)
    try:
        return parser.parse(lambda at, _: source[at : at + _PIECE], progress_callback=_deadline())
    except ValueError:
        return None


def _deadline() -> Callable[[int, bool], bool]:
    until = monotonic() + SECONDS
    return lambda _offset, _error: monotonic() > until


@cache
def _bash() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


@cache
def _powershell() -> Language:
    import tree_sitter_powershell
    from tree_sitter import Language

    return Language(tree_sitter_powershell.language())


def leaves(node: Node, whole: frozenset[str]) -> list[Node]:
    """The nodes of the given types and those without children, in order; never recursing."""
    found: list[Node] = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.type in whole or not node.child_count:
            found.append(node)
        else:
            waiting.extend(reversed(node.children))
    return found
