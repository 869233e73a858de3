"""Where each command of a plain line runs, as far as the text says.

`cd` moves what comes after it if it succeeds, so there are two sets of places at any time: where
we are if the last command succeeded, and where if it failed. None is a set that nobody knows.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from fairlead.model.frozen import replace
from fairlead.policy.reading.parts import HERE, Join, NotPlain, Part, PlainCommand

MOST = 8  # places that a command may run in, before nobody can say any more

Places = frozenset[str] | None
_NOWHERE: frozenset[str] = frozenset()
# What may move the shell, wherever it stands in a text that is not plain.
_MOVES = re.compile(r"\b(cd|chdir|pushd|popd|eval|source)\b|(^|[\s;&|({`])\.[ \t]")
_UNSURE = (None, "cd", "eval", "source", ".", "pushd", "popd")
_PIPES = (Join.PIPE, Join.PIPE_ALL)


def placed(parts: Sequence[Part], text: str) -> tuple[Part, ...]:
    """The same parts, each with the directories that it may run in."""
    if not any(_may_move(part, text) for part in parts):
        return tuple(_within(part, HERE) for part in parts)
    plain = all(isinstance(part, PlainCommand) for part in parts)
    if not plain and any(part.join is Join.BACKGROUND for part in parts):
        return tuple(parts)  # how far the background goes is known of plain lines only
    return tuple(_walk(parts, text))


def _within(part: Part, directories: tuple[str, ...]) -> Part:
    """A part, with all that it contains, in the same directories."""
    if part.directories == directories and not part.inside:
        return part
    inside = tuple(_within(inner, directories) for inner in part.inside)
    return replace(part, directories=directories, inside=inside)


def _walk(parts: Sequence[Part], text: str) -> Iterator[Part]:
    succeeded: Places = frozenset(HERE)
    failed: Places = _NOWHERE
    before, background = succeeded, False
    reached = before  # where the shell itself is when the last pipeline of a list begins
    for pipeline in _pipelines(parts):
        join = pipeline[0].join
        skipped: tuple[Places, Places]
        if join is Join.AND:
            entry, skipped = succeeded, (_NOWHERE, failed)
        elif join is Join.OR:
            entry, skipped = failed, (succeeded, _NOWHERE)
        else:  # a list in the background moves nobody else; zsh sends only its last pipeline there
            entry = _either(before, reached) if background else _either(succeeded, failed)
            skipped, before = (_NOWHERE, _NOWHERE), entry
        reached = entry if join not in (Join.AND, Join.OR) else _either(succeeded, failed)
        background = isinstance(pipeline[0], PlainCommand) and pipeline[0].background
        yield from (_put(part, entry, text) for part in pipeline)
        then, otherwise = _after(pipeline, entry, text)
        succeeded, failed = _either(then, skipped[0]), _either(otherwise, skipped[1])


def _put(part: Part, entry: Places, text: str) -> Part:
    if isinstance(part, PlainCommand) or not _may_move(part, text):
        return _within(part, _shown(entry))
    return replace(part, directories=_shown(entry))  # what is in it may be elsewhere by then


def _may_move(part: Part, text: str) -> bool:
    """True for a `cd`, and for what is not plain and may hold one."""
    if isinstance(part, PlainCommand):
        return part.argv[0] == "cd"
    if _MOVES.search(text, part.span.start, part.span.end) is not None:
        return True
    if part.words and part.words[0] in _UNSURE:
        return True
    return any(_may_move(inner, "") for inner in part.inside)


def _pipelines(parts: Sequence[Part]) -> Iterator[list[Part]]:
    pipeline: list[Part] = []
    for part in parts:
        if pipeline and part.join not in _PIPES:
            yield pipeline
            pipeline = []
        pipeline.append(part)
    if pipeline:
        yield pipeline


def _after(pipeline: Sequence[Part], entry: Places, text: str) -> tuple[Places, Places]:
    """Where we are if a pipeline succeeds, and where if it fails."""
    if any(isinstance(part, NotPlain) and _may_move(part, text) for part in pipeline):
        return None, None
    commands = [part for part in pipeline if isinstance(part, PlainCommand)]
    if len(pipeline) > 1:  # the last command runs in a shell of its own, or it does not
        moved = [_moved(command, entry) for command in commands if command.argv[0] == "cd"]
        for places in moved:
            entry = _either(entry, places)
        return entry, entry
    if commands and commands[0].argv[0] == "cd":
        return _moved(commands[0], entry), entry
    return (_NOWHERE, _NOWHERE) if commands and _leaves(commands[0]) else (entry, entry)


def _leaves(command: PlainCommand) -> bool:
    """True for an `exit` that no shell refuses."""
    words = command.argv[1:]
    return command.argv[0] == "exit" and (not words or (len(words) == 1 and words[0].isdecimal()))


def _moved(command: PlainCommand, entry: Places) -> Places:
    """Where a `cd` goes; None where only the shell knows."""
    words = command.argv[1:]
    words = words[1:] if words[:1] == ("--",) else words
    if len(words) != 1 or not words[0] or words[0][0] in "-+" or command.assignments:
        return None
    if entry is None:
        return frozenset({posixpath.normpath(words[0])}) if words[0].startswith("/") else None
    return frozenset(posixpath.normpath(posixpath.join(place, words[0])) for place in entry)


def _either(first: Places, second: Places) -> Places:
    if first is None or second is None or len(both := first | second) > MOST:
        return None
    return both


def _shown(places: Places) -> tuple[str, ...]:
    return () if places is None else tuple(sorted(places))
