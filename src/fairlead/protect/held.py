"""Acting through held directories, so that nothing swapped for a link leads us elsewhere."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READABLE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_RENAMEAT2 = {"x86_64": 316, "aarch64": 276}
_NOREPLACE, _EXCHANGE = 1, 2
_NOT_OFFERED = (errno.ENOSYS, errno.EINVAL)  # by an old kernel, or by the file system
_CHUNK = 1 << 20
_DEEPEST = 200  # each level holds a descriptor


class TooMuch(Exception):
    """More than may be copied."""


@contextmanager
def directory(path: str) -> Iterator[int]:
    """The directory at an absolute path, no part of which is a link. Raises `OSError`."""
    fd = os.open("/", _DIRECTORY)
    try:
        for name in path.split("/"):
            if name:
                inner = os.open(name, _DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = inner
        yield fd
    finally:
        os.close(fd)


def state_of(name: str, within: int) -> os.stat_result | None:
    """What is there, not following it. None if nothing is."""
    try:
        return os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return None


def rename_into_free(name: str, within: int, to_name: str, to: int) -> None:
    """Rename, unless something has the new name. Raises `FileExistsError`."""
    try:
        _rename(name, within, to_name, to, _NOREPLACE)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        if state_of(to_name, to) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to_name) from None
        os.rename(name, to_name, src_dir_fd=within, dst_dir_fd=to)


def exchange(name: str, other: str, within: int) -> None:
    """Two names of one directory swap what they stand for; in one step where that is offered."""
    try:
        _rename(name, within, other, within, _EXCHANGE)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        for one, to in ((other, name + "-"), (name, other), (name + "-", name)):
            os.rename(one, to, src_dir_fd=within, dst_dir_fd=within)


def _rename(name: str, within: int, to_name: str, to: int, flags: int) -> None:
    import ctypes  # late: most runs never rename anything

    number = _RENAMEAT2.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    call = ctypes.CDLL(None, use_errno=True).syscall
    arguments = (within, os.fsencode(name), to, os.fsencode(to_name), flags)
    if call(number, *arguments) != 0:
        found = ctypes.get_errno()
        raise OSError(found, os.strerror(found), name, None, to_name)


def change_mode(name: str, within: int, mode: int) -> None:
    """Of what is there now, and never of what a link leads to."""
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        os.chmod(f"/proc/self/fd/{fd}", mode)
    finally:
        os.close(fd)


class Copier:
    """Copies a tree to another file system, up to so many bytes and entries. What can't be copied
    (a socket, a device) is left out."""

    def __init__(self, most_bytes: int = 16 << 20, most_entries: int = 5_000) -> None:
        self._bytes = most_bytes
        self._entries = most_entries

    def copy(self, name: str, within: int, to_name: str, to: int, depth: int = 0) -> None:
        """Raises `TooMuch`, and `OSError` for what can't be read or written."""
        self._entries -= 1
        if self._entries < 0 or depth > _DEEPEST:
            raise TooMuch
        found = os.stat(name, dir_fd=within, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(name, dir_fd=within), to_name, dir_fd=to)
        elif stat.S_ISDIR(found.st_mode):
            self._directory(name, within, to_name, to, found.st_mode, depth)
        elif stat.S_ISREG(found.st_mode):
            self._file(name, within, to_name, to, found.st_mode)

    def _directory(
        self, name: str, within: int, to_name: str, to: int, mode: int, depth: int
    ) -> None:
        os.mkdir(to_name, 0o700, dir_fd=to)
        source = os.open(name, _READABLE, dir_fd=within)
        try:
            target = os.open(to_name, _READABLE, dir_fd=to)
            try:
                for inner in os.listdir(source):
                    self.copy(inner, source, inner, target, depth + 1)
                os.fchmod(target, stat.S_IMODE(mode) | stat.S_IRWXU)
            finally:
                os.close(target)
        finally:
            os.close(source)

    def _file(self, name: str, within: int, to_name: str, to: int, mode: int) -> None:
        source = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=within
        )
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            target = os.open(to_name, flags, 0o600, dir_fd=to)
            try:
                while chunk := os.read(source, _CHUNK):
                    self._bytes -= len(chunk)
                    if self._bytes < 0:
                        raise TooMuch
                    _write(target, chunk)
                os.fchmod(target, stat.S_IMODE(mode) & 0o777)
            finally:
                os.close(target)
        finally:
            os.close(source)


def is_shared(name: str, within: int, depth: int = 0) -> bool:
    """Whether a file in it has another name: who has that can change it. In doubt: yes."""
    found = state_of(name, within)
    if found is None or stat.S_ISLNK(found.st_mode):
        return False
    if not stat.S_ISDIR(found.st_mode):
        return found.st_nlink > 1
    if depth > _DEEPEST:
        return True
    fd = os.open(name, _READABLE, dir_fd=within)
    try:
        return any(is_shared(inner, fd, depth + 1) for inner in os.listdir(fd))
    finally:
        os.close(fd)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def write_new(name: str, within: int, content: bytes, like: os.stat_result) -> None:
    """A file that was not there, with the owner and the rights of another."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=within)
    try:
        _write(fd, content)
        if os.geteuid() == 0:
            os.fchown(fd, like.st_uid, like.st_gid)
        os.fchmod(fd, stat.S_IMODE(like.st_mode) & 0o777)
    finally:
        os.close(fd)


def remove(name: str, within: int, depth: int = 0) -> None:
    """A file, a link or a whole tree. Nothing there is fine."""
    found = state_of(name, within)
    if found is None:
        return
    if not stat.S_ISDIR(found.st_mode):
        os.unlink(name, dir_fd=within)
        return
    if depth > _DEEPEST:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), name)
    if found.st_mode & stat.S_IRWXU != stat.S_IRWXU:
        change_mode(name, within, stat.S_IRWXU)
    fd = os.open(name, _READABLE, dir_fd=within)
    try:
        for inner in os.listdir(fd):
            remove(inner, fd, depth + 1)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=within)
