"""Names that may not appear: the kernel says so at once."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fairlead.protect import watched
from fairlead.protect.inotify import Inotify
from fairlead.protect.watched import WatchedNames

SECONDS = 30.0
QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


@pytest.fixture
def names(root: Path) -> Iterator[WatchedNames]:
    (root / "deep").mkdir()
    with closing(WatchedNames([f"{root}/a", f"{root}/deep/b", f"{root}/x/y/c"])) as opened:
        yield opened


def readable(names: WatchedNames) -> bool:
    return bool(select.select([names.fileno()], [], [], 0)[0])


WAYS: dict[str, Callable[[Path], object]] = {
    "a file": Path.touch,
    "a directory": Path.mkdir,
    "a link": lambda path: path.symlink_to("nowhere"),
    "a hard link": lambda path: os.link(__file__, path) if _same(path) else path.touch(),
    "a pipe": os.mkfifo,
    "moved there": lambda path: _other(path).rename(path),
}


def _same(path: Path) -> bool:
    return os.stat(__file__).st_dev == path.parent.stat().st_dev


def _other(path: Path) -> Path:
    other = path.with_name("other")
    other.touch()
    return other


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["a", "deep/b"])
def test_it_appears(way: str, name: str, names: WatchedNames, root: Path) -> None:
    """However it is made."""
    assert not readable(names)
    WAYS[way](root / name)
    assert readable(names)
    assert names.appeared() == [f"{root}/{name}"]
    assert not readable(names)
    assert names.appeared() == []


def test_other_names_are_nothing(names: WatchedNames, root: Path) -> None:
    """They wake us, and that is all."""
    (root / "other").touch()
    (root / "deep/a").touch()
    assert names.appeared() == []
    assert names.there() == []


def test_its_directory_is_made_first(names: WatchedNames, root: Path) -> None:
    """Step by step or all at once."""
    (root / "x").mkdir()
    assert names.appeared() == []
    (root / "x/y").mkdir()
    assert names.appeared() == []
    (root / "x/y/c").touch()
    assert names.appeared() == [f"{root}/x/y/c"]


def test_its_directories_are_made_with_it(names: WatchedNames, root: Path) -> None:
    """Before we could watch them."""
    (root / "x/y").mkdir(parents=True)
    (root / "x/y/c").touch()
    assert names.appeared() == [f"{root}/x/y/c"]


def test_a_directory_that_is_made_anew(names: WatchedNames, root: Path) -> None:
    """Is watched again."""
    (root / "deep").rmdir()
    names.appeared()
    (root / "deep").mkdir()
    names.appeared()
    (root / "deep/b").touch()
    assert names.appeared() == [f"{root}/deep/b"]


def test_more_than_the_kernel_remembers(names: WatchedNames, root: Path) -> None:
    """Then every name is looked at."""
    for number in range(int(QUEUE.read_text()) // 2 + 2):
        for name in (f"n{number}", f"m{number}"):
            os.close(os.open(root / name, os.O_CREAT | os.O_WRONLY))
    (root / "a").touch()
    assert names.appeared() == [f"{root}/a"]


def test_no_inotify_at_all(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user may have some hundred: beyond that, each look is a full one."""

    def refuse() -> Inotify:
        raise OSError(24, os.strerror(24))

    monkeypatch.setattr(watched, "Inotify", refuse)
    with closing(WatchedNames([f"{root}/a"])) as names:
        assert names.fileno() == -1
        (root / "a").touch()
        assert names.appeared() == [f"{root}/a"]


def test_no_more_watches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that gives none still has its names looked at."""

    def refuse(self: Inotify, path: str, *, once: bool = False) -> int:
        raise OSError(28, os.strerror(28), path)

    monkeypatch.setattr(Inotify, "add", refuse)
    with closing(WatchedNames([f"{root}/a"])) as names:
        (root / "a").touch()
        assert names.there() == [f"{root}/a"]
