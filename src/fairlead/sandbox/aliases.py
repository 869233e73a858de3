"""Other paths to the same file. A file system, or a part of it, may be mounted in several places,
and what is hidden or protected in one of them has to be so in all."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from fairlead.model.frozen import dataclass

_TABLE = "/proc/self/mountinfo"
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """What of a file system is mounted where. `root` is a path in the file system."""

    device: str
    root: str
    place: str


class Mounts:
    """The mounts of one moment, in the kernel's order."""

    def __init__(self, found: Iterable[Mount]) -> None:
        self._all = tuple(found)
        times = Counter(one.device for one in self._all)
        self._repeated = {device for device, number in times.items() if number > 1}
        # The deepest first; of several in one place, the last one covers the others.
        places = [(one.place.rstrip("/") + "/", one) for one in self._all[::-1]]
        self._deepest_first = sorted(places, key=lambda pair: -len(pair[0]))

    def others(self, path: str) -> list[str]:
        """Paths that may lead to the same file: one of them can be covered by a later mount."""
        around = self._around(path)
        if around is None or around.device not in self._repeated:
            return []
        inside = _moved(path, around.place, around.root)
        return [
            _moved(inside, one.root, one.place)
            for one in self._all
            if one.device == around.device
            and one.place != around.place
            and f"{inside}/".startswith(one.root.rstrip("/") + "/")
        ]

    def same_files(self, path: str) -> Iterator[str]:
        """Those of them that do lead there."""
        found = [other for other in self.others(path) if other != path]
        if not found:
            return
        try:
            wanted = os.lstat(path)
        except OSError:
            return
        for other in found:
            try:
                if os.path.samestat(os.lstat(other), wanted):
                    yield other
            except OSError:
                continue

    def _around(self, path: str) -> Mount | None:
        path = f"{path}/"
        return next((one for place, one in self._deepest_first if path.startswith(place)), None)


def mounts() -> Mounts:
    """All that we see; none where there is no such table."""
    try:
        with open(_TABLE, encoding="utf-8", errors="surrogateescape") as table:
            return Mounts(parse(table))
    except OSError:
        return Mounts(())


def parse(lines: Iterable[str]) -> Iterator[Mount]:
    """The kernel's table: number, parent, device, root, place, and more. Spaces are escaped."""
    for line in lines:
        fields = line.split(" ", 5)
        if len(fields) == 6:
            yield Mount(fields[2], _plain(fields[3]), _plain(fields[4]))


def _moved(path: str, top: str, to: str) -> str:
    rest = path[len(top.rstrip("/")) :]
    return (to.rstrip("/") + rest).rstrip("/") or "/"


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text) if "\\" in text else text
