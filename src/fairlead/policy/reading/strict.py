"""The plain lines that shells agree on, read by a grammar of one page.

It knows words, `&& || ; | |& &`, redirections, assignments before a command and comments, and
refuses the rest. A line counts as plain only if the full grammar of bash sees the same in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fairlead.model.frozen import replace
from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import (
    Assignment,
    Flow,
    Join,
    PlainCommand,
    Redirection,
    Span,
    Why,
)
from fairlead.policy.reading.state import changes_the_shell, not_a_command
from fairlead.policy.reading.words import ONLY_AS_ARGUMENT, WORD, decode, why_not

_TOKEN = re.compile(
    rf"""
      (?P<blank>(?:[ \t]|\\\n)++)
    | (?P<newline>\n)
    | (?P<comment>\#[^\n]*+)
    # `<1-2>` is a range in zsh, and a number of two digits a word in dash.
    | (?P<descriptor>[0-9])?(?P<redirect>&>>|&>|>>|>\||>&|>(?!\()|<>|<&|<(?![<(0-9-]))
    | (?P<operator>&&|\|\||\|&|[;&|])
    | (?P<word>[!\[\]](?=[ \t;\n&|]|$)|\{{\}}(?=[ \t;\n&|]|$)|{WORD})
    """,
    re.VERBOSE,
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=", re.ASCII)
_FLOWS = {">": Flow.WRITES, ">|": Flow.WRITES, ">>": Flow.APPENDS, "<": Flow.READS}
_FLOWS |= {"<>": Flow.BOTH, "&>": Flow.WRITES, "&>>": Flow.APPENDS}
_JOINS = {join.value: join for join in Join if join is not Join.FIRST}
_ENDS_A_LIST = (Join.SEQUENCE, Join.BACKGROUND)


class Refused(Exception):
    """The text is not plain, from a place on."""

    def __init__(self, why: Why, at: int) -> None:
        super().__init__(why, at)
        self.why = why
        self.at = at


class Token(NamedTuple):
    """A piece of the text; blanks and comments are not among them. There are many of them, and a
    tuple is made in a fifth of the time of our other values."""

    kind: str  # "word", "redirect", "operator", "newline", "end"
    raw: str
    start: int
    end: int
    descriptor: str = ""
    glued: bool = False  # to the token before it


def tokens(text: str) -> Iterator[Token]:
    """The pieces of a text, up to its end."""
    at, glued = 0, False
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Refused(why_not(text, at), at)
        kind, raw = found.lastgroup or "", found[0]
        at = found.end()
        if kind in ("blank", "comment"):
            _check_unread(kind, raw, text, found.start())
            glued = False
            continue
        yield Token(kind, raw, found.start(), at, found["descriptor"] or "", glued)
        glued = True
    yield Token("end", "", at, at)


def _check_unread(kind: str, raw: str, text: str, at: int) -> None:
    """Blanks separate words, and comments go to the end of the line, or shells may differ."""
    if kind == "blank" and raw.strip("\\\n") == "":
        raise Refused(Why.LINE_CONTINUATION, at)
    if kind == "comment" and (raw.endswith("\\") or (at and text[at - 1] not in " \t\n;")):
        raise Refused(Why.COMMENT, at)


def read(found: Iterable[Token], shell: ShellKind) -> tuple[PlainCommand, ...]:
    """The commands of a plain text, from its tokens. Raises Refused for any other."""
    return _Line(shell).read(iter(found))


class _Line:
    """Commands, as they come together token by token."""

    def __init__(self, shell: ShellKind) -> None:
        self.shell = shell
        self.commands: list[PlainCommand] = []
        self.list_begins = 0  # the commands from here on go to the background with a `&`
        self.join: Join = Join.FIRST
        self._clear()

    def _clear(self) -> None:
        self.words: list[Token] = []
        self.assignments: list[Assignment] = []
        self.redirections: list[Redirection] = []
        self.start = -1
        self.end = -1
        self.last = ""

    def read(self, found: Iterator[Token]) -> tuple[PlainCommand, ...]:
        for token in found:
            if token.kind == "word":
                self._word(token)
            elif token.kind == "redirect":
                self._redirect(token, next(found))
            else:
                self._finish(token)
        return tuple(self.commands)

    def _grow(self, token: Token) -> None:
        self.start = token.start if self.start < 0 else self.start
        self.end = token.end
        self.last = token.raw

    def _word(self, token: Token) -> None:
        if token.glued and self.end == token.start:
            raise Refused(why_not(token.raw, 0), token.start)
        self._grow(token)
        assignment = None if self.words else _ASSIGNMENT.match(token.raw)
        if assignment is None:
            self._check_word(token)
            self.words.append(token)
            return
        value = token.raw[assignment.end() :]
        if value.startswith("="):
            raise Refused(Why.EQUALS, token.start)
        self.assignments.append(Assignment(assignment[1], decode(value)))

    def _check_word(self, token: Token) -> None:
        if self.words:
            if token.raw.startswith("=") and token.raw != "=":  # zsh: the path of a command
                raise Refused(Why.EQUALS, token.start)
            if token.raw == "[":  # zsh: a pattern that is not closed
                raise Refused(Why.GLOB, token.start)
        elif (why := not_a_command(token.raw)) is not None:
            raise Refused(why, token.start)

    def _redirect(self, operator: Token, target: Token) -> None:
        if not self.words:
            raise Refused(Why.REDIRECTION, operator.start)
        if operator.glued and (self.last.isdigit() or self.last == "{}"):
            raise Refused(Why.REDIRECTION, operator.start)  # is it a descriptor?
        if target.kind != "word" or target.raw in ONLY_AS_ARGUMENT or target.raw[0] == "=":
            raise Refused(Why.SYNTAX, target.start)
        self._grow(target)
        self.redirections.append(self._redirection(operator, target))

    def _redirection(self, operator: Token, target: Token) -> Redirection:
        sign = operator.raw[len(operator.descriptor) :]
        given = int(operator.descriptor) if operator.descriptor else None
        if sign in (">&", "<&"):
            return self._duplicate(sign, given, operator, target)
        if sign.startswith("&") and self.shell is ShellKind.SH:
            raise Refused(Why.REDIRECTION, operator.start)  # there it is `&` and then `>`
        usual = None if sign.startswith("&") else 0 if sign[0] == "<" else 1
        return Redirection(_FLOWS[sign], decode(target.raw), usual if given is None else given)

    def _duplicate(
        self, sign: str, given: int | None, operator: Token, target: Token
    ) -> Redirection:
        descriptor = given if given is not None else int(sign == ">&")
        if target.raw == "-":
            return Redirection(Flow.CLOSES, "-", descriptor)
        if len(target.raw) == 1 and target.raw.isdigit():
            return Redirection(Flow.DUPLICATES, target.raw, descriptor)
        file = sign == ">&" and given is None and not re.match(r"[0-9p-]", target.raw)
        if not file or self.shell is ShellKind.SH:
            raise Refused(Why.REDIRECTION, operator.start)
        return Redirection(Flow.WRITES, decode(target.raw), None)

    def _finish(self, token: Token) -> None:
        """An operator, a new line or the end: it closes the command before it."""
        if not self.words:
            self._check_empty(token)
            return
        argv = tuple(decode(word.raw) for word in self.words)
        if (why := changes_the_shell(argv, [word.raw for word in self.words])) is not None:
            raise Refused(why, self.start)
        self.commands.append(
            PlainCommand(
                argv=argv,
                span=Span(self.start, self.end),
                join=self.join,
                redirections=tuple(self.redirections),
                assignments=tuple(self.assignments),
            )
        )
        self._clear()
        self._join(token)

    def _check_empty(self, token: Token) -> None:
        """Only line ends may stand where no command is, and only a list's end may end the text."""
        if self.assignments:
            raise Refused(Why.ASSIGNMENT, self.start)
        whole = self.join in (Join.FIRST, *_ENDS_A_LIST)
        if token.kind != "newline" and not (token.kind == "end" and whole):
            raise Refused(Why.SYNTAX, token.start)

    def _join(self, token: Token) -> None:
        if token.kind == "end":
            self.join = Join.SEQUENCE
            return
        self.join = Join.SEQUENCE if token.kind == "newline" else _JOINS[token.raw]
        if self.join is Join.PIPE_ALL and self.shell is ShellKind.SH:
            raise Refused(Why.SYNTAX, token.start)
        if self.join is Join.BACKGROUND:
            behind = self.commands[self.list_begins :]
            self.commands[self.list_begins :] = [replace(c, background=True) for c in behind]
        if self.join in _ENDS_A_LIST:
            self.list_begins = len(self.commands)
