"""Names and repositories that appear while commands run."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from fairlead.model.access import Access, Denial, PathMode, PathRule
from fairlead.model.confine import Identity
from fairlead.protect import trees
from fairlead.protect.aside import Store, list_aside, put_back
from fairlead.protect.gitdirs import protected
from fairlead.protect.guard import MOVED, NAME, STILL_THERE, Protection
from tests.protect.conftest import Git, again_and_again

SECONDS = 30.0
RACES = 400


def rule(path: str, mode: PathMode, because: str) -> PathRule:
    found = os.stat(path)
    return PathRule(path, mode, Identity(found.st_dev, found.st_ino), True, because)


def access(root: Path, *, git_commit: bool = True) -> Access:
    """As a survey makes it, without what is outside of the root."""
    found = protected(str(root), git_commit=git_commit)
    return Access(
        rules=(
            rule(str(root), PathMode.WRITE, "workspace"),
            *(rule(path, PathMode.WRITE, "kept in place") for path in found.writable_mountpoints),
            *(rule(path, PathMode.READ, "protected") for path in found.read_only),
        ),
        absent=found.absent,
        repositories=found.repositories,
    )


@pytest.fixture
def watch(root: Path, state: Path) -> Iterator[Callable[..., Protection]]:
    opened: list[Protection] = []

    def begin(**said: bool) -> Protection:
        opened.append(Protection(access(root, **said), state))
        return opened[-1]

    yield begin
    for one in opened:
        one.close()


def told(denials: tuple[Denial, ...], root: Path) -> dict[str, str]:
    return {(one.path or "").removeprefix(f"{root}/"): one.by for one in denials}


def test_a_name_is_moved_the_moment_it_appears(
    watch: Callable[..., Protection], root: Path, state: Path
) -> None:
    """It is reported once, and a person can have it back."""
    protection = watch()
    (root / ".claude").mkdir()
    assert select.select([protection.fileno()], [], [], SECONDS)[0]
    assert told(protection.on_readable(), root) == {".claude": MOVED + NAME}
    assert os.listdir(root) == []
    assert protection.settle() == ()
    (one,) = list_aside(state)
    put_back(state, one.id)
    assert os.listdir(root) == [".claude"]


def test_nothing_was_heard(watch: Callable[..., Protection], root: Path) -> None:
    """At the end of a command the names are looked at, whatever the kernel said."""
    protection = watch()
    (root / ".mcp.json").touch()
    protection.disregard()
    assert told(protection.settle(), root) == {".mcp.json": MOVED + NAME}


def test_names_in_a_git_directory(watch: Callable[..., Protection], root: Path, git: Git) -> None:
    """They would lead git elsewhere."""
    git("init", cwd=root)
    protection = watch()
    (root / ".git/commondir").write_text("/tmp")
    (root / ".git/info/attributes").write_text("* filter=x")
    found = told(protection.on_readable(), root)
    assert found == {".git/commondir": MOVED + NAME, ".git/info/attributes": MOVED + NAME}
    assert sorted(os.listdir(root / ".git/info")) == ["exclude"]


def test_no_commits(watch: Callable[..., Protection], root: Path, git: Git) -> None:
    """Then a new `.git` at the root goes as a whole."""
    protection = watch(git_commit=False)
    git("init", cwd=root)
    assert told(protection.settle(), root) == {".git": MOVED + NAME}
    assert os.listdir(root) == []


def test_behind_a_link_that_leads_outside(
    watch: Callable[..., Protection], root: Path, ground: Path, git: Git
) -> None:
    """What is there is no business of ours."""
    git("init", cwd=root)
    (root / ".git/info/exclude").unlink()
    (root / ".git/info").rmdir()
    (ground / "other").mkdir()
    (ground / "other/attributes").write_text("a person's")
    protection = watch()
    (root / ".git/info").symlink_to(ground / "other")
    assert protection.settle() == ()
    assert (ground / "other/attributes").exists()


def test_our_own_directory_is_not_moved_into_itself(root: Path) -> None:
    """Where things are kept may lie in a writable root."""
    state = root / "state"
    known = access(root)
    with Protection(Access(rules=known.rules, absent=(f"{root}/state",)), state) as protection:
        Store(state).move(str(root / "x"), "")
        (root / "x").touch()
        Store(state).move(str(root / "x"), "")
        assert protection.settle() == ()
    assert state.exists()


def test_it_can_not_be_moved(
    watch: Callable[..., Protection], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported all the same."""

    def fail(self: Store, path: str, because: str) -> str | None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Store, "move", fail)
    protection = watch()
    (root / ".claude").touch()
    assert told(protection.settle(), root) == {".claude": STILL_THERE + NAME}


def test_a_new_repository_is_cleaned(
    watch: Callable[..., Protection], root: Path, state: Path, git: Git
) -> None:
    """It stays; the hook and the setting go, and come back when a person says so."""
    protection = watch()
    git("init", "a/b", cwd=root)
    made = root / "a/b/.git"
    (made / "hooks/pre-commit").write_text("#!/bin/sh\n")
    git("config", "core.sshCommand", "x", cwd=root / "a/b")
    planted = (made / "config").read_text()
    found = told(protection.settle(), root)
    assert found == {
        "a/b/.git/hooks/pre-commit": "moved aside: programs that git runs",
        "a/b/.git/config": "moved aside: core.sshcommand: run to connect",
    }
    assert protection.settle() == ()
    git("commit", "--allow-empty", "-m", "1", cwd=root / "a/b")
    for one in list_aside(state):
        put_back(state, one.id)
    assert (made / "config").read_text() == planted
    assert (made / "hooks/pre-commit").exists()


def test_it_is_looked_at_again_as_long_as_no_mount_protects_it(
    watch: Callable[..., Protection], root: Path, git: Git
) -> None:
    """A command that goes on may plant something later."""
    protection = watch()
    git("init", cwd=root)
    assert protection.settle() == ()
    (root / ".git/hooks/pre-push").touch()
    assert list(told(protection.settle(), root)) == [".git/hooks/pre-push"]


def test_the_survey_knew_it(watch: Callable[..., Protection], root: Path, git: Git) -> None:
    """A person's hooks are left alone, in linked worktrees and submodules too."""
    git("init", "x", cwd=root)
    git("commit", "--allow-empty", "-m", "1", cwd=root / "x")
    git("worktree", "add", "../tree", cwd=root / "x")
    git("submodule", "add", f"{root}/x", "sub", cwd=root / "x")
    (root / "x/.git/hooks/pre-commit").touch()
    protection = watch()
    assert protection.settle() == ()
    assert protection.unknown(in_the_making=True) == frozenset()


def test_a_tree_that_is_too_large_to_be_seen_as_a_whole(
    watch: Callable[..., Protection],
    root: Path,
    state: Path,
    git: Git,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A repository that comes to light only later is not new for that: what is older than the
    command is a person's."""
    monkeypatch.setattr(trees, "MOST", 20)
    git("init", "deep/x", cwd=root)
    hooks = root / "deep/x/.git/hooks"
    (hooks / "pre-commit").touch()
    for number in range(30):
        (root / f"a{number}").mkdir()
    time.sleep(0.05)  # more than the grain of a file system's clock
    protection = watch()
    assert protection.settle() == ()
    for number in range(30):
        (root / f"a{number}").rmdir()
    assert protection.settle() == ()
    assert protection.unknown(in_the_making=True)
    (hooks / "pre-push").touch()
    assert list(told(protection.settle(), root)) == ["deep/x/.git/hooks/pre-push"]
    assert (hooks / "pre-commit").exists()


def test_repositories_to_be_surveyed(
    watch: Callable[..., Protection], root: Path, git: Git
) -> None:
    """Those that are complete, or all, if nobody can be making them."""
    protection = watch()
    (root / "half/.git").mkdir(parents=True)
    git("init", "x", cwd=root)
    protection.look()
    names = [
        {path.removeprefix(f"{root}/") for path, _ in protection.unknown(in_the_making=all_of_them)}
        for all_of_them in (False, True)
    ]
    assert names == [{"x/.git"}, {"x/.git", "half/.git"}]


def test_a_name_made_in_a_loop(watch: Callable[..., Protection], root: Path) -> None:
    """As fast as it is made it goes, and at the end none is left."""
    protection = watch()
    moved = 0
    with again_and_again((root / ".claude").mkdir):
        while moved < RACES:
            assert select.select([protection.fileno()], [], [], SECONDS)[0]
            moved += len(protection.on_readable())
    protection.settle()
    assert os.listdir(root) == []


def test_a_repository_that_plants_in_a_loop(
    watch: Callable[..., Protection], root: Path, git: Git
) -> None:
    """Whatever it does while we look, nothing is there after the last look."""
    protection = watch()
    git("init", cwd=root)
    hooks, away = root / ".git/hooks", root / ".git/away"

    def plant() -> None:
        with suppress(FileExistsError):
            (hooks / "pre-commit").symlink_to("x")
        hooks.rename(away)
        away.rename(hooks)

    with again_and_again(plant):
        for _ in range(RACES // 4):
            protection.settle()
    if away.exists() and not hooks.exists():
        away.rename(hooks)
    protection.settle()
    assert [name for name in os.listdir(hooks) if not name.endswith(".sample")] == []


def test_closing_lets_go(root: Path, state: Path) -> None:
    """Of every descriptor."""
    before = os.listdir("/proc/self/fd")
    with closing(Protection(access(root), state)) as protection:
        protection.settle()
    assert os.listdir("/proc/self/fd") == before
