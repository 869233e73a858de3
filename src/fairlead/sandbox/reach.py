"""Whether a command could get to a path at all: it has no privileges, whoever we are.

What lies in a directory that the command may not enter needs no cover, and can't be given one: to
the launcher, in its own user namespace, it is out of reach as well.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator

_ACL = "system.posix_acl_access"


def reachable(path: str, uid: int, groups: Collection[int]) -> bool:
    """By this user without capabilities. In doubt yes."""
    return all(enters(directory, uid, groups) for directory in _above(path))


def _above(path: str) -> Iterator[str]:
    while (above := os.path.dirname(path)) not in ("/", path):
        yield above
        path = above


def enters(directory: str, uid: int, groups: Collection[int]) -> bool:
    """Whether it may go on from there to what the directory holds."""
    try:
        found = os.stat(directory, follow_symlinks=False)
        listed = _ACL in os.listxattr(directory, follow_symlinks=False)
    except OSError:
        return True
    mode = found.st_mode
    if found.st_uid == uid:
        return True  # whose it is can open it
    if listed:  # then the group's bit is the most that the list gives to anybody
        return bool(mode & (stat.S_IXGRP | stat.S_IXOTH))
    return bool(mode & (stat.S_IXGRP if found.st_gid in groups else stat.S_IXOTH))
