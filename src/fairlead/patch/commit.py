"""A patch checked against the disk, then written: first everything in memory, then all or nothing.

`verify` reads; `commit` writes what was verified, onto exactly the objects that were verified.
Between the two a person may think for as long as they like.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeVar

from fairlead.model.errors import ExecError
from fairlead.model.frozen import dataclass
from fairlead.patch.files import Check, Entry, Existing, Ground, look, refused
from fairlead.patch.grammar import (
    AddFile,
    DeleteFile,
    Operation,
    Patch,
    PatchError,
    UpdateFile,
    verification_failed,
)
from fairlead.patch.match import apply
from fairlead.patch.swap import Swap

Letter = Literal["A", "M", "D"]
_Key = TypeVar("_Key")


class CommitFailed(ExecError):
    """The system refused a step. The text says so if anything is not as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One operation, computed: what is there goes, and what is new takes its name."""

    letter: Letter
    shown: str  # the path as the patch spells it; of a move the new one
    source: Existing | None
    target: Entry | None
    content: bytes | None  # what the target will hold

    @property
    def paths(self) -> tuple[Path, ...]:
        """The real paths that this touches."""
        entries = (self.source.entry if self.source else None, self.target)
        return tuple(Path(real) for real in dict.fromkeys(e.real for e in entries if e))

    @property
    def old_content(self) -> bytes | None:
        """What an updated file held."""
        return self.source.content if self.source else None


@dataclass(frozen=True, slots=True)
class VerifiedPatch:
    """Every change of a patch that fits, with nothing written yet."""

    changes: tuple[Change, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """The real paths that this touches, in the patch's order."""
        return tuple(path for change in self.changes for path in change.paths)


@dataclass(frozen=True, slots=True)
class Summary:
    """What was written: a letter and the path as the patch spells it."""

    changes: tuple[tuple[Letter, str], ...]

    @property
    def text(self) -> str:
        """The answer to whoever sent the patch."""
        lines = "".join(f"{letter} {path}\n" for letter, path in self.changes)
        return f"Success. Updated the following files:\n{lines}"


def verify(
    patch: Patch, cwd: Path, roots: Sequence[Path] | None, check: Check | None = None
) -> VerifiedPatch:
    """Compute what a patch makes of the files below `roots` (None: of any), writing nothing.
    `check` may refuse a path, by raising, before what is there is looked at.

    Raises `PatchError` where it does not fit, `OutsideRoots` where it leads out of the roots.
    """
    claims = _Claims()
    try:
        ground = Ground.of(cwd, roots, check)
        changes = tuple(_compute(operation, ground, claims) for operation in patch.operations)
    except OSError as error:  # resolving a path fails where a part of it is swapped meanwhile
        raise refused(str(error.filename), error) from error
    claims.refuse_files_as_directories()
    return VerifiedPatch(changes)


def commit(verified: VerifiedPatch) -> Summary:
    """Write what was verified, all of it or nothing.

    Raises `PatchError` if a file is not what it was, `CommitFailed` if the system refuses a step.
    """
    swap = Swap()
    try:
        with swap:
            _write(verified.changes, swap)
    except OSError as error:
        why = f"{swap.about}: {error.strerror or error}"
        raise CommitFailed(_what_happened(why, swap.lost)) from error
    except PatchError as error:
        if swap.lost:
            raise CommitFailed(_what_happened(str(error), swap.lost)) from error
        raise
    if swap.leftovers:
        raise CommitFailed(f"apply_patch wrote everything but left {'; '.join(swap.leftovers)}")
    return Summary(tuple((change.letter, change.shown) for change in verified.changes))


def _write(changes: Sequence[Change], swap: Swap) -> None:
    for change in changes:
        if change.source:
            swap.require_unchanged(change.source)
    for change in changes:
        if change.target and not (change.source and change.source.entry == change.target):
            swap.require_free(change.target)
    staged = [_stage(change, swap) for change in changes]
    for change, name in zip(changes, staged, strict=True):
        if change.source:
            swap.set_aside(change.source)
        if change.target and name:
            swap.place(name, change.target)


def _stage(change: Change, swap: Swap) -> str | None:
    if change.target is None or change.content is None:
        return None
    like = change.source.entry if change.source else None
    return swap.stage(change.target, change.content, like)


def _what_happened(why: str, lost: Sequence[str]) -> str:
    if lost:
        return f"apply_patch failed ({why}) and not all could be put back: {'; '.join(lost)}"
    return f"apply_patch failed and nothing was changed: {why}"


class _Claims:
    """Which entries and objects the patch has named: none may be named twice."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._objects: set[tuple[int, int]] = set()

    def entry(self, entry: Entry) -> Entry:
        # A deleted link and the file it points to count as one.
        for real in {entry.real, os.path.realpath(entry.real)}:
            _claim(real, self._paths, entry)
        return entry

    def existing(self, found: Existing) -> Existing:
        _claim((found.stamp.device, found.stamp.inode), self._objects, found.entry)
        return found

    def refuse_files_as_directories(self) -> None:
        for path in self._paths:
            for parent in Path(path).parents:
                if str(parent) in self._paths:
                    raise verification_failed(f"multiple operations target {parent}")


def _claim(key: _Key, claimed: set[_Key], entry: Entry) -> None:
    if key in claimed:
        raise verification_failed(f"multiple operations target {entry.shown}")
    claimed.add(key)


def _compute(operation: Operation, ground: Ground, claims: _Claims) -> Change:
    match operation:
        case AddFile():
            return _add(operation, ground, claims)
        case DeleteFile():
            return _delete(operation, ground, claims)
        case UpdateFile():
            return _update(operation, ground, claims)


def _add(add: AddFile, ground: Ground, claims: _Claims) -> Change:
    target = claims.entry(ground.locate(add.path, follow=False))
    if look(target, read=False) is not None:
        raise verification_failed(f"{add.path} exists already; use *** Update File to change it")
    content = "".join(f"{line}\n" for line in add.lines).encode("utf-8", "surrogateescape")
    return Change(letter="A", shown=add.path, source=None, target=target, content=content)


def _delete(delete: DeleteFile, ground: Ground, claims: _Claims) -> Change:
    entry = claims.entry(ground.locate(delete.path, follow=False))
    source = claims.existing(_require(look(entry, read=False), delete.path, "delete"))
    return Change(letter="D", shown=delete.path, source=source, target=None, content=None)


def _update(update: UpdateFile, ground: Ground, claims: _Claims) -> Change:
    entry = claims.entry(ground.locate(update.path, follow=True))
    source = claims.existing(_require(look(entry, read=True), update.path, "update"))
    target = entry if update.move_to is None else _destination(update, entry, ground, claims)
    shown = update.path if update.move_to is None else update.move_to
    content = apply(source.content or b"", update.hunks, update.path)
    return Change(letter="M", shown=shown, source=source, target=target, content=content)


def _destination(update: UpdateFile, source: Entry, ground: Ground, claims: _Claims) -> Entry:
    shown = update.move_to or ""
    if ground.locate(update.path, follow=False).real != source.real:
        raise verification_failed(f"{update.path} is a symbolic link; move {source.real} itself")
    target = claims.entry(ground.locate(shown, follow=False))
    if look(target, read=False) is not None:
        raise verification_failed(f"{shown} exists already; {update.path} can't be moved there")
    return target


def _require(found: Existing | None, shown: str, what: str) -> Existing:
    if found is None:
        raise verification_failed(f"{shown} does not exist, so it can't be {what}d")
    return found
