"""Patches to try, what a directory holds, and steps that fail or that somebody else precedes."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlead.patch.commit import Summary, VerifiedPatch, commit, verify
from fairlead.patch.grammar import parse

FAILED = r"apply_patch verification failed: "
UPDATE_A = ("*** Update File: a.txt", "-one", "+ONE")
EVERYTHING = (
    *UPDATE_A,
    "*** Add File: new/deep/d.txt",
    "+d",
    "*** Delete File: b.txt",
    "*** Update File: sub/c.txt",
    "*** Move to: new/c.txt",
    "-four",
    "+FOUR",
)
UPDATE_B = ("*** Update File: sub/c.txt", "-four", "+FOUR")


STEPS = {
    "open", "os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown",
    "os.listxattr", "os.getxattr", "os.setxattr",
}  # fmt: skip

Watcher = Callable[[str, tuple[object, ...]], None]
_watchers: dict[int, Watcher] = {}


def _hook(event: str, args: tuple[object, ...]) -> None:
    # The interpreter announces each of these before it makes the system call.
    if event in STEPS and (watcher := _watchers.get(threading.get_ident())):
        watcher(event, args)


sys.addaudithook(_hook)  # it can't be removed again, so it does nothing unless asked


@contextmanager
def _watching(watcher: Watcher) -> Iterator[None]:
    _watchers[threading.get_ident()] = watcher
    try:
        yield
    finally:
        _watchers.pop(threading.get_ident(), None)


@contextmanager
def faults(number: int, failure: BaseException) -> Iterator[list[str]]:
    """The step with this number fails instead of being taken. Yields the failed steps."""
    steps: list[str] = []
    fired: list[str] = []

    def watch(event: str, _args: tuple[object, ...]) -> None:
        steps.append(event)
        if len(steps) == number + 1:
            fired.append(event)
            raise failure

    with _watching(watch):
        yield fired


@contextmanager
def refusing(step: str, failure: BaseException) -> Iterator[None]:
    """Every such step fails."""

    def watch(event: str, _args: tuple[object, ...]) -> None:
        if event == step:
            raise failure

    with _watching(watch):
        yield


@contextmanager
def interloper(step: str, name: str, act: Callable[[], None]) -> Iterator[None]:
    """Just before the first such step on this name, somebody else does something."""
    done: list[str] = []

    def watch(event: str, args: tuple[object, ...]) -> None:
        if event == step and name in args[:2] and not done:
            done.append(event)
            act()

    with _watching(watch):
        yield
    assert done, f"no {step} of {name}"


def snapshot(root: Path, *, content_only: bool = False, lazy: bool = False) -> dict[str, object]:
    """Every entry below a directory: what it is and what it holds (`lazy`: but not that)."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = None if lazy else _content(path, status.st_mode)
        facts = (status.st_mode, status.st_ino, status.st_size, status.st_nlink)
        time = 0 if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
        entry = (facts[:2] if stat.S_ISDIR(status.st_mode) else facts, time, content)
        found[str(path.relative_to(root))] = content if content_only else entry
    return found


def _content(path: Path, mode: int) -> bytes | None:
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(path))
    return path.read_bytes() if stat.S_ISREG(mode) else None


def checked(root: Path, *lines: str, roots: tuple[Path, ...] | None = ()) -> VerifiedPatch:
    """A patch verified in `root`, which is also its only writable root unless others are given."""
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    return verify(parse(text), root, (root,) if roots == () else roots)


def patched(root: Path, *lines: str, roots: tuple[Path, ...] | None = ()) -> Summary:
    return commit(checked(root, *lines, roots=roots))
