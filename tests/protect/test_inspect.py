"""What goes out of a new repository, and what stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.protect.inspect import LINKED, Finding, findings
from tests.protect.conftest import Git


@pytest.fixture
def repository(root: Path, git: Git) -> Path:
    """The git directory of a repository as `git init` makes it."""
    git("init", cwd=root)
    return root / ".git"


def found(path: Path, root: Path, known: frozenset[str] = frozenset()) -> dict[str, Finding]:
    def inside(other: str) -> bool:
        return other.startswith(f"{root}/")

    def is_known(other: str) -> bool:
        return other in known

    some = findings(str(path), inside=inside, known=is_known)
    return {one.path.removeprefix(f"{root}/"): one for one in some}


def test_what_git_makes_stays(repository: Path, root: Path, ground: Path, git: Git) -> None:
    """Samples, remotes, branches, sparse checkouts, modules and worktrees."""
    assert list((repository / "hooks").iterdir()), "samples are part of the test"
    git("commit", "--allow-empty", "-m", "1", cwd=root)
    git("remote", "add", "o", "https://example.org/x", cwd=root)
    git("clone", "--sparse", str(root), "sparse", cwd=root)
    git("submodule", "add", str(root), "sub", cwd=root)
    git("worktree", "add", "tree", cwd=root)
    git("clone", "--bare", str(root), "bare.git", cwd=root)
    for path in (
        *(repository, root / "sparse/.git", root / "sub/.git", root / "tree/.git"),
        *(repository / "modules/sub", repository / "worktrees/tree", root / "bare.git"),
    ):
        assert found(path, root) == {}


def append(name: str, text: str) -> Callable[[Path], None]:
    def change(git: Path) -> None:
        (git / name).parent.mkdir(exist_ok=True)
        with (git / name).open("a") as file:
            file.write(text)

    return change


def link(name: str) -> Callable[[Path], None]:
    def change(git: Path) -> None:
        (git / name).unlink(missing_ok=True)
        (git / name).symlink_to("/etc/passwd")

    return change


def replace_hooks(git: Path) -> None:
    (git / "hooks").rename(git / "former")
    (git / "hooks").symlink_to("former")


def pipe(git: Path) -> None:
    (git / "config").unlink()
    os.mkfifo(git / "config")


PLANTED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a hook": (append("hooks/pre-commit", "#!/bin/sh"), "hooks/pre-commit"),
    "a program beside the hooks": (append("hooks/tool", "x"), "hooks/tool"),
    "a link as a hook": (link("hooks/post-merge"), "hooks/post-merge"),
    "a link as the hooks": (replace_hooks, "hooks"),
    "a remote in an old notation": (append("branches/x", "ext::sh"), "branches/x"),
    "another old notation": (append("remotes/x", "URL: ext::sh"), "remotes/x"),
    "other settings": (append("commondir", "/etc"), "commondir"),
    "attributes": (append("info/attributes", "* filter=lfs"), "info/attributes"),
    "a link as attributes": (link("info/attributes"), "info/attributes"),
    "settings that git refuses": (append("config", "[core"), "config"),
    "a link as settings": (link("config"), "config"),
    "a pipe as settings": (pipe, "config"),
    "huge settings": (append("config", "#" * (1 << 20)), "config"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_is_planted_goes(what: str, repository: Path, root: Path) -> None:
    """The whole file, link or whatever it is."""
    plant, name = PLANTED[what]
    plant(repository)
    (only,) = found(repository, root).values()
    assert only.path == f"{repository}/{name}"
    assert only.instead is None
    assert only.because


@pytest.mark.parametrize("name", ["config", "config.worktree"])
@pytest.mark.parametrize(
    "setting",
    [
        "[core]\nfsmonitor = /tmp/x",
        "[core]\nsshCommand = x",
        "[core]\nhooksPath = x",
        "[alias]\nx = !x",
        "[include]\npath = x",
        '[filter "x"]\nclean = x',
        '[remote "o"]\nurl = ext::sh',
    ],
)
def test_one_setting_goes(name: str, setting: str, repository: Path, root: Path, git: Git) -> None:
    """The others stay as they are."""
    append(name, f"[user]\n\tname = me\n{setting}\n")(repository)
    before = git("config", "--file", str(repository / name), "--list", cwd=root).splitlines()
    (only,) = found(repository, root).values()
    assert only.path == f"{repository}/{name}"
    assert only.instead is not None
    (repository / name).write_bytes(only.instead)
    after = git("config", "--file", str(repository / name), "--list", cwd=root).splitlines()
    assert [line for line in before if line in after] == after
    assert len(after) == len(before) - 1
    assert found(repository, root) == {}


@pytest.mark.parametrize("name", ["config", "worktrees/tree/gitdir", "worktrees/tree/commondir"])
def test_a_file_that_has_another_name(name: str, repository: Path, root: Path, git: Git) -> None:
    """By that it could be changed when a mount protects this one: a copy takes its place."""
    git("commit", "--allow-empty", "-m", "1", cwd=root)
    git("worktree", "add", "tree", cwd=root)
    path = repository / name
    os.link(path, root / "other")
    some = {**found(repository, root), **found(repository / "worktrees/tree", root)}
    (only,) = some.values()
    assert (only.path, only.instead, only.because) == (str(path), path.read_bytes(), LINKED)


def test_a_pointer_that_has_another_name(root: Path, git: Git) -> None:
    """It too."""
    git("init", "x", cwd=root)
    git("commit", "--allow-empty", "-m", "1", cwd=root / "x")
    git("worktree", "add", "../tree", cwd=root / "x")
    os.link(root / "tree/.git", root / "other")
    (only,) = found(root / "tree/.git", root).values()
    assert (only.path, only.because) == (f"{root}/tree/.git", LINKED)


def test_attributes_that_run_nothing(repository: Path, root: Path) -> None:
    """They may stay."""
    append("info/attributes", "*.txt text=auto -filter !diff\n")(repository)
    assert found(repository, root) == {}


@pytest.mark.parametrize("leads", ["/tmp/x", "/nowhere", "../outside", ""])
def test_a_pointer_that_leads_away(leads: str, root: Path) -> None:
    """It goes itself: what is elsewhere we do not touch."""
    (root / ".git").write_text(f"gitdir: {leads}\n")
    (only,) = found(root / ".git", root).values()
    assert only.path == f"{root}/.git"


def test_a_link_that_leads_away(root: Path, ground: Path, git: Git) -> None:
    """As a pointer does, and nothing there is looked at."""
    git("init", "other", cwd=ground)
    append("hooks/pre-commit", "a person's")(ground / "other/.git")
    (root / ".git").symlink_to(ground / "other/.git")
    assert set(found(root / ".git", root)) == {".git"}


def test_a_pointer_to_a_new_one(root: Path, git: Git) -> None:
    """Both are looked at, and what they share with others."""
    git("init", "x", cwd=root)
    git("commit", "--allow-empty", "-m", "1", cwd=root / "x")
    git("worktree", "add", "../tree", cwd=root / "x")
    append("hooks/pre-commit", "x")(root / "x/.git")
    assert set(found(root / "tree/.git", root)) == {"x/.git/hooks/pre-commit"}


def test_what_mounts_protect_is_left_alone(repository: Path, root: Path) -> None:
    """Where the survey knew it, its hooks are a person's."""
    append("hooks/pre-commit", "a person's")(repository)
    assert found(repository, root, frozenset({str(repository)})) == {}


def test_a_directory_that_is_none(root: Path) -> None:
    """A project has hooks and a config of its own."""
    append("hooks/x", "x")(root)
    append("config", "[core]\nhooksPath = x")(root)
    assert found(root, root.parent) == {}
    assert found(root / "missing", root) == {}
