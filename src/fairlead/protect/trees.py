"""Finds repositories in a tree. Bounded: a tree has any size, and a command waits for us."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fairlead.model.frozen import dataclass

DEEPEST = 8  # directories below the root
MOST = 3000  # directories looked at: some 30 ms at worst
BIG_AND_FOREIGN = frozenset({"node_modules", ".venv", "venv", "site-packages", "__pycache__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A `.git` (a directory, a file, or a link to one), or a bare repository."""

    path: str
    file: bool = False
    link: bool = False
    bare: bool = False


def find_repositories(root: str) -> Iterator[Found]:
    """Those within the bounds, near ones first. The root itself is not one of them. What is named
    `.git` is not entered, but bare ones are: it is easy to look like one, and to hide others."""
    level, looked = [root], 0
    for _ in range(DEEPEST + 1):
        below: list[str] = []
        for directory in level:
            looked += 1
            if looked > MOST:
                return
            found, inner = look_into(directory)
            yield from found
            below += inner
        level = below


def look_into(directory: str) -> tuple[list[Found], dict[str, int]]:
    """What repositories a directory holds, and which directories to look into next, with their
    inodes."""
    found: list[Found] = []
    inner: dict[str, int] = {}
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name
                if name == ".git":
                    found.append(_found(entry))
                elif entry.is_dir(follow_symlinks=False) and name not in BIG_AND_FOREIGN:
                    inner[entry.path] = entry.inode()
    except OSError:
        return [], {}
    bare = [Found(path=path, bare=True) for path in inner if is_git_directory(path)]
    return found + bare, inner


def _found(entry: os.DirEntry[str]) -> Found:
    link = entry.is_symlink()
    return Found(path=entry.path, link=link, file=not entry.is_dir(follow_symlinks=link))


def is_git_directory(path: str) -> bool:
    """Whether git would take it for one, objects and refs of its own or shared."""
    if not os.path.lexists(f"{path}/HEAD"):
        return False
    if os.path.lexists(f"{path}/commondir"):
        return True
    return os.path.isdir(f"{path}/objects") and os.path.isdir(f"{path}/refs")


def is_for_git(path: str) -> bool:
    """Whether git obeys what is in it, or would, once it is complete."""
    return os.path.basename(path) == ".git" or is_git_directory(path)
