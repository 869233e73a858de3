"""Repositories that appear, found by what changed."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fairlead.protect import repositories
from fairlead.protect.inotify import Inotify
from fairlead.protect.repositories import Repositories
from tests.protect.conftest import Git, again_and_again

LOOKS = 400


@pytest.fixture(params=[True, False], ids=["watching", "walking"])
def known(request: pytest.FixtureRequest, root: Path) -> Iterator[Repositories]:
    (root / "a/b").mkdir(parents=True)
    with closing(Repositories([str(root)], watching=request.param)) as opened:
        opened.look()
        yield opened


def now(known: Repositories, root: Path) -> set[str]:
    """The ones that exist, by their paths below the root."""
    known.look()
    return {p.removeprefix(f"{root}/") for p, _ in known.all if os.path.lexists(p)}


def test_nothing_is_there(known: Repositories, root: Path) -> None:
    """And nothing is found."""
    assert now(known, root) == set()


@pytest.mark.parametrize("where", [".", "a/b", "a/b/new/er"])
def test_one_is_made(where: str, known: Repositories, root: Path, git: Git) -> None:
    """At the root, in a directory, in new directories."""
    git("init", where, cwd=root)
    assert now(known, root) == {os.path.normpath(f"{where}/.git")}


def test_what_is_in_new_ones(known: Repositories, root: Path, git: Git) -> None:
    """Worktrees, modules, bare ones."""
    git("init", "x", cwd=root)
    git("commit", "--allow-empty", "-m", "1", cwd=root / "x")
    assert now(known, root) == {"x/.git"}
    git("worktree", "add", "../tree", cwd=root / "x")
    assert now(known, root) == {"x/.git", "x/.git/worktrees/tree", "tree/.git"}
    git("init", "--bare", "a/b/c.git", cwd=root)
    assert "a/b/c.git" in now(known, root)
    git("submodule", "add", f"{root}/x", "sub", cwd=root / "x")
    assert {"x/sub/.git", "x/.git/modules/sub"} <= now(known, root)


def test_a_plain_directory_becomes_one(known: Repositories, root: Path) -> None:
    """Bit by bit, with looks between."""
    for name in ("HEAD", "objects", "refs"):
        (root / "a/b" / name).mkdir()
        found = now(known, root)
    assert found == {"a/b"}


def test_one_that_is_moved_here(known: Repositories, root: Path, ground: Path, git: Git) -> None:
    """With all that is in it, and then on."""
    git("init", "x/y", cwd=ground)
    (ground / "x").rename(root / "z")
    assert now(known, root) == {"z/y/.git"}
    (root / "z").rename(root / "a/z")
    assert now(known, root) == {"a/z/y/.git"}
    git("init", "a/z/w", cwd=root)
    assert now(known, root) == {"a/z/y/.git", "a/z/w/.git"}


def test_another_directory_in_the_same_place(known: Repositories, root: Path, git: Git) -> None:
    """It was looked at under that name, but it was not this one."""
    git("init", "c/d", cwd=root)
    (root / "a").rename(root / "former")
    (root / "c").rename(root / "a")
    assert now(known, root) == {"a/d/.git"}


def test_where_a_link_leads(known: Repositories, root: Path, git: Git) -> None:
    """Is said with it."""
    git("init", "x", cwd=root)
    (root / "a/.git").symlink_to(root / "x/.git")
    known.look()
    assert (f"{root}/a/.git", f"{root}/x/.git") in known.all


def test_nothing_made_nothing_looked_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The price of a command that makes nothing is one look at an empty queue."""
    with closing(Repositories([str(root)])) as known:
        known.look()
        version = known.version
        (root / "file").touch()
        known.look()
        assert known.version > version
        version = known.version
        monkeypatch.setattr(repositories, "look_into", None)
        known.look()
        assert known.version == version


def test_more_happened_than_the_kernel_remembers(root: Path, git: Git) -> None:
    """Everything is looked at again."""
    with closing(Repositories([str(root)])) as known:
        known.look()
        inotify = known._inotify
        assert inotify is not None
        number = inotify.add(str(root))
        many = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) + 10
        for n in range(many):
            (root / f"{n % 2}").touch()
            (root / f"{n % 2}").unlink()
        git("init", "x", cwd=root)
        assert number in known._paths
        assert now(known, root) == {"x/.git"}


def test_no_more_watches(root: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then each look is a walk."""

    def refuse(self: Inotify, path: str, *, once: bool = False) -> int:
        raise OSError(28, os.strerror(28), path)

    monkeypatch.setattr(Inotify, "add", refuse)
    with closing(Repositories([str(root)])) as known:
        known.look()
        git("init", "x", cwd=root)
        assert now(known, root) == {"x/.git"}


@pytest.mark.parametrize("seed", range(8))
def test_watching_finds_what_walking_finds(seed: int, root: Path) -> None:
    """After whatever was made, moved and removed. It may remember more."""
    chance = random.Random(seed)
    with (
        closing(Repositories([str(root)])) as watching,
        closing(Repositories([str(root)], watching=False)) as walking,
    ):
        for _ in range(120):
            for _ in range(chance.randint(0, 4)):
                _do_something(chance, root)
            assert now(walking, root) <= now(watching, root)


def test_a_tree_that_changes_while_it_is_looked_at(root: Path) -> None:
    """Whatever is gone when we come to it is left out, and the next look is right."""
    chance = random.Random(1)
    with (
        closing(Repositories([str(root)])) as watching,
        closing(Repositories([str(root)], watching=False)) as walking,
    ):
        with again_and_again(lambda: _do_something(chance, root)):
            for _ in range(LOOKS):
                watching.look()
                walking.look()
        assert now(walking, root) <= now(watching, root)


def _do_something(chance: random.Random, root: Path) -> None:
    directories = [root, *map(Path, (at for at, _, _ in os.walk(root)))]
    one, other = chance.choice(directories), chance.choice(directories)
    name = chance.choice(["a", "b", ".git", "HEAD", "objects", "refs", "modules"])
    try:
        match chance.randrange(5):
            case 0 | 1:
                (one / name).mkdir()
            case 2:
                (one / name).touch()
            case 3 if one != root:
                one.rename(other / name)
            case 4 if one != root:
                shutil.rmtree(one)
    except OSError:
        pass  # it is there, or would be in itself
