"""Where the native launcher is, if it was built."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

_BINARY = Path(__file__).parents[1] / "_native" / "fairlead-launcher"
_MFD_EXEC = 0x10  # Linux 6.3 and later: ask for it, or a hardened system gives none


def find() -> Path | None:
    """A path that executes the launcher, or None: `why_missing` says why. Looked for once.

    There is no way to name another one: what stands between us and every command is not
    to be exchanged by a variable in somebody's environment.
    """
    # The path may lead through a descriptor of this process, so a fork looks again.
    return _find(_BINARY, os.getpid())


def why_missing() -> str:
    """What is wrong, and what to do about it. Empty if nothing is."""
    if find() is not None:
        return ""
    if sys.platform != "linux":
        return "the native launcher is for Linux only"
    if not _BINARY.is_file():
        return (
            "no launcher binary: built without a C compiler; "
            "install gcc (Debian: apt-get install gcc) and run `make native`"
        )
    return f"the launcher can't be executed: {_BINARY}; run `make native`"


@cache
def _find(binary: Path, pid: int) -> Path | None:
    if os.access(binary, os.X_OK) and binary.is_file():
        return binary
    if _is_barred(binary):
        return Path(f"/proc/{pid}/fd/{_in_memory(binary)}")
    return None


def _is_barred(binary: Path) -> bool:
    """Whether it would run but for its file system, which is mounted noexec."""
    try:
        executable = binary.stat().st_mode & 0o111
        return bool(executable and os.statvfs(binary).f_flag & os.ST_NOEXEC)
    except OSError:
        return False


def _in_memory(binary: Path) -> int:
    """A sealed copy that nobody can change, as a descriptor that stays open."""
    import fcntl

    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        fd = os.memfd_create("fairlead-launcher", flags | _MFD_EXEC)
    except OSError:
        fd = os.memfd_create("fairlead-launcher", flags)
    with os.fdopen(fd, "wb", closefd=False) as copy:
        copy.write(binary.read_bytes())
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd
