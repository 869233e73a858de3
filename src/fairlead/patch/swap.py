"""Changes to directory entries that can all be put back. The only module here that writes.

New contents are staged under temporary names beside their targets, originals are renamed aside,
and only when everything is in place do the originals go. Each step is noted before it is taken
and its undoing checks what it finds, so an interruption at any point is put back as well.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType

from fairlead.patch.files import (
    Entry,
    Existing,
    Stamp,
    identity,
    lookup,
    open_directory,
    open_inside,
    read_file,
)
from fairlead.patch.grammar import verification_failed

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
# Like the kernel at a write: rights to become somebody else do not survive new content.
_KEPT_MODE = 0o777 | stat.S_ISVTX
_NO_LINKS_HERE = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
_ANOTHER_WORLD = ("security.", "trusted.")  # attributes that the system gives, not the owner


class Swap:
    """Steps that hold together: left normally they stay, left by an exception none did happen.

    `about` names the file of the step at hand; `lost` says what could not be put back,
    `leftovers` which originals could not be removed after a success.
    """

    def __init__(self) -> None:
        self.about = ""
        self.lost: list[str] = []
        self.leftovers: list[str] = []
        self._held = ExitStack()
        self._undo = ExitStack()
        self._directories: dict[str, int] = {}
        self._aside: list[tuple[int, str]] = []

    def __enter__(self) -> Swap:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._held:
            if error is not None:
                self._undo.close()
                return
            self._undo.pop_all()
            with ExitStack() as every:
                for fd, name in self._aside:
                    every.callback(self._remove_surely, fd, name)

    def require_unchanged(self, source: Existing) -> None:
        """Refuse unless an entry is what it was when it was verified."""
        self.about = source.entry.shown
        found = lookup(self._directory(source.entry), source.entry.name)
        if found is None or Stamp.of(found) != source.stamp:
            raise _changed(source.entry)

    def require_free(self, entry: Entry) -> None:
        """Refuse if somebody made an entry that was not there. Makes its directory."""
        self.about = entry.shown
        if lookup(self._directory(entry), entry.name) is not None:
            raise _appeared(entry)

    def stage(self, entry: Entry, content: bytes, like: Entry | None) -> str:
        """Write new content beside where it goes, with mode and owner of `like`."""
        self.about = entry.shown
        fd = self._directory(entry)
        name = _temporary()
        self._note(_remove, fd, name)
        file = os.open(name, _NEW_FILE, 0o666 if like is None else 0o600, dir_fd=fd)
        with open(file, "wb") as stream:
            stream.write(content)
            if like is not None:
                _resemble(file, self._directory(like), like.name)
        return name

    def set_aside(self, source: Existing) -> None:
        """Take an original away, and look again whether it is the one that was verified."""
        entry = source.entry
        self.about = entry.shown
        fd = self._directory(entry)
        aside = _temporary()
        self._note(self._put_back, fd, aside, entry)
        os.rename(entry.name, aside, src_dir_fd=fd, dst_dir_fd=fd)
        if not _same(fd, aside, source):
            raise _changed(entry)
        self._aside.append((fd, aside))

    def place(self, staged: str, entry: Entry) -> None:
        """Give staged content its name, which must be free."""
        self.about = entry.shown
        fd = self._directory(entry)
        found = os.stat(staged, dir_fd=fd, follow_symlinks=False)
        self._note(_unplace, fd, entry.name, (found.st_dev, found.st_ino))
        try:
            _rename_without_replacing(fd, staged, entry.name)
        except FileExistsError:
            raise _appeared(entry) from None

    def _directory(self, entry: Entry) -> int:
        """The open directory of an entry, made if it has to be, the same at every call."""
        return self._opened(entry.directory, entry)

    def _opened(self, path: str, entry: Entry) -> int:
        if path in self._directories:
            return self._directories[path]
        try:
            fd = self._hold(self._open_or_make(path, entry))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise _replaced(entry) from error
            raise
        self._directories[path] = fd
        return fd

    def _open_or_make(self, path: str, entry: Entry) -> int:
        if path != entry.base:
            parent = self._opened(os.path.dirname(path), entry)
            return self._make(parent, os.path.basename(path))
        fd = open_directory(path)
        if identity(fd) != entry.base_id:
            os.close(fd)
            raise _replaced(entry)
        return fd

    def _make(self, parent: int, name: str) -> int:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
            self._note(_remove_directory, parent, name)
        return open_inside(parent, name)

    def _hold(self, fd: int) -> int:
        self._held.callback(os.close, fd)
        return fd

    def _note(self, undo: Callable[..., None], *args: object) -> None:
        self._undo.callback(self._attempt, self.about, undo, *args)

    def _attempt(self, about: str, undo: Callable[..., None], *args: object) -> None:
        try:
            undo(*args)
        except OSError as error:
            self.lost.append(f"{about}: {error.strerror or error}")

    def _remove_surely(self, fd: int, name: str) -> None:
        """Twice, should the first try be interrupted: everything else is in place by now."""
        try:
            _remove(fd, name)
        except BaseException as error:
            try:
                _remove(fd, name)
            except OSError as again:
                self.leftovers.append(f"{name} ({again.strerror or again})")
            if not isinstance(error, OSError):
                raise

    def _put_back(self, fd: int, aside: str, entry: Entry) -> None:
        if lookup(fd, aside) is None:
            return
        try:
            _rename_without_replacing(fd, aside, entry.name)
        except FileExistsError:
            # Somebody took the name in between. Neither theirs nor the original may be lost.
            saved = f"saved-{aside.removeprefix('.')}"
            os.rename(aside, saved, src_dir_fd=fd, dst_dir_fd=fd)
            where = os.path.join(os.path.dirname(entry.shown), saved)
            self.lost.append(f"somebody else made a new {entry.shown}; the original is {where}")


def _changed(entry: Entry) -> Exception:
    return verification_failed(f"{entry.shown} changed after it was verified; read it again")


def _replaced(entry: Entry) -> Exception:
    return verification_failed(f"{entry.shown}: its directory was replaced meanwhile")


def _appeared(entry: Entry) -> Exception:
    return verification_failed(f"{entry.shown} was made by somebody else meanwhile")


def _temporary() -> str:
    return f".fairlead-{os.urandom(8).hex()}"


def _same(fd: int, name: str, source: Existing) -> bool:
    """Whether an entry is the object that was verified, to the last byte: within one tick of the
    file system's clock a write leaves no other trace."""
    found = lookup(fd, name)
    if found is None or Stamp.of(found) != source.stamp:
        return False
    return source.content is None or read_file(fd, name, source.entry.shown) == (
        source.stamp,
        source.content,
    )


def _rename_without_replacing(fd: int, name: str, new_name: str) -> None:
    """A second name, then the first one gone: unlike a rename, that never replaces a file."""
    try:
        os.link(name, new_name, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS_HERE:
            raise
        if lookup(fd, new_name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(name, new_name, src_dir_fd=fd, dst_dir_fd=fd)
    else:
        os.unlink(name, dir_fd=fd)


def _unplace(fd: int, name: str, ours: tuple[int, int]) -> None:
    found = lookup(fd, name)
    if found is not None and (found.st_dev, found.st_ino) == ours:
        os.unlink(name, dir_fd=fd)


def _remove(fd: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=fd)


def _remove_directory(parent: int, name: str) -> None:
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError as error:
        # What somebody else put there meanwhile is not ours to remove.
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
            raise


def _resemble(file: int, fd: int, name: str) -> None:
    """Give a new file the owner, attributes and mode of another."""
    source = os.open(name, _SOURCE, dir_fd=fd)
    try:
        found = os.fstat(source)
        _own(file, found)
        _copy_attributes(source, file)
        os.fchmod(file, found.st_mode & _KEPT_MODE)
    finally:
        os.close(source)


def _own(file: int, like: os.stat_result) -> None:
    """Where we may. A file of a group that we merely share becomes ours, as with any editor."""
    mine = os.fstat(file)
    if (mine.st_uid, mine.st_gid) == (like.st_uid, like.st_gid):
        return
    for uid in (like.st_uid, -1):
        with suppress(PermissionError):
            os.fchown(file, uid, like.st_gid)
            return


def _copy_attributes(source: int, file: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):  # a file system without them
        for name in os.listxattr(source):
            if not name.startswith(_ANOTHER_WORLD):
                os.setxattr(file, name, os.getxattr(source, name))
