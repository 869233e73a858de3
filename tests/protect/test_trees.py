"""Finding repositories, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.protect import trees
from fairlead.protect.trees import Found, find_repositories, is_git_directory


def found(root: Path) -> dict[str, Found]:
    return {one.path.removeprefix(f"{root}/"): one for one in find_repositories(str(root))}


def make_bare(path: Path) -> None:
    (path / "objects").mkdir(parents=True)
    (path / "refs").mkdir()
    (path / "HEAD").touch()


def test_each_kind(root: Path) -> None:
    """Directories, files, links to either, and bare ones."""
    (root / "a/.git").mkdir(parents=True)
    (root / "b").mkdir()
    (root / "b/.git").write_text("gitdir: x")
    (root / "c").mkdir()
    (root / "c/.git").symlink_to(root / "a/.git")
    make_bare(root / "d/e.git")
    assert found(root) == {
        "a/.git": Found(path=f"{root}/a/.git"),
        "b/.git": Found(path=f"{root}/b/.git", file=True),
        "c/.git": Found(path=f"{root}/c/.git", link=True),
        "d/e.git": Found(path=f"{root}/d/e.git", bare=True),
    }


def test_one_that_hides_in_what_looks_bare(root: Path) -> None:
    """Three names are soon made."""
    make_bare(root / "a")
    (root / "a/refs/b/.git").mkdir(parents=True)
    assert set(found(root)) == {"a", "a/refs/b/.git"}


def test_near_ones_come_first_and_the_walk_ends(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree has any size."""
    monkeypatch.setattr(trees, "MOST", 20)
    (root / "near/.git").mkdir(parents=True)
    for number in range(30):
        (root / f"wide/{number}/.git").mkdir(parents=True)
    names = list(found(root))
    assert names[0] == "near/.git"
    assert 1 < len(names) < 30


def test_how_deep_it_looks(root: Path) -> None:
    """So far and no further."""
    at = root
    for number in range(trees.DEEPEST + 1):
        at = at / str(number)
        (at / ".git").mkdir(parents=True)
    assert len(found(root)) == trees.DEEPEST


def test_links_are_not_followed_and_some_places_are_left_out(root: Path, ground: Path) -> None:
    """What installers fill is large, and nobody commits there."""
    (ground / "other/.git").mkdir(parents=True)
    (root / "link").symlink_to(ground / "other")
    (root / "node_modules/x/.git").mkdir(parents=True)
    assert found(root) == {}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("HEAD", "objects/", "refs/"), True),
        (("HEAD", "commondir"), True),
        (("HEAD", "objects/"), False),
        (("objects/", "refs/"), False),
        ((), False),
    ],
)
def test_what_git_takes_for_a_repository(
    names: tuple[str, ...], expected: bool, root: Path
) -> None:
    """Objects and refs of its own, or those of another."""
    for name in names:
        (root / name).mkdir() if name.endswith("/") else (root / name).touch()
    assert is_git_directory(str(root)) is expected
