"""What a command would do that can't be undone: the effects of a line, by table.

An effect is not yet a danger: deleting a file of the workspace is work. It is one where the row
says so wherever it happens (`rm -f`, `mkfs`), or where it reaches out of the writable roots.
Paths are compared by name, since nothing is looked up: links are the sandbox's business.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from fairlead.model.frozen import dataclass
from fairlead.model.requirement import RuleRef
from fairlead.policy.danger_posix import POSIX
from fairlead.policy.danger_row import Deed, Row, by_name, found_in
from fairlead.policy.danger_windows import CMD, POWERSHELL
from fairlead.policy.reading.carriers import SHELLS
from fairlead.policy.reading.parts import (
    Flow,
    Join,
    Language,
    NotPlain,
    Part,
    PlainCommand,
    Reading,
    Redirection,
    Why,
    walk,
)
from fairlead.policy.reading.words import names
from fairlead.policy.reading.wrappers import WRAPPERS, name_of

TABLE = "danger"
ROWS: dict[Language, tuple[Row, ...]] = {
    Language.POSIX: POSIX,
    Language.POWERSHELL: POWERSHELL,
    Language.CMD: CMD,
}
_BY_NAME = {language: by_name(rows) for language, rows in ROWS.items()}
KEPT = (".git", ".fairlead")  # inside a root, and still not what a command may take away
_HARMLESS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero")
_NETWORK = ("/dev/tcp/", "/dev/udp/")
# Programs that run what is in their arguments, in ways that are not read. Who looks for danger
# takes any word of theirs for the beginning of a command; who allows has to name them.
_RUNNERS = names(
    "watch parallel script strace ltrace systemd-run unbuffer setarch linux32 linux64 chrt numactl"
    " proxychains proxychains4 torify torsocks eatmydata firejail bwrap proot fakeroot xvfb-run"
    " caffeinate entr ssh su runuser unshare nsenter gosu setpriv pkexec cpulimit catchsegv"
)
_HIDES_A_COMMAND = (Why.WRAPPER, Why.FOREIGN, Why.STATE)  # `env -S 'rm x'`, `eval 'rm x'`
_MOST_WORDS = 64
_MOST_COMMANDS = 16
_SEPARATORS = re.compile(r"[\s;&|=(){}]+")
_SLASH_OPTION = re.compile(r"/[A-Za-z?](:\S*)?")
_LOSSES = (Deed.DELETES, Deed.FORMATS)


class Where(StrEnum):
    """Where an effect happens."""

    INSIDE = "inside the writable roots"
    ROOT = "a whole writable root"
    KEPT = "what is protected inside a root"
    OUTSIDE = "outside the writable roots"
    UNKNOWN = "nobody can tell where"
    NOWHERE = "no file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that a line does. `dangerous` says that a person should know before."""

    deed: Deed
    target: str | None
    where: Where
    dangerous: bool
    because: RuleRef
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Absolute paths: where the line starts, and what it may write below."""

    cwd: str
    roots: tuple[str, ...]


def effects(reading: Reading, places: Places) -> tuple[Effect, ...]:
    """All that the line is known to do, also where it is not plain."""
    found: dict[Effect, None] = {}
    for part in walk(reading.parts):
        found.update(dict.fromkeys(_effects(part, places)))
    return tuple(found)


def dangers(reading: Reading, places: Places) -> tuple[Effect, ...]:
    """The effects that a person should know about before."""
    return tuple(effect for effect in effects(reading, places) if effect.dangerous)


def _effects(part: Part, places: Places) -> Iterator[Effect]:
    words: tuple[str | None, ...] = part.argv if isinstance(part, PlainCommand) else part.words
    for redirection in part.redirections:
        yield from _redirected(redirection, part, places)
    yield from _of_words(words, part, places)
    if words and _may_run_words(words[0], part):
        for inner in _ends_of(words):
            yield from _of_words(inner, part, places)


def _may_run_words(name: str | None, part: Part) -> bool:
    if isinstance(part, NotPlain) and part.why in _HIDES_A_COMMAND:
        return True
    return name is not None and name_of(name)[0] in _RUNNERS


def _ends_of(words: Sequence[str | None]) -> Iterator[tuple[str | None, ...]]:
    """Every way in which the rest of some words may be a command of its own."""
    split: list[str | None] = []
    for word in words[:_MOST_WORDS]:
        split.extend([None] if word is None else _SEPARATORS.split(word)[:_MOST_WORDS])
    for at, word in enumerate(split[:_MOST_WORDS]):
        if at and word is not None and not word.startswith("-"):
            yield tuple(split[at:])


def _of_words(words: Sequence[str | None], part: Part, places: Places) -> Iterator[Effect]:
    if not words or words[0] is None:
        return
    name = name_of(words[0])[0]
    if part.language is not Language.POSIX:
        name, words = name.lower(), [_dashed(word) for word in words]
    for row in _BY_NAME[part.language].get(name, ()):
        targets = found_in(row, words[1:], piped=_is_fed(part))
        for target in targets if targets is not None else ():
            yield _effect(row, target, part, places)
    if name == "find" and part.language is Language.POSIX:
        for inner in executed_by_find(words):
            yield from _of_found(inner, part, places)


def _of_found(words: Sequence[str | None], part: Part, places: Places) -> Iterator[Effect]:
    """The effects of what `find` runs, but for another `find`."""
    if not words or words[0] in (None, "find"):
        return
    yield from _of_words(words, part, places)
    name = name_of(str(words[0]))[0]
    if name in SHELLS or name in WRAPPERS:
        for inner in _ends_of(words):
            if inner[0] != "find":
                yield from _of_words(inner, part, places)


def _dashed(word: str | None) -> str | None:
    """A `/x` of Windows as an option like any other."""
    return f"-{word[1:]}" if word and _SLASH_OPTION.fullmatch(word) else word


def executed_by_find(words: Sequence[str | None]) -> Iterator[tuple[str | None, ...]]:
    """The commands that `find` runs for each file, which is the unknown word in them."""
    starts = [at for at, word in enumerate(words) if word in ("-exec", "-execdir", "-ok", "-okdir")]
    for start in starts[:_MOST_COMMANDS]:
        inner: list[str | None] = []
        for word in words[start + 1 :]:
            if word in (";", "+"):
                break
            inner.append(None if word is None or "{}" in word else word)
        yield tuple(inner)


def _is_fed(part: Part) -> bool:
    """True if what it reads is made by the line itself."""
    if part.join in (Join.PIPE, Join.PIPE_ALL):
        return True
    return isinstance(part, NotPlain) and part.why in (Why.HEREDOC, Why.HERESTRING)


def _redirected(redirection: Redirection, part: Part, places: Places) -> Iterator[Effect]:
    if redirection.target.startswith(_NETWORK) and redirection.on_file:
        yield _effect(_TALKS, redirection.target, part, places)
    elif redirection.writes:
        row = _APPENDS if redirection.flow is Flow.APPENDS else _WRITES
        yield _effect(row, redirection.target, part, places)


_WRITES = Row(">", Deed.WRITES, names=frozenset(), says="writes a file")
_APPENDS = Row(">>", Deed.WRITES, names=frozenset(), says="appends to a file")
_TALKS = Row("/dev/tcp", Deed.SENDS, names=frozenset(), always=True, says="talks to the network")


def _effect(row: Row, target: str | None, part: Part, places: Places) -> Effect:
    path = row.on_paths
    named = _slashed(target) if part.language is not Language.POSIX else target
    where = _where(named, part.directories, places) if path else Where.NOWHERE
    if path and target in _HARMLESS:
        where = Where.NOWHERE
    return Effect(
        deed=row.deed,
        target=target,
        where=where,
        dangerous=row.always or _reaches_out(row.deed, where),
        because=RuleRef(TABLE, text=row.name),
        says=row.says,
    )


def _reaches_out(deed: Deed, where: Where) -> bool:
    if where is Where.OUTSIDE:
        return True
    return deed in _LOSSES and where in (Where.ROOT, Where.KEPT, Where.UNKNOWN)


def _where(target: str | None, directories: Sequence[str], places: Places) -> Where:
    """Where a path leads; the worst, if it may lead to several places."""
    if target is None or (not directories and not target.startswith("/")):
        return Where.UNKNOWN
    starts = directories or (places.cwd,)
    found = {_place(_absolute(places.cwd, start, target), places.roots) for start in starts}
    worst = (Where.OUTSIDE, Where.ROOT, Where.KEPT, Where.INSIDE)
    return next(where for where in worst if where in found)


def _slashed(target: str | None) -> str | None:
    """A path of Windows. One with a drive is nowhere below a root of ours."""
    path = target.replace("\\", "/") if target else target
    return f"/{path}" if path and path[1:2] == ":" else path


def _absolute(cwd: str, directory: str, target: str) -> str:
    path = posixpath.normpath(posixpath.join("/", cwd, directory, target))
    return "/" + path.lstrip("/")  # POSIX leaves two slashes alone; Linux does not


def _place(path: str, roots: Sequence[str]) -> Where:
    for root in roots:
        base = root.rstrip("/")
        if path == (base or "/"):
            return Where.ROOT
        if path.startswith(f"{base}/"):
            kept = set(path[len(base) + 1 :].split("/")) & set(KEPT)
            return Where.KEPT if kept else Where.INSIDE
    return Where.OUTSIDE
