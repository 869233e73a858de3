"""Commands that only read and show: nobody has to be asked for them.

Judged on words, never by pattern on text. `git` is not on the list: a repository's configuration
can run programs. Nor are programs whose options nobody can tell apart from a file or a command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlead.model.frozen import dataclass
from fairlead.model.requirement import RuleRef
from fairlead.policy.reading.parts import (
    Carrier,
    Flow,
    Language,
    NotPlain,
    Part,
    PlainCommand,
    Reading,
)
from fairlead.policy.reading.words import names
from fairlead.policy.reading.wrappers import name_of

TABLE = "known-safe"


@dataclass(frozen=True, slots=True)
class Safe:
    """Only reads and shows."""

    because: RuleRef


@dataclass(frozen=True, slots=True)
class NotSafe:
    """Not known to be harmless, which does not mean that it is not."""

    because: RuleRef
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a known program may be told. Without limits, anything."""

    not_options: frozenset[str] = frozenset()  # with any of these it does more than read
    at_most: int | None = None  # words that are not options
    words: str | None = None  # each of them matches this
    exactly: str | None = None  # the arguments together, joined by line ends


_ANY = Row()
POSIX: dict[str, Row] = {
    **dict.fromkeys(
        names(
            "[ : arch b2sum basename cat cd cksum cmp comm cut df diff dirname du echo egrep exit"
            " expand expr factor false fgrep fmt fold free grep groups head id join ls md5sum nl"
            " nproc numfmt od paste printf pwd readlink realpath rev seq set sha1sum sha224sum"
            " sha256sum sha384sum sha512sum sleep stat strings sum tac tail test tr true tsort tty"
            " uname unexpand uptime wc which whoami"
        ),
        _ANY,
    ),
    "base64": Row(not_options=names("-o --output")),
    "command": Row(exactly=r"-[vV]\n[\w.+-]+"),
    "date": Row(not_options=names("-s --set"), words=r"\+.*"),  # a bare number sets the clock
    "file": Row(not_options=names("-C --compile -z --uncompress -Z --uncompress-noreport")),
    "find": Row(
        not_options=names(
            "-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf -files0-from"
        )
    ),
    "hostname": Row(exactly=r""),
    "rg": Row(not_options=names("--pre --hostname-bin -z --search-zip")),
    "sed": Row(exactly=r"-n\n\d+(,\d+)?p(\n[^-\n][^\n]*)?"),
    "sort": Row(
        not_options=names("-o --output -T --temporary-directory --compress-program --files0-from")
    ),
    "tree": Row(not_options=names("-o -R")),
    "uniq": Row(at_most=1),  # the second file is written
    "xxd": Row(at_most=1, not_options=names("-r -revert")),
}
POWERSHELL: dict[str, Row] = dict.fromkeys(
    names(
        "get-childitem gci dir get-content gc type select-string sls measure-object measure"
        " get-location gl pwd test-path resolve-path rvpa select-object select get-item gi"
        " write-output write echo write-host"
    ),
    _ANY,
)
CMD: dict[str, Row] = dict.fromkeys(names("dir type echo findstr where ver vol"), _ANY)
_TABLES = {Language.POSIX: POSIX, Language.POWERSHELL: POWERSHELL, Language.CMD: CMD}
_LEAVES_TRACES = names("nohup setsid")
_REMOTE = re.compile(r"[\\/]{2}[^\\/]")  # reading it sends who asks to another machine
_QUIET_DEVICES = ("/dev/null", "/dev/zero", "/dev/stdin")


def judge_reading(reading: Reading) -> Safe | NotSafe:
    """Safe if every command of the line is; otherwise the first that is not."""
    if not reading.parts:
        return NotSafe(RuleRef(TABLE), "there is no command")
    return _all(reading.parts)


def judge_command(command: PlainCommand) -> Safe | NotSafe:
    """Whether one command, with all that it runs, only reads and shows."""
    if command.assignments:
        return _no("assignment", f"it sets {command.assignments[0].name}")
    for redirection in command.redirections:
        if redirection.writes:
            return _no("redirection", f"it writes {redirection.target}")
        if redirection.flow is Flow.READS and not _readable(redirection.target):
            return _no("redirection", f"it opens {redirection.target}")
    if command.carrier is Carrier.CHANGING:
        return _no(command.argv[0], "it runs another command in its own way")
    if command.carrier is not None:
        if (name := name_of(command.argv[0])[0]) in _LEAVES_TRACES:
            return _no(name, "it may write a file, or outlive the call")
        return _all(command.inside)
    return _words(command)


def _all(parts: Sequence[Part]) -> Safe | NotSafe:
    rows: dict[str, None] = {}
    for part in parts:
        if isinstance(part, NotPlain):
            return _no("not plain", part.why.value)
        verdict = judge_command(part)
        if isinstance(verdict, NotSafe):
            return verdict
        rows[verdict.because.text] = None
    return Safe(RuleRef(TABLE, text=", ".join(rows)))


def _no(row: str, reason: str) -> NotSafe:
    return NotSafe(RuleRef(TABLE, text=row), reason)


def _words(command: PlainCommand) -> Safe | NotSafe:
    name, trusted = name_of(command.argv[0])
    if command.language is not Language.POSIX:
        name = name.lower()
    row = _TABLES[command.language].get(name)
    if row is None or not trusted:
        return _no(name, "it is not on the list" if row is None else "it is not the system's own")
    reason = _reason(row, command.argv[1:])
    if command.language is not Language.POSIX and any(map(_REMOTE.match, command.argv)):
        reason = "it names another machine"
    return Safe(RuleRef(TABLE, text=name)) if reason is None else _no(name, reason)


def _reason(row: Row, words: Sequence[str]) -> str | None:
    """Why these arguments are more than the row allows."""
    if row.exactly is not None and not re.fullmatch(row.exactly, "\n".join(words)):
        return "only a few ways to call it are known to be safe"
    for word in words:
        if (option := denied(word, row.not_options)) is not None:
            return f"{option} does more than read"
    others = [word for word in words if not word.startswith("-") or word == "-"]
    if row.at_most is not None and len(others) > row.at_most:
        return f"it takes at most {row.at_most} file to be safe"
    if row.words is not None and not all(re.fullmatch(row.words, word) for word in others):
        return f"{others[0]} may change something"
    return None


def denied(word: str, options: frozenset[str]) -> str | None:
    """The option among these that a word is, may be short for, or has in a cluster.

    Also behind `--`, where it would be a file: not every program keeps to that.
    """
    if not word.startswith("-"):
        return None
    if word in options:
        return word
    if word.startswith("--"):
        name = word.partition("=")[0]
        longer = (option for option in options if option.startswith(name))
        return None if name == "--" else next(iter(sorted(longer)), None)
    letters = {option for option in options if len(option) == 2 and option[1] in word[1:]}
    return next(iter(sorted(letters)), None)


def _readable(path: str) -> bool:
    return not path.startswith("/dev/") or path in _QUIET_DEVICES
