"""Names that do not exist and may not appear: no mount can stand on them, so they are watched."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from fairlead.protect.inotify import Inotify, is_missing


class WatchedNames:
    """Absolute paths whose directories are watched. What lies between such a directory and the
    name (`info` of `info/attributes`) may be missing too, and is watched for as well."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = tuple(dict.fromkeys(paths))
        self._known = frozenset(self._paths)
        self._inotify: Inotify | None = None  # a machine that has none left: each look is full
        with suppress(OSError):
            self._inotify = Inotify()
        self._directories: dict[int, str] = {}
        self._awaited: set[str] = set()
        self._blind = self._inotify is None  # no more directories can be watched
        self._arm(self._paths)

    def fileno(self) -> int:
        """-1 if nothing will be heard of."""
        return -1 if self._inotify is None else self._inotify.fileno()

    def appeared(self) -> list[str]:
        """Those that something was made at since the last time."""
        if self._inotify is None:
            return self.there()
        found: dict[str, None] = {}
        anew = False
        for event in self._inotify.read():
            if event.lost or event.over:
                anew = True
                if event.over:
                    self._directories.pop(event.watch, None)
                continue
            path = f"{self._directories.get(event.watch, '')}/{event.name}"
            if path in self._known:
                found[path] = None
            elif path in self._awaited:
                anew = True
        if anew:
            self._arm(self._paths)
            return self.there()
        return list(found)

    def there(self) -> list[str]:
        """Those that exist now, whatever was heard of them."""
        there = partial(os.access, mode=os.F_OK, follow_symlinks=False)  # lstat, but no exceptions
        return [path for path in self._paths if there(path)]

    def close(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def _arm(self, paths: Iterable[str]) -> None:
        self._awaited.clear()
        for directory in dict.fromkeys(map(os.path.dirname, paths)):
            self._watch(directory)

    def _watch(self, directory: str) -> None:
        """It, or the nearest one above it that exists."""
        at = directory
        while self._inotify is not None and not self._blind:
            try:
                self._directories[self._inotify.add(at)] = at
            except OSError as error:
                self._blind = not is_missing(error)
                self._awaited.add(at)
                at = os.path.dirname(at)
                continue
            if at == directory or not _is_directory(below := _step(directory, at)):
                return
            at = below  # made since we looked for it, and before its own directory was watched


def _step(path: str, above: str) -> str:
    """The first step from a directory to what lies deep below it."""
    rest = path[len(above.rstrip("/")) + 1 :]
    return f"{above.rstrip('/')}/{rest.partition('/')[0]}"


def _is_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
