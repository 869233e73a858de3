"""The kernel's word, as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fairlead.protect.inotify import Appeared, Inotify, is_missing


@pytest.fixture
def inotify() -> Iterator[Inotify]:
    with closing(Inotify()) as opened:
        yield opened


def test_names_as_they_are(inotify: Inotify, root: Path) -> None:
    """Whatever bytes they have."""
    watch = inotify.add(str(root))
    (root / "a b\n").touch()
    (root / "\udcff").mkdir()
    assert inotify.read() == [Appeared(watch, "a b\n"), Appeared(watch, "\udcff")]
    assert inotify.read() == []


def test_once(inotify: Inotify, root: Path) -> None:
    """One event, and the watch is over; the same directory can be watched anew."""
    watch = inotify.add(str(root), once=True)
    (root / "a").touch()
    (root / "b").touch()
    assert inotify.read() == [Appeared(watch, "a"), Appeared(watch, "", over=True)]
    inotify.add(str(root), once=True)
    (root / "c").touch()
    assert [one.name for one in inotify.read()] == ["c", ""]


def test_the_same_directory_has_the_same_number(inotify: Inotify, root: Path) -> None:
    """By whatever name it is found."""
    (root / "a").mkdir()
    watch = inotify.add(f"{root}/a")
    (root / "a").rename(root / "b")
    assert inotify.add(f"{root}/b") == watch


@pytest.mark.parametrize("name", ["missing", "link", "file", "file/x"])
def test_what_is_no_directory(name: str, inotify: Inotify, root: Path) -> None:
    """Links are not followed."""
    (root / "file").touch()
    (root / "link").symlink_to(root)
    with pytest.raises(OSError) as caught:
        inotify.add(f"{root}/{name}")
    assert is_missing(caught.value)
