"""A command line, or words to execute, read to the last command that it runs."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from itertools import pairwise

from fairlead.model.frozen import replace
from fairlead.model.params import ShellKind
from fairlead.policy.reading import cmd, posix, powershell
from fairlead.policy.reading.carriers import shell_script
from fairlead.policy.reading.directories import placed
from fairlead.policy.reading.parts import (
    Carrier,
    NotPlain,
    Part,
    PlainCommand,
    Reading,
    Span,
    Why,
)
from fairlead.policy.reading.words import quoted
from fairlead.policy.reading.wrappers import Unwrapped, unwrap

MAX_WRAPPERS = 8  # one in the other; beyond it nobody means well

_POSIX = (ShellKind.BASH, ShellKind.ZSH, ShellKind.SH)


def read_script(text: str, shell: ShellKind) -> Reading:
    """What a shell that talks to nobody would run, given this text."""
    try:
        return Reading(text=text, parts=_parts(text, shell, 0))
    except RecursionError:  # for a caller that has used up most of the stack
        return Reading(text=text, parts=(NotPlain(why=Why.TOO_DEEP, span=Span(0, len(text))),))


def read_argv(argv: Sequence[str]) -> Reading:
    """What runs if these words are executed as they are, without a shell."""
    words = tuple(argv)
    text = quoted(words) if words else ""
    if not words or "\0" in text:
        return Reading(text=text, parts=(NotPlain(why=Why.SYNTAX, span=Span(0, len(text))),))
    command = PlainCommand(argv=words, span=Span(0, len(text)))
    return Reading(text=text, parts=(_opened(command, 0),))


def judged(command: PlainCommand) -> PlainCommand:
    """The command that a rule which allows has to name: what runs in turn, as long as those
    around it change nothing about it."""
    while command.carrier is Carrier.TRANSPARENT and len(command.inside) == 1:
        inner = command.inside[0]
        if not isinstance(inner, PlainCommand):
            break
        command = inner
    return command


def _parts(text: str, shell: ShellKind, depth: int) -> tuple[Part, ...]:
    if shell in _POSIX:
        parts = placed(posix.read(text, shell), text)
    elif shell is ShellKind.POWERSHELL:
        parts = powershell.read(text)
    elif shell is ShellKind.CMD:
        parts = cmd.read(text)
    else:
        parts = (NotPlain(why=Why.FOREIGN, span=Span(0, len(text))),)
    return tuple(_opened(part, depth) for part in parts)


def _opened(part: Part, depth: int) -> Part:
    """The same part with what it runs in turn."""
    if isinstance(part, NotPlain):
        inside = tuple(_opened(inner, depth) for inner in part.inside)
        return replace(part, inside=inside + _partly(part, depth))
    found = shell_script(part.argv) or unwrap(part.argv)
    if found is None:
        return part
    carrier = found.carrier if isinstance(found, Unwrapped) else Carrier.CHANGING
    return replace(part, carrier=carrier, inside=_inside(part, found, depth + 1))


def _inside(outer: PlainCommand, found: Unwrapped | Why, depth: int) -> tuple[Part, ...]:
    span = Span(0, sum(map(len, outer.argv)))
    if isinstance(found, Why):
        return (NotPlain(why=found, span=span, words=outer.argv[1:]),)
    if depth > MAX_WRAPPERS:
        return (NotPlain(why=Why.TOO_DEEP, span=span, words=found.argv),)
    if found.script is not None and found.shell is not None:
        return _moved(_parts(found.script, found.shell, depth), outer.directories)
    if found.open_end:
        words = _holes(found.argv, outer.argv)
        doubt = NotPlain(why=Why.INPUT, span=span, words=words, directories=outer.directories)
        return (_opened(doubt, depth),)
    directories = _beneath(outer.directories, found.directory)
    inner = PlainCommand(
        argv=found.argv,
        span=Span(0, len(quoted(found.argv))),
        join=outer.join,
        assignments=found.assignments,
        directories=directories,
    )
    return (_opened(inner, depth),)


def _partly(doubt: NotPlain, depth: int) -> tuple[Part, ...]:
    """What a command with unknown words runs in turn, as far as the known ones tell."""
    known = tuple(word for word in doubt.words if word is not None)
    if not known or doubt.words[0] is None or depth >= MAX_WRAPPERS:
        return ()
    found = shell_script(known) or unwrap(known)
    if not isinstance(found, Unwrapped):
        return ()
    if found.script is not None and found.shell is not None:
        return _parts(found.script, found.shell, depth + 1)
    words = (*found.argv, None)
    return (_opened(NotPlain(why=doubt.why, span=doubt.span, words=words), depth + 1),)


def _holes(argv: Sequence[str], outer: Sequence[str]) -> tuple[str | None, ...]:
    """The words of a command that gets more from its input: at its end, or in place of a mark."""
    marks = [after for word, after in pairwise(outer) if word == "-I"]
    marks += [word[2:] for word in outer[1:] if word.startswith("-I") and len(word) > 2]
    mark = next(iter(marks), None)
    if mark is None:
        return (*argv, None)
    return tuple(None if mark in word else word for word in argv)


def _moved(parts: Sequence[Part], directories: tuple[str, ...]) -> tuple[Part, ...]:
    """The parts of a text that a shell reads which does not start where the line does."""
    if directories == (".",):
        return tuple(parts)
    return tuple(
        replace(
            part,
            directories=tuple(
                posixpath.normpath(posixpath.join(outer, inner))
                for outer in directories
                for inner in part.directories
            ),
            inside=_moved(part.inside, directories),
        )
        for part in parts
    )


def _beneath(directories: tuple[str, ...], inner: str | None) -> tuple[str, ...]:
    if inner is None:
        return directories
    return tuple(posixpath.normpath(posixpath.join(place, inner)) for place in directories)
