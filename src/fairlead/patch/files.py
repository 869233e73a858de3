"""Names of files turned into directory entries, and entries read, without following a link.

A name is first resolved to its canonical path, then that path is opened component by component
from `/`, none of which may be a symbolic link. Whoever swaps one in between gets a refusal: what
was checked is what is opened. Nothing here changes a file.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fairlead.model.frozen import dataclass
from fairlead.patch.grammar import PatchError, verification_failed

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_NEW_DIRECTORIES = 64

# Passing through a directory needs no right to list it, where the platform can say so.
_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
# A fifo or a terminal that was swapped in must neither block nor become ours.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


Check = Callable[[str], None]  # raises for a canonical path that may not be touched


class OutsideRoots(PatchError):
    """A path of the patch leads out of the writable roots."""

    def __init__(self, shown: str, real: str) -> None:
        leads = "" if shown == real else f" (it leads to {real})"
        super().__init__(
            f"apply_patch verification failed: {shown} is outside the writable roots{leads}"
        )
        self.path = Path(real)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which object, and in what state: differs when somebody replaced or wrote it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    mode: int

    @classmethod
    def of(cls, found: os.stat_result) -> Stamp:
        kind = stat.S_IFMT(found.st_mode)
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, kind)


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a directory. The directory may have to be made: `base` is what exists of it."""

    shown: str  # as the patch spells it
    real: str  # canonical
    base: str
    base_id: tuple[int, int]

    @property
    def directory(self) -> str:
        return os.path.dirname(self.real)

    @property
    def name(self) -> str:
        return os.path.basename(self.real)


@dataclass(frozen=True, slots=True)
class Existing:
    """An entry that is there, as it was when it was looked at. A link has no content."""

    entry: Entry
    stamp: Stamp
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Ground:
    """Where names start from, and where they may lead."""

    cwd: str
    roots: tuple[str, ...] | None
    check: Check | None = None

    @classmethod
    def of(cls, cwd: Path, roots: Sequence[Path] | None, check: Check | None = None) -> Ground:
        if not os.path.isdir(cwd):
            raise verification_failed(f"the working directory {cwd} does not exist")
        canonical = None if roots is None else _canonical_roots(roots)
        return cls(os.path.realpath(cwd), canonical, check)

    def locate(self, shown: str, *, follow: bool) -> Entry:
        """The entry that a name stands for; with `follow`, of what a link there points to."""
        try:
            real = self._resolve(shown, follow=follow)
            if not self._allows(real):
                raise OutsideRoots(shown, real)
            if self.check is not None:
                self.check(real)
            base, base_id = _existing_part(os.path.dirname(real))
            if real.count("/") - base.count("/") > MAX_NEW_DIRECTORIES:
                raise verification_failed(
                    f"{shown} needs more than {MAX_NEW_DIRECTORIES} new directories"
                )
        except OSError as error:
            raise refused(shown, error) from error
        return Entry(shown, real, base, base_id)

    def _resolve(self, shown: str, *, follow: bool) -> str:
        path = os.path.join(self.cwd, shown)
        directory, name = os.path.split(path)
        if name in ("", ".", ".."):
            raise verification_failed(f"{shown} names a directory, not a file")
        if follow:
            return os.path.realpath(path)
        return os.path.join(os.path.realpath(directory), name)

    def _allows(self, real: str) -> bool:
        return self.roots is None or any(_inside(real, root) for root in self.roots)


def _canonical_roots(roots: Sequence[Path]) -> tuple[str, ...]:
    """The outermost roots. One inside another adds nothing, unless somebody who may write the
    outer one has made it a link to elsewhere: so it is left out."""
    named = {os.path.abspath(root) for root in roots}
    outermost = [root for root in named if not any(_inside(root, other) for other in named)]
    return tuple(sorted(os.path.realpath(root) for root in outermost))


def _inside(path: str, root: str) -> bool:
    return path != root and path.startswith(root.rstrip("/") + "/")


def _existing_part(directory: str) -> tuple[str, tuple[int, int]]:
    """The deepest directory on the way that exists, and its identity."""
    while True:
        with suppress(FileNotFoundError), opened_directory(directory) as fd:
            return directory, identity(fd)
        directory = os.path.dirname(directory)


def identity(fd: int) -> tuple[int, int]:
    """Device and inode: the same for the same object only."""
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def open_directory(path: str) -> int:
    """A descriptor of the directory with this canonical path. No component may be a link."""
    fd = os.open("/", _DIRECTORY)
    for part in filter(None, path.split("/")):
        try:
            child = open_inside(fd, part)
        finally:
            os.close(fd)
        fd = child
    return fd


def open_inside(fd: int, name: str) -> int:
    """A descriptor of the directory with this name in an open one."""
    return os.open(name, _DIRECTORY, dir_fd=fd)


@contextmanager
def opened_directory(path: str) -> Iterator[int]:
    """`open_directory`, closed at the end."""
    fd = open_directory(path)
    try:
        yield fd
    finally:
        os.close(fd)


def look(entry: Entry, *, read: bool) -> Existing | None:
    """What is at an entry now; None if nothing. Only a regular file can be read."""
    try:
        if entry.base != entry.directory:
            return None
        with opened_directory(entry.directory) as fd:
            found = lookup(fd, entry.name)
            if found is None:
                return None
            _refuse_special(entry.shown, found)
            if not read or stat.S_ISLNK(found.st_mode):
                return Existing(entry, Stamp.of(found), None)
            stamp, content = read_file(fd, entry.name, entry.shown)
            return Existing(entry, stamp, content)
    except OSError as error:
        raise refused(entry.shown, error) from error


def lookup(fd: int, name: str) -> os.stat_result | None:
    """The entry of a directory itself, a link not followed; None if there is none."""
    with suppress(FileNotFoundError):
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    return None


def read_file(fd: int, name: str, shown: str) -> tuple[Stamp, bytes]:
    """Read a regular file that nobody writes meanwhile."""
    file = os.open(name, _FILE, dir_fd=fd)
    with open(file, "rb") as stream:
        before = os.fstat(file)
        if not stat.S_ISREG(before.st_mode):
            _refuse_special(shown, before)
        if before.st_size > MAX_FILE_BYTES:
            limit = MAX_FILE_BYTES // 1024 // 1024
            raise verification_failed(f"{shown} is larger than {limit} MiB")
        content = stream.read(before.st_size + 1)
        if Stamp.of(os.fstat(file)) != Stamp.of(before) or len(content) != before.st_size:
            raise verification_failed(f"{shown} is being written by somebody else")
        return Stamp.of(before), content


def _refuse_special(shown: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise verification_failed(f"{shown} is a directory, not a file")
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
        raise verification_failed(f"{shown} is not a regular file")


def refused(shown: str, error: OSError) -> PatchError:
    """What the system says about a path, as the answer to a patch."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return verification_failed(f"{shown}: a part of its path is a link or not a directory")
    return verification_failed(f"{shown}: {error.strerror or error}")
