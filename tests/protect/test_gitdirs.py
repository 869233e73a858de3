"""What is protected in a writable root, for each way in which git can be told where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairlead.protect import gitdirs
from fairlead.protect.gitdirs import Protected, protected
from fairlead.protect.names import AT_TOP, IN_GIT
from tests.protect.conftest import Git


def look(root: Path, *, git_commit: bool = True) -> Protected:
    return protected(str(root), git_commit=git_commit)


def below(paths: tuple[str, ...], top: Path) -> set[str]:
    return {path.removeprefix(f"{top}/") for path in paths if path.startswith(f"{top}/")}


def test_an_empty_root(root: Path) -> None:
    """Every name at its top is watched, `.git` only where nobody may commit."""
    assert below(look(root).absent, root) == set(AT_TOP)
    assert below(look(root, git_commit=False).absent, root) == {*AT_TOP, ".git"}
    assert look(root).read_only == ()


@pytest.mark.parametrize("name", AT_TOP)
def test_what_is_there_is_read_only(name: str, root: Path) -> None:
    """And it is not watched for."""
    (root / name).mkdir()
    assert below(look(root).read_only, root) == {name}
    assert name not in below(look(root).absent, root)


def test_a_repository(root: Path, git: Git) -> None:
    """Hooks and settings stay, objects and refs are open, and what is missing must not appear."""
    git("init", cwd=root)
    found = look(root)
    assert below(found.read_only, root / ".git") >= {"hooks", "config"}
    assert below(found.absent, root / ".git") >= {
        *("config.worktree", "commondir", "gitdir", "info/attributes", "remotes")
    }
    every = below((*found.read_only, *found.absent), root / ".git")
    assert every == set(IN_GIT)
    assert str(root / ".git") in found.writable_mountpoints
    assert str(root / ".git/info") in found.writable_mountpoints
    assert (str(root / ".git"), str(root / ".git")) in found.repositories


def test_without_commits_all_of_it_is_read_only(root: Path, git: Git) -> None:
    """Nested ones too."""
    git("init", cwd=root)
    git("init", "a/b", cwd=root)
    assert below(look(root, git_commit=False).read_only, root) >= {".git", "a/b/.git"}


def test_a_linked_git_directory(root: Path, git: Git) -> None:
    """No mount holds a link in place; where it leads is protected."""
    git("init", "real", cwd=root)
    (root / "real/.git").rename(root / "elsewhere")
    (root / ".git").symlink_to("elsewhere")
    found = look(root)
    assert below(found.links, root) == {".git"}
    assert "elsewhere/hooks" in below(found.read_only, root)
    assert (str(root / ".git"), str(root / "elsewhere")) in found.repositories


def test_a_worktree_beside_its_repository(root: Path, git: Git) -> None:
    """Its `.git` file and what its own git directory may not get."""
    git("init", "main", cwd=root)
    git("commit", "--allow-empty", "-m", "1", cwd=root / "main")
    git("worktree", "add", "../tree", cwd=root / "main")
    found = look(root)
    own = root / "main/.git/worktrees/tree"
    assert "tree/.git" in below(found.read_only, root)
    assert below(found.read_only, own) == {"commondir", "gitdir"}
    assert below(found.absent, own) == {"config.worktree"}
    assert "main/.git/hooks" in below(found.read_only, root)


def test_a_worktree_whose_repository_is_outside(root: Path, ground: Path, git: Git) -> None:
    """Committing needs the repository: so far it is opened, since it names this worktree."""
    git("init", "main", cwd=ground)
    git("commit", "--allow-empty", "-m", "1", cwd=ground / "main")
    root.rmdir()
    git("worktree", "add", str(root), cwd=ground / "main")
    found = look(root)
    common = ground / "main/.git"
    assert below(found.writable_mountpoints, common) == {
        *("worktrees/work", "objects", "refs", "logs")
    }
    assert below(found.read_only, common) == {"worktrees/work/commondir", "worktrees/work/gitdir"}


def test_a_git_file_that_lies_opens_nothing(root: Path, ground: Path, git: Git) -> None:
    """Without a word from the repository itself, it is somebody else's."""
    git("init", "main", cwd=ground)
    (root / ".git").write_text(f"gitdir: {ground}/main/.git\n")
    found = look(root)
    assert not below(found.writable_mountpoints, ground / "main")
    assert below(found.read_only, root) == {".git"}


def test_submodules(root: Path, ground: Path, git: Git) -> None:
    """Each has a git directory in the one of its parent, names with slashes and nested ones too."""
    for name in ("inner", "outer"):
        git("init", name, cwd=ground)
        git("commit", "--allow-empty", "-m", "1", cwd=ground / name)
    git("submodule", "add", str(ground / "inner"), "in", cwd=ground / "outer")
    git("commit", "-m", "2", cwd=ground / "outer")
    git("init", cwd=root)
    git("submodule", "add", "--name", "x/y", str(ground / "outer"), "lib/out", cwd=root)
    git("submodule", "update", "--init", "--recursive", cwd=root)
    found = below(look(root).read_only, root)
    for modules in (".git/modules/x/y", ".git/modules/x/y/modules/in"):
        assert {f"{modules}/config", f"{modules}/hooks"} <= found
    assert {"lib/out/.git", "lib/out/in/.git"} <= found


def test_bare_repositories(root: Path, git: Git) -> None:
    """Git takes them for one wherever somebody stands in them; the root may be one."""
    git("init", "--bare", "a/b.git", cwd=root)
    git("init", "--bare", ".", cwd=root)
    assert {"config", "hooks", "a/b.git/config"} <= below(look(root).read_only, root)


def test_a_directory_of_hooks_in_the_tree(root: Path, git: Git) -> None:
    """Who may edit a hook runs programs as whoever commits next."""
    git("init", cwd=root)
    (root / ".husky/_").mkdir(parents=True)
    git("config", "core.hooksPath", ".husky/_", cwd=root)
    assert ".husky" in below(look(root).read_only, root)


def test_included_settings_and_named_programs(root: Path, git: Git) -> None:
    """They are as good as the settings that name them, also where they do not exist yet."""
    git("init", cwd=root)
    for name in ("filter.sh", "more"):
        (root / name).write_text("[include]\npath = still-more\n" if name == "more" else "")
    git("config", "filter.x.clean", "./filter.sh --flag", cwd=root)
    git("config", "include.path", "../more", cwd=root)
    found = look(root)
    assert {"filter.sh", "more"} <= below(found.read_only, root)
    assert "still-more" in below(found.absent, root)


@pytest.mark.parametrize("content", [b"gitdir: \n", b"nonsense", b"gitdir: x\0y", b"g" * 9999, b""])
def test_pointers_that_lead_nowhere(content: bytes, root: Path) -> None:
    """They are kept as they are."""
    (root / ".git").write_bytes(content)
    assert below(look(root).read_only, root) == {".git"}


def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(root: Path) -> None:
    """Whatever is read is a regular file."""
    (root / ".git").mkdir()
    (root / "sub").mkdir()
    for name in (".git/config", ".git/commondir", "sub/.git"):
        os.mkfifo(root / name)
    assert {".git/config", ".git/commondir", "sub/.git"} <= below(look(root).read_only, root)


def test_includes_in_a_circle_end(root: Path, git: Git) -> None:
    """Each file is read once."""
    git("init", cwd=root)
    (root / "a").write_text("[include]\npath = b\n")
    (root / "b").write_text("[include]\npath = a\n")
    git("config", "include.path", "../a", cwd=root)
    assert {"a", "b"} <= below(look(root).read_only, root)


def test_settings_that_git_refuses_name_nothing(root: Path, git: Git) -> None:
    """They are read-only all the same."""
    git("init", cwd=root)
    (root / ".git/config").write_text("[core\nhooksPath = x")
    assert list(gitdirs.settings_of(f"{root}/.git/config", {})) == []
    assert ".git/config" in below(look(root).read_only, root)
