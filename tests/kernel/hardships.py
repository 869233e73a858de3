"""Running a program where the machine withholds something, for real.

`python -m tests.kernel.hardships NAME[,NAME…] PROGRAM [ARGUMENT…]`. Each hardship is laid upon the
process that becomes the program, and upon nothing else on this machine.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from fairlead.sandbox import bpf
from fairlead.sandbox.syscalls import NUMBERS

_NEW_USERS, _NEW_MOUNTS = 0x1000_0000, 0x0002_0000
_BELOW, _PRIVATE = 1 << 14, 1 << 18
_NO_NEW_PRIVILEGES, _SET_FILTER, _BY_FILTER = 38, 22, 2
_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000

_MORE = {  # that the sandbox's own filter has no need to name
    "x86_64": {
        "landlock_create_ruleset": 444,
        "landlock_add_rule": 445,
        "landlock_restrict_self": 446,
        "seccomp": 317,
        "prctl": 157,
        "capset": 126,
        "mkdirat": 258,
        "mkdir": 83,
        "symlinkat": 266,
        "symlink": 88,
        "openat": 257,
        "chdir": 80,
        "socket": 41,
        "ioctl": 16,
    },
    "aarch64": {
        "landlock_create_ruleset": 444,
        "landlock_add_rule": 445,
        "landlock_restrict_self": 446,
        "seccomp": 277,
        "prctl": 167,
        "capset": 91,
        "mkdirat": 34,
        "symlinkat": 36,
        "openat": 56,
        "chdir": 49,
        "socket": 198,
        "ioctl": 29,
    },
}


def number(name: str) -> int | None:
    """Of a system call on this machine; None if it has no such call."""
    machine = platform.machine()
    return {**NUMBERS[machine], **_MORE[machine]}.get(name)


def failing(calls: dict[str, int]) -> bytes:
    """A filter under which these calls fail, each with its errno."""
    program = bpf.Program()
    program.load(0)
    known = [(found, said) for name, said in calls.items() if (found := number(name)) is not None]
    for found, said in known:
        program.jump_if(bpf.EQUAL, found, f"{said}")
    program.give_back(_ALLOW)
    for said in {said for _, said in known}:
        program.label(f"{said}")
        program.give_back(_ERRNO | said)
    return program.assembled()


def no_user_namespaces() -> None:
    """As with user.max_user_namespaces=0: a limit of the user namespace that we are in."""
    uid, gid = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEW_USERS))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    Path("/proc/sys/user/max_user_namespaces").write_text("0")


def no_landlock() -> None:
    """As on a kernel without it."""
    names = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
    _install(failing(dict.fromkeys(names, errno.ENOSYS)))


def no_seccomp() -> None:
    """As on a kernel without it."""
    _install(failing({"seccomp": errno.ENOSYS}))


def no_mounts() -> None:
    """As in a container with the usual filter."""
    names = ("unshare", "mount", "open_tree", "move_mount", "mount_setattr")
    _install(failing(dict.fromkeys(names, errno.EPERM)))


def full_disk() -> None:
    """The directory named by FULL, in the program's eyes, has no room for a single byte."""
    place = Path(os.environ["FULL"])
    new = _NEW_MOUNTS if os.geteuid() == 0 else _NEW_MOUNTS | _NEW_USERS
    uid, gid = os.getuid(), os.getgid()
    _check(_libc.unshare(new))
    if new & _NEW_USERS:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_BELOW | _PRIVATE), None))
    _check(_libc.mount(b"full", os.fsencode(place), b"tmpfs", ctypes.c_ulong(0), b"size=64k"))
    try:
        with open(place / "filling", "wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


HARDSHIPS: dict[str, Callable[[], None]] = {
    "no-user-namespaces": no_user_namespaces,
    "no-landlock": no_landlock,
    "no-seccomp": no_seccomp,
    "no-mounts": no_mounts,
    "full-disk": full_disk,
}

_libc = ctypes.CDLL(None, use_errno=True)


def _install(program: bytes) -> None:
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    held = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(held))
    _check(_libc.prctl(_SET_FILTER, _BY_FILTER, filter_, 0, 0))


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    for name in sys.argv[1].split(","):
        HARDSHIPS[name]()
    os.execvp(sys.argv[2], sys.argv[2:])
