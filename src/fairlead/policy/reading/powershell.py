"""Text for PowerShell: a closed reader, and its whole grammar as a second opinion.

Words of harmless characters, words in quotes without variables, and `; | && ||` or a new line
between commands. A name runs what PowerShell makes of it: a cmdlet, an alias or a program.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairlead.model.frozen import dataclass
from fairlead.policy.reading.grammar import leaves, parse_powershell, unreadable
from fairlead.policy.reading.parts import Join, Language, NotPlain, Part, PlainCommand, Span, Why
from fairlead.policy.reading.words import names

if TYPE_CHECKING:
    from tree_sitter import Node

# `'` has brothers in typography that end a string as well.
_QUOTES = re.compile("[\u2018-\u201f\u2032-\u2036]")
_WORD = r"""(?:[A-Za-z0-9_./\\:=+\-]++|'(?:[^'\n]|'')*+'|"[^"$`\n]*+")"""
_TOKEN = re.compile(rf"(?P<blank>[ \t]++)|(?P<operator>&&|\|\||;|\||\n)|(?P<word>{_WORD})")
_NAME = re.compile(r"[A-Za-z_./\\][A-Za-z0-9_./\\:\-]*")
_JOINS = {"&&": Join.AND, "||": Join.OR, ";": Join.SEQUENCE, "|": Join.PIPE, "\n": Join.SEQUENCE}
_WHYS = {
    "`": Why.LINE_CONTINUATION,
    "(": Why.SUBSTITUTION,
    ")": Why.SUBSTITUTION,
    "{": Why.GROUP,
    "}": Why.GROUP,
    "[": Why.GLOB,
    "*": Why.GLOB,
    "?": Why.GLOB,
    ">": Why.REDIRECTION,
    "<": Why.REDIRECTION,
    "&": Why.JOB,
    "@": Why.EXPANSION,
    "#": Why.COMMENT,
    "~": Why.TILDE,
}
_KEYWORDS = {
    **dict.fromkeys(names("if elseif else switch try catch finally trap"), Why.CONDITION),
    **dict.fromkeys(names("for foreach while do until break continue"), Why.LOOP),
    **dict.fromkeys(names("function filter workflow configuration class enum"), Why.FUNCTION),
    **dict.fromkeys(
        names(
            "return exit throw using param begin process end data var hidden static parallel"
            " sequence inlinescript in define from dynamicparam clean"
        ),
        Why.KEYWORD,
    ),
    **dict.fromkeys(
        names(
            ". iex invoke-expression icm invoke-command set-alias sal new-alias nal import-module"
            " ipmo import-alias ipal set-item si new-item ni set-variable sv new-variable nv"
            " add-type set-location cd chdir sl push-location pushd pop-location popd set-content"
            " foreach-object where-object register-engineevent invoke-history ihy r start-job sajb"
        ),
        Why.STATE,
    ),
}


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    span: Span
    quoted: bool


def read(text: str) -> tuple[Part, ...]:
    """The parts of a text. Never raises, and takes bounded time."""
    whole = Span(0, len(text))
    if (why := unreadable(text)) is not None:
        return (NotPlain(why=why, span=whole),)
    if _QUOTES.search(text):
        return (NotPlain(why=Why.CONTROL_CHARACTER, span=whole),)
    tree = parse_powershell(text.encode())
    if tree is None:
        return (NotPlain(why=Why.TOO_SLOW, span=whole),)
    parts = _Line(text).read()
    if any(isinstance(part, NotPlain) for part in parts) or _agrees(tree.root_node, len(parts)):
        return parts
    return (NotPlain(why=Why.DOUBT, span=whole, inside=parts),)


def _agrees(root: Node, commands: int) -> bool:
    """True if the grammar sees as many commands, and no error."""
    if root.has_error:
        return False
    found = [node for node in leaves(root, frozenset({"command"})) if node.type == "command"]
    return len(found) == commands


class _Line:
    """Commands, as they come together word by word."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[Part] = []
        self.words: list[_Word] = []
        self.join: Join = Join.FIRST

    def read(self) -> tuple[Part, ...]:
        at, glued = 0, False
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                return self._refuse(self._why(at))
            at = found.end()
            if found.lastgroup == "word":
                if glued:  # what is joined here is another matter for each kind of command
                    return self._refuse(Why.UNKNOWN)
                self._word(found)
            elif found.lastgroup == "operator" and not self._operator(found[0]):
                return self._refuse(Why.SYNTAX)
            glued = found.lastgroup == "word"
        ended = bool(self.words) or self.join in (Join.FIRST, Join.SEQUENCE)
        if not ended:
            return self._refuse(Why.SYNTAX)
        self._finish()
        return tuple(self.parts)

    def _why(self, at: int) -> Why:
        if self.text[at] == "$" or (self.text[at] == '"' and "$" in self.text[at:]):
            within = self.text.startswith("$(", at)
            return Why.SUBSTITUTION if within else Why.EXPANSION
        return _WHYS.get(self.text[at], Why.UNKNOWN)

    def _word(self, found: re.Match[str]) -> None:
        raw = found[0]
        text = raw
        if raw[0] in "'\"":
            text = raw[1:-1].replace("''", "'") if raw[0] == "'" else raw[1:-1]
        self.words.append(_Word(text, Span(found.start(), found.end()), raw[0] in "'\""))

    def _operator(self, sign: str) -> bool:
        if not self.words:
            return sign == "\n" or (sign == ";" and self.join is Join.SEQUENCE)
        self._finish()
        self.join = _JOINS[sign]
        return True

    def _finish(self) -> None:
        if not self.words:
            return
        argv = tuple(word.text for word in self.words)
        span = Span(self.words[0].span.start, self.words[-1].span.end)
        why = self._not_plain()
        if why is None:
            self.parts.append(
                PlainCommand(argv=argv, span=span, join=self.join, language=Language.POWERSHELL)
            )
        else:
            self.parts.append(
                NotPlain(
                    why=why, span=span, join=self.join, words=argv, language=Language.POWERSHELL
                )
            )
        self.words = []

    def _not_plain(self) -> Why | None:
        name = self.words[0]
        if name.quoted or not _NAME.fullmatch(name.text):
            return Why.UNKNOWN  # an expression, such as a number or a string
        if any(word.text == "--%" for word in self.words):
            return Why.UNKNOWN  # the rest of the line is not read as words any more
        return _KEYWORDS.get(name.text.lower())

    def _refuse(self, why: Why) -> tuple[Part, ...]:
        """The text is one thing that is not plain; what was read of it may still be dangerous."""
        if self.words:
            span = Span(self.words[0].span.start, self.words[-1].span.end)
            words = (*(word.text for word in self.words), None)
            self.parts.append(
                NotPlain(why=why, span=span, words=words, language=Language.POWERSHELL)
            )
        return (NotPlain(why=why, span=Span(0, len(self.text)), inside=tuple(self.parts)),)
