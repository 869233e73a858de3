"""Which repositories there are below the writable roots, kept up to date by what changed.

Each directory has a watch for one event: "something was made here". A command that makes nothing
costs one look at an empty queue, and one that makes much costs a look at each directory it was in.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterable

from fairlead.protect import trees
from fairlead.protect.gitdirs import below_modules, inner_git_directories, leads_from
from fairlead.protect.inotify import Inotify, is_missing
from fairlead.protect.names import MODULES, WORKTREES
from fairlead.protect.trees import DEEPEST, MOST, is_for_git, is_git_directory, look_into

_COARSE = 5  # CLOCK_REALTIME_COARSE, from which file systems take their times
MOST_WATCHED = 2 * MOST  # a tree that grows beyond that is walked anew
Repository = tuple[str, str]  # a `.git` or a git directory, and where git goes from there


class Repositories:
    """Those below `roots`, which are absolute and without links. Without `watching`, each look is a
    walk."""

    def __init__(self, roots: Iterable[str], *, watching: bool = True) -> None:
        self._roots = tuple(roots)
        self._watching = watching
        self._inotify: Inotify | None = None
        self._paths: dict[int, str] = {}  # by watch
        self._inodes: dict[str, int] = {}  # of directories that were looked into
        self._in: dict[str, tuple[Repository, ...]] = {}  # by the directory that holds them
        self._part_of: dict[str, str] = {}  # what is watched in git directories
        self.version = 0  # another one whenever there may be others
        self.complete = True  # false once there was more than may be looked at
        self.since = time.clock_gettime_ns(_COARSE)

    @property
    def all(self) -> list[Repository]:
        return [one for some in self._in.values() for one in some]

    def look(self) -> None:
        """Find what changed since the last time."""
        changed = self._changed()
        if changed is None:
            self._walk_all()
        elif changed:
            self._walk(deque((path, _inode(path)) for path in changed))

    def close(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def _changed(self) -> list[str] | None:
        """The directories where something was made. None: everything has to be looked at."""
        if self._inotify is None or len(self._paths) > MOST_WATCHED:
            return None
        found: dict[str, None] = {}
        for event in self._inotify.read():
            if event.lost:
                return None
            path = self._paths.pop(event.watch, None)
            if path is not None:
                found[path] = None
        return list(found)

    def _walk_all(self) -> None:
        self.close()
        for known in (self._paths, self._inodes, self._in, self._part_of):
            known.clear()
        if self._watching:
            try:
                self._inotify = Inotify()
            except OSError:
                self._watching = False
        self._walk(deque((root, _inode(root)) for root in self._roots))

    def _walk(self, waiting: deque[tuple[str, int]]) -> None:
        """From these directories on down, near ones first."""
        self.version += 1
        for _ in range(trees.MOST):
            if not waiting:
                return
            directory, inode = waiting.popleft()
            if not inode:
                self._forget(directory)
                continue
            self._watch(directory)  # first: what is made after the look is heard of
            self._inodes[directory] = inode
            git = self._git_of(directory)
            if git is not None:
                self._look_into_git(git)
            if "/.git/" in f"{directory}/":
                continue
            for inner, number in self._look_into(directory).items():
                if self._inodes.get(inner) != number and self._depth(inner) <= DEEPEST:
                    waiting.append((inner, number))
        self.complete = not waiting and self.complete

    def _look_into(self, directory: str) -> dict[str, int]:
        if is_git_directory(directory):
            self._look_into_git(directory)
        else:
            self._in.pop(directory, None)  # it was one
        found, inner = look_into(directory)
        here = [(one.path, leads_from(one.path)) for one in found]
        self._in[f"{directory}/"] = tuple(here)  # not the key of a git directory at this path
        for path in dict.fromkeys(to for _, to in here):
            if self._is_inside(path) and _inode(path) and path not in inner:
                self._look_into_git(path)
        return inner

    def _look_into_git(self, git: str) -> None:
        """The git directories in a git directory: modules and worktrees come with commands too."""
        inner = list(inner_git_directories(git))
        self._in[git] = ((git, git), *((one, one) for one in inner))
        above = (path for path, is_one in below_modules(git) if not is_one)
        for place in (git, f"{git}/{MODULES}", f"{git}/{WORKTREES}", *above):
            inode = _inode(place)
            if inode:
                self._part_of[place] = git
                self._watch(place)
                self._inodes[place] = inode
        for one in inner:
            if one not in self._in:
                self._look_into_git(one)

    def _git_of(self, directory: str) -> str | None:
        """The git directory that it is, or a part of."""
        git = self._part_of.get(directory)
        return git if git is not None and git not in self._roots and is_for_git(git) else None

    def _watch(self, directory: str) -> None:
        if self._inotify is None:
            return
        try:
            number = self._inotify.add(directory, once=True)
        except OSError as error:
            if not is_missing(error):  # no more watches on this machine: walk each time
                self.close()
                self._watching = False
            return
        former = self._paths.get(number)
        if former is not None and former != directory:
            self._forget(former)  # it was moved here
        self._paths[number] = directory

    def _forget(self, directory: str) -> None:
        self._inodes.pop(directory, None)
        self._in.pop(directory, None)
        self._in.pop(f"{directory}/", None)
        self._part_of.pop(directory, None)

    def _depth(self, path: str) -> int:
        root = max((r for r in self._roots if path.startswith(r + "/")), key=len, default="/")
        return path.count("/") - root.count("/")

    def _is_inside(self, path: str) -> bool:
        return any(path.startswith(root + "/") for root in self._roots)


def _inode(path: str) -> int:
    """Of a directory; 0 if there is none (any more)."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_ino if stat.S_ISDIR(found.st_mode) else 0
