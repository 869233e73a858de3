"""Running a program as somebody else, who can reach what he needs wherever it is kept.

The interpreter may live in the home directory of root, where nobody else may go. Nothing on disk
is changed for that: in a mount namespace of its own, a closed directory is replaced by one that
holds what is needed, and nothing else.

`python -m tests.kernel.people PROGRAM [ARGUMENT…]`: as an ordinary user. Only root can do that.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import sys
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

_NEW_MOUNTS = 0x0002_0000
_BIND, _BELOW, _PRIVATE = 1 << 12, 1 << 14, 1 << 18
_ORDINARY = range(1, 60000)


def users() -> tuple[str, ...]:
    """As whom tests can run programs: whoever is not root can only be himself."""
    return ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)


def as_user(user: str, argv: Iterable[str]) -> list[str]:
    """The command line that runs `argv` as this user."""
    if user == "ordinary" and os.geteuid() == 0:
        return [sys.executable, "-m", "tests.kernel.people", *argv]
    return list(argv)


def ordinary() -> pwd.struct_passwd:
    """Somebody who is no one in particular."""
    known = [one for one in pwd.getpwall() if one.pw_uid in _ORDINARY]
    return max(known, key=lambda one: one.pw_uid)


def become_ordinary() -> None:
    """For good, groups and all."""
    someone = ordinary()
    _open_the_way(Path(sys.base_prefix), Path(sys.prefix), REPOSITORY)
    os.setgroups([])
    os.setresgid(someone.pw_gid, someone.pw_gid, someone.pw_gid)
    os.setresuid(someone.pw_uid, someone.pw_uid, someone.pw_uid)
    os.environ.update(USER=someone.pw_name, LOGNAME=someone.pw_name)


def _open_the_way(*needed: Path) -> None:
    closed = {way for path in needed for way in [_closed_way(path)] if way is not None}
    if not closed:
        return
    _check(_libc.unshare(_NEW_MOUNTS))
    _mount("none", Path("/"), "", _BELOW | _PRIVATE)
    for directory in closed:
        inside = [path for path in needed if path.is_relative_to(directory)]
        held = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in inside}
        _mount("none", directory, "tmpfs", 0)
        directory.chmod(0o755)
        for path, fd in held.items():
            path.mkdir(parents=True, exist_ok=True)
            _mount(f"/proc/self/fd/{fd}", path, "", _BIND | _BELOW)
            os.close(fd)


def _closed_way(path: Path) -> Path | None:
    """The first directory on the way that others may not enter."""
    above = reversed((path, *path.parents))
    return next((one for one in above if not one.stat().st_mode & 0o001), None)


_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: Path, kind: str, flags: int) -> None:
    names = (os.fsencode(source), os.fsencode(target), os.fsencode(kind))
    _check(_libc.mount(*names, ctypes.c_ulong(flags), None))


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    become_ordinary()
    os.execvp(sys.argv[1], sys.argv[1:])
