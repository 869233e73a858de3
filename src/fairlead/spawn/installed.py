"""Where the system keeps programs that confine others.

Never looked for on PATH: a directory there may be one that commands write to, and what is found
there would stand between us and every command.
"""

from __future__ import annotations

import os
import stat

_DIRECTORIES = (
    *("/usr/bin", "/bin", "/usr/sbin", "/sbin"),
    *("/usr/local/bin", "/usr/local/sbin", "/run/current-system/sw/bin"),
)


def bubblewrap() -> str | None:
    """The path of `bwrap`, or None."""
    return program("bwrap")


def program(name: str) -> str | None:
    """Where the system has it, or None."""
    paths = (f"{directory}/{name}" for directory in _DIRECTORIES)
    return next((path for path in paths if _is_the_systems(path)), None)


def _is_the_systems(path: str) -> bool:
    """A program that only root can change."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return stat.S_ISREG(found.st_mode) and found.st_uid == 0 and not found.st_mode & others
