"""Text for the Windows command processor: a closed reader that refuses what it does not know.

Words of harmless characters, words in double quotes, and `& && || |` between commands. No
variables, carets, redirections, blocks, labels or new lines.
"""

from __future__ import annotations

import re

from fairlead.policy.reading.grammar import unreadable
from fairlead.policy.reading.parts import Join, Language, NotPlain, Part, PlainCommand, Span, Why
from fairlead.policy.reading.words import names

_WORD = r'(?:[A-Za-z0-9_.:/\\@+\-]|"[^"%!^&|<>\n]*+")++'
_TOKEN = re.compile(rf"(?P<blank>[ \t]++)|(?P<operator>&&|\|\||&|\|)|(?P<word>{_WORD})")
_JOINS = {"&&": Join.AND, "||": Join.OR, "&": Join.SEQUENCE, "|": Join.PIPE}
_WHYS = {
    "%": Why.EXPANSION,
    "!": Why.EXPANSION,
    "^": Why.UNKNOWN,
    "(": Why.GROUP,
    ")": Why.GROUP,
    "<": Why.REDIRECTION,
    ">": Why.REDIRECTION,
    "*": Why.GLOB,
    "?": Why.GLOB,
    "\n": Why.SYNTAX,
}
# Words of the processor itself that lead to other text, or change what names mean.
_KEYWORDS = names(
    "if for call set setlocal endlocal goto shift exit start rem path assoc ftype pushd"
    " popd cd chdir doskey else not do"
)


def read(text: str) -> tuple[Part, ...]:
    """The parts of a text. Never raises."""
    if (why := unreadable(text)) is not None:
        return (NotPlain(why=why, span=Span(0, len(text))),)
    return _Line(text).read()


class _Line:
    """Commands, as they come together word by word."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[Part] = []
        self.words: list[str] = []
        self.start = self.end = 0
        self.join: Join = Join.FIRST

    def read(self) -> tuple[Part, ...]:
        at, glued = 0, False
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                return self._refuse(_WHYS.get(self.text[at], Why.UNKNOWN))
            at = found.end()
            if found.lastgroup == "word":
                if glued:
                    return self._refuse(Why.SYNTAX)
                self._word(found)
            elif found.lastgroup == "operator" and not self._finish(_JOINS[found[0]]):
                return self._refuse(Why.SYNTAX)
            glued = found.lastgroup == "word"
        return tuple(self.parts) if self._finish(Join.FIRST) else self._refuse(Why.SYNTAX)

    def _word(self, found: re.Match[str]) -> None:
        self.start = self.start if self.words else found.start()
        self.end = found.end()
        self.words.append(found[0].replace('"', ""))

    def _finish(self, join: Join) -> bool:
        if not self.words:
            return False
        span = Span(self.start, self.end)
        name = self.words[0].lower()
        if name in _KEYWORDS or name.startswith((":", "@", "/", "-")):
            part = NotPlain(
                why=Why.STATE,
                span=span,
                join=self.join,
                words=tuple(self.words),
                language=Language.CMD,
            )
            self.parts.append(part)
        else:
            self.parts.append(
                PlainCommand(
                    argv=tuple(self.words), span=span, join=self.join, language=Language.CMD
                )
            )
        self.words, self.join = [], join
        return True

    def _refuse(self, why: Why) -> tuple[Part, ...]:
        """The text is one thing that is not plain; what was read of it may still be dangerous."""
        if self.words:
            words = (*self.words, None)
            self.parts.append(
                NotPlain(
                    why=why, span=Span(self.start, self.end), words=words, language=Language.CMD
                )
            )
        return (NotPlain(why=why, span=Span(0, len(self.text)), inside=tuple(self.parts)),)
