"""The kernel's word that a name appeared in a directory."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from fairlead.model.frozen import dataclass

_CREATE, _MOVED_TO = 0x100, 0x80
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLY_DIRECTORY, _DONT_FOLLOW, _ONE_SHOT = 0x01000000, 0x02000000, 0x80000000
_NON_BLOCKING, _CLOSE_ON_EXEC = os.O_NONBLOCK, os.O_CLOEXEC
_HEADER = struct.Struct("iIII")  # watch, what happened, a cookie of renames, length of the name
_READ = 1 << 16


@dataclass(frozen=True, slots=True)
class Appeared:
    """A name in a watched directory. `lost`: more happened than the kernel remembered. `over`: the
    watch is gone, with its directory or since it was for one event only."""

    watch: int
    name: str
    lost: bool = False
    over: bool = False


class Inotify:
    """Watches directories, never what a link leads to. Never blocks."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(_NON_BLOCKING | _CLOSE_ON_EXEC)
        if self._fd < 0:
            raise self._failure("inotify")

    def fileno(self) -> int:
        return int(self._fd)

    def add(self, path: str, *, once: bool = False) -> int:
        """The number of the watch: the same for the same directory. Raises `OSError`."""
        mask = _CREATE | _MOVED_TO | _ONLY_DIRECTORY | _DONT_FOLLOW | (_ONE_SHOT if once else 0)
        number: int = self._libc.inotify_add_watch(
            self._fd, os.fsencode(path), ctypes.c_uint32(mask)
        )
        if number < 0:
            raise self._failure(path)
        return number

    def read(self) -> list[Appeared]:
        """Everything that happened since the last time."""
        found: list[Appeared] = []
        while True:
            try:
                data = os.read(self._fd, _READ)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                watch, what, _, length = _HEADER.unpack_from(data, at)
                at += _HEADER.size
                name = data[at : at + length].rstrip(b"\0")
                at += length
                lost, over = bool(what & _OVERFLOW), bool(what & _IGNORED)
                found.append(Appeared(watch, os.fsdecode(name), lost, over))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _failure(self, what: str) -> OSError:
        number = ctypes.get_errno()
        return OSError(number, os.strerror(number), what)


def is_missing(error: OSError) -> bool:
    """Whether there is no such directory, rather than no means to watch it."""
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
