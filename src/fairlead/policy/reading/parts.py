"""What is found in a command line: commands whose every word is known, and what is not plain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from fairlead.model.frozen import dataclass

HERE = (".",)  # the directory that the line starts in


class Join(StrEnum):
    """How a command hangs on the one before it. A new line is a `;`."""

    FIRST = ""
    AND = "&&"
    OR = "||"
    SEQUENCE = ";"
    PIPE = "|"
    PIPE_ALL = "|&"
    BACKGROUND = "&"  # the one before it runs on


class Flow(StrEnum):
    """Which way a redirection goes."""

    READS = "<"
    WRITES = ">"
    APPENDS = ">>"
    BOTH = "<>"
    DUPLICATES = ">&"  # from another descriptor, which is the target
    CLOSES = ">&-"


class Carrier(StrEnum):
    """How a command runs the one in its arguments."""

    TRANSPARENT = "transparent"  # as if it were not there: a rule for the inner command is enough
    CHANGING = "changing"  # as somebody else, elsewhere, with more arguments: it is judged itself
    SHELL = "shell"  # reads its argument as text of its own


class Language(StrEnum):
    """Whose words they are: `sort /o x` writes a file in one of them and reads two in another."""

    POSIX = "posix"
    POWERSHELL = "powershell"
    CMD = "cmd"


class Why(StrEnum):
    """Why something is not plain, as what it is."""

    SUBSTITUTION = "command substitution"
    PROCESS_SUBSTITUTION = "process substitution"
    EXPANSION = "parameter expansion"
    ARITHMETIC = "arithmetic"
    BRACES = "brace expansion"
    GLOB = "glob"
    TILDE = "tilde expansion"
    ANSI_C = "$'…' quoting"
    TRANSLATED = '$"…" quoting'
    HISTORY = "history or negation mark"
    EQUALS = "= expansion"
    HEREDOC = "heredoc"
    HERESTRING = "here-string"
    REDIRECTION = "redirection that shells read differently"
    ASSIGNMENT = "assignment"
    STATE = "change of the shell itself"
    SUBSHELL = "subshell"
    GROUP = "group"
    FUNCTION = "function"
    LOOP = "loop"
    CONDITION = "condition"
    NEGATION = "negation"
    TEST = "test expression"
    JOB = "job control"
    LINE_CONTINUATION = "line continuation inside a word"
    COMMENT = "comment that shells read differently"
    CONTROL_CHARACTER = "control or invisible character"
    KEYWORD = "reserved word"
    SYNTAX = "syntax error"
    DOUBT = "two readers differ"
    TOO_LONG = "too long"
    TOO_DEEP = "nested too deeply"
    TOO_SLOW = "takes too long to read"
    WRAPPER = "wrapper with an option that is not known"
    INPUT = "arguments that come from the input"
    ENCODED = "encoded script"
    FOREIGN = "shell that is not read"
    UNKNOWN = "not in the closed list of what is read"


@dataclass(frozen=True, slots=True)
class Span:
    """Where in the text, in characters; the end is behind the last one."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redirection:
    """An effect on a file, or a descriptor that follows another one."""

    flow: Flow
    target: str
    descriptor: int | None  # None: output and errors both

    @property
    def on_file(self) -> bool:
        """False for what only joins descriptors or throws away."""
        return self.flow not in (Flow.DUPLICATES, Flow.CLOSES) and self.target != "/dev/null"

    @property
    def writes(self) -> bool:
        return self.on_file and self.flow is not Flow.READS


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that holds for one command."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCommand:
    """A command that starts with exactly these words.

    `directories` are those it may run in, relative to where the line starts: one after
    `cd DIR &&`, two after `cd DIR;`, which may fail; none if the text does not say. `..` goes up
    as `cd` does, by name, and nobody has set `CDPATH`. `inside` is what it runs in turn, read
    from its own arguments, with spans in the text that they hold.
    """

    argv: tuple[str, ...]
    span: Span
    join: Join = Join.FIRST
    redirections: tuple[Redirection, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    directories: tuple[str, ...] = HERE
    background: bool = False
    language: Language = Language.POSIX
    carrier: Carrier | None = None
    inside: tuple[Part, ...] = ()

    @property
    def bare(self) -> bool:
        """Nothing but words: no variables, no files."""
        return not self.assignments and not any(r.on_file for r in self.redirections)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPlain:
    """Something whose text alone does not say what runs.

    What could be made out is here for those who look for danger, and never for those who allow:
    `words` has None for zero or more words that are not known, `inside` the commands within.
    """

    why: Why
    span: Span
    join: Join = Join.FIRST
    words: tuple[str | None, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    directories: tuple[str, ...] = ()
    language: Language = Language.POSIX
    inside: tuple[Part, ...] = ()


Part = PlainCommand | NotPlain


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A whole command line. `text` is what the spans of `parts` point into."""

    text: str
    parts: tuple[Part, ...]

    @property
    def plain(self) -> bool:
        """Every command is known, also those within others."""
        return bool(self.parts) and not any(self.doubts())

    @property
    def bare(self) -> bool:
        """Plain, and nothing but words: no variables are set, no files are opened."""
        return self.plain and all(command.bare for command in self.commands())

    def commands(self) -> Iterator[PlainCommand]:
        """Each plain command, outer ones before those that they run."""
        return (part for part in walk(self.parts) if isinstance(part, PlainCommand))

    def doubts(self) -> Iterator[NotPlain]:
        """Each part that is not plain."""
        return (part for part in walk(self.parts) if isinstance(part, NotPlain))


def walk(parts: Iterable[Part]) -> Iterator[Part]:
    """Every part, outer ones before those within; never recursing."""
    waiting = list(parts)[::-1]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(part.inside))
