"""Git inside of the sandbox, and names that may not appear: with real commands, through the
engine."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import Engine, Options
from fairlead.approval.nobody import Nobody
from fairlead.model.access import ApprovalPolicy
from fairlead.model.errors import Rejected
from fairlead.model.params import ExecParams
from fairlead.model.requirement import NeedsApproval
from fairlead.protect.aside import MOST_OF_ONE_PATH, list_aside, put_back
from fairlead.protect.guard import MOVED, NAME
from fairlead.protect.names import AT_TOP
from tests.programs import require

WHO = "".join(f"export GIT_{role}_NAME=a GIT_{role}_EMAIL=a@b;" for role in ("AUTHOR", "COMMITTER"))
PATIENCE = 60.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    require("git")
    path = Path(os.path.realpath(tmp_path)) / "work"
    path.mkdir()
    return path


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    return tmp_path / "xdg/fairlead"


@pytest.fixture
async def engine(root: Path, state: Path) -> AsyncIterator[Engine]:
    async with Engine(Options(cwd=root)) as opened:
        yield opened


async def sh(engine: Engine, script: str) -> dict[str, Any]:
    """The facts of a script that ran to its end."""
    argv = ["bash", "-c", f"set -e; {WHO} {script}"]
    answer = await engine.call("shell", {"command": argv, "timeout_ms": 60000})
    return dict(answer.structured)


async def works(engine: Engine, script: str) -> str:
    found = await sh(engine, script)
    assert found["status"] == "completed", found
    assert "denials" not in found, found
    return str(found["output"])


def denied(facts: dict[str, Any], root: Path) -> dict[str, str]:
    assert all(one["what"] == "create" for one in facts["denials"])
    return {one["path"].removeprefix(f"{root}/"): one["by"] for one in facts["denials"]}


def git(*words: str, cwd: Path) -> str:
    """As a person outside."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ("git", *who, *words), cwd=cwd, capture_output=True, text=True, check=True
    )
    return done.stdout


# --- git that works ------------------------------------------------------------------------------


async def test_the_daily_work(engine: Engine, root: Path) -> None:
    """Everything that writes objects, refs, the index and logs, each in a command of its own."""
    git("init", "-b", "main", cwd=root)
    for script in (
        "echo 1 > a; git add a; git commit -qm 1",
        "git branch other; git checkout -q other; echo 2 > b; git add b; git commit -qm 2",
        "git checkout -q main; echo 3 > a; git commit -qam 3; git merge -q -m 4 other",
        "echo 5 > a; git stash -q; test $(cat a) = 3; git stash pop -q; test $(cat a) = 5",
        "git commit -qam 5; git tag -a v1 -m 6; git rebase -q HEAD~1; git reset -q --hard HEAD",
        "git rm -q b; git commit -qm 7; git mv a c; git commit -qm 8; git revert --no-edit HEAD",
        "git cherry-pick --allow-empty --keep-redundant-commits HEAD; git gc -q; git fsck",
        "git worktree add -q tree; cd tree; echo 9 > d; git add d; git commit -qm 9",
        "cd tree; git status --short; git log --oneline; echo 10 > d; git commit -qam 10",
        "test $(git log --oneline --all | wc -l) -gt 8",
    ):
        await works(engine, script)
    assert "fatal" not in git("fsck", cwd=root)


async def test_in_a_worktree_whose_repository_is_outside(root: Path, state: Path) -> None:
    """Its own git directory and the shared objects, refs and logs are open, no more."""
    main = root.with_name("main")
    git("init", str(main), cwd=root)
    git("commit", "--allow-empty", "-m", "1", cwd=main)
    git("worktree", "add", str(root), cwd=main)
    async with Engine(Options(cwd=root, exclude_slash_tmp=True)) as engine:
        await works(engine, "echo 1 > a; git add a; git commit -qm 2; git checkout -qb other")
        for name in ("config", "hooks/post-commit", "info/attributes", "HEAD"):
            found = await sh(engine, f"echo x >> {main}/.git/{name}")
            assert found["exit_code"] != 0
    assert "other" in git("branch", "-a", cwd=main)


async def test_a_repository_outside_as_a_writable_root(root: Path, state: Path) -> None:
    """With its `.git` opened by the operator, all of git works in the worktree, and what makes git
    run programs is protected all the same."""
    main = root.with_name("main")
    git("init", "-b", "main", str(main), cwd=root)
    git("commit", "--allow-empty", "-m", "1", cwd=main)
    git("worktree", "add", str(root), cwd=main)
    git("branch", "packed", cwd=main)
    git("pack-refs", "--all", cwd=main)
    opened = Options(cwd=root, exclude_slash_tmp=True, writable_roots=(main / ".git",))
    async with Engine(opened) as engine:
        await works(engine, "echo 1 > a; git add a; git commit -qm 2")
        await works(engine, "git checkout -qb o HEAD~1; echo 2 > b; git add b; git commit -qm 3")
        await works(engine, "git rebase -q work; test ! -e $(git rev-parse --git-path REBASE_HEAD)")
        await works(engine, "git update-ref -d refs/heads/packed; git gc -q")
        for name in ("config", "hooks/post-commit"):
            found = await sh(engine, f"echo x >> {main}/.git/{name}")
            assert found["exit_code"] != 0
        found = await sh(engine, f"mkdir {main}/.git/remotes")
        assert denied(found, main) == {".git/remotes": MOVED + NAME}


@pytest.mark.parametrize("where", [".git", "sub/.git", "bare"])
async def test_a_patch_makes_no_repository(engine: Engine, root: Path, where: str) -> None:
    """No command ends after it, so nothing would inspect the settings: git would obey them."""
    files = {"config": "[core]", "HEAD": "ref: refs/heads/main", "objects/a": "", "refs/a": ""}
    adds = "".join(f"*** Add File: {where}/{name}\n+{said}\n" for name, said in files.items())
    patch = f"*** Begin Patch\n{adds}*** End Patch"
    answer = await engine.call("apply_patch", {"input": patch})
    assert not answer.success
    assert "is protected (it must not appear); nothing was changed" in answer.content
    assert os.listdir(root) == []


async def test_in_a_submodule(engine: Engine, root: Path) -> None:
    """It commits into its git directory in the parent's, whose settings stay."""
    other = root.with_name("other")
    git("init", str(other), cwd=root)
    git("commit", "--allow-empty", "-m", "1", cwd=other)
    git("init", cwd=root)
    git("submodule", "add", str(other), "sub", cwd=root)
    await works(engine, "cd sub; echo 1 > a; git add a; git commit -qm 2")
    await works(engine, "git add sub; git commit -qm 3; git submodule status")
    for name in (".git/modules/sub/config", ".git/modules/sub/hooks/pre-commit", "sub/.git"):
        found = await sh(engine, f"echo x >> {name}")
        assert found["exit_code"] != 0
        assert found["denials"][0]["path"] == str(root / name)


@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "git config core.fsmonitor x",
        "git config --local include.path x",
        "rm -rf .git/hooks",
        "mv .git/hooks .git/former",
        "mv .git/config .git/former",
        "mv .git former",
        "rm -f .git/config",
        "ln -f /dev/null .git/config",
        "mv -T $(mktemp -d) .git/hooks",
        "mv .git/info .git/former",
        "chmod 777 .git/hooks",
        "truncate -s 0 .git/config",
        "mkdir -p .git/worktrees/x; cp -a .git .copy; mv .copy .git.new; mv -T .git.new .git",
    ],
)
async def test_what_makes_git_run_programs_stays(attempt: str, engine: Engine, root: Path) -> None:
    """However it is tried, hooks and settings are what they were."""
    git("init", cwd=root)
    git("config", "user.name", "me", cwd=root)
    before = snapshot(root / ".git")
    found = await sh(engine, attempt)
    assert found["exit_code"] != 0
    assert snapshot(root / ".git") == before


def snapshot(git_directory: Path) -> dict[str, tuple[int, bytes]]:
    """The hooks and the settings, with their rights and inodes."""
    paths = [git_directory / "config", *sorted((git_directory / "hooks").iterdir())]
    return {str(path): (path.stat().st_mode, path.read_bytes()) for path in paths}


@pytest.mark.parametrize(
    "name", ["info/attributes", "config.worktree", "commondir", "gitdir", "remotes/x"]
)
async def test_names_that_git_would_obey_vanish(name: str, engine: Engine, root: Path) -> None:
    """They did not exist, so nothing can stand on them."""
    git("init", cwd=root)
    found = await sh(engine, f"mkdir -p .git/$(dirname {name}); echo x > .git/{name} || true")
    (path,) = denied(found, root)
    assert path == (".git/remotes" if name == "remotes/x" else f".git/{name}")
    assert not (root / ".git" / name).exists()


# --- repositories that commands make -------------------------------------------------------------


async def test_init_and_clone(engine: Engine, root: Path) -> None:
    """They work, they stay as they are, and from the next command on they are protected."""
    await works(engine, "git init -q .; echo 1 > a; git add a; git commit -qm 1")
    await works(engine, "git clone -q . deep/clone; cd deep/clone; git log --oneline")
    await works(engine, "cd deep/clone; echo 2 > a; git commit -qam 2; git push -q . HEAD:x")
    for made in (".git", "deep/clone/.git"):
        for name in ("hooks/pre-commit", "config"):
            found = await sh(engine, f"echo x >> {made}/{name}")
            assert found["status"] == "denied"
            assert found["denials"][0]["path"] == f"{root}/{made}/{name}"


async def test_what_was_planted_is_moved_aside(engine: Engine, root: Path, state: Path) -> None:
    """A hook and three settings: reported, gone, and back when a person says so."""
    found = await sh(
        engine,
        "git init -q x; cd x; printf '#!/bin/sh\\ntouch ../ran' > .git/hooks/post-commit;"
        "chmod +x .git/hooks/post-commit; git config core.fsmonitor /tmp/x;"
        "git config core.sshCommand x; git config alias.st '!x'; git config user.name me",
    )
    assert found["status"] == "completed"
    told = denied(found, root)
    assert set(told) == {"x/.git/hooks/post-commit", "x/.git/config"}
    assert all(
        name in told["x/.git/config"] for name in ("core.fsmonitor", "core.sshcommand", "alias.st")
    )
    assert "me" in git("config", "--local", "user.name", cwd=root / "x")
    git("commit", "--allow-empty", "-m", "1", cwd=root / "x")
    assert not (root / "ran").exists()
    for one in list_aside(state):
        put_back(state, one.id)
    assert git("config", "core.sshCommand", cwd=root / "x") == "x\n"
    await works(engine, "cd x; git status")
    git("-c", "core.fsmonitor=false", "commit", "--allow-empty", "-m", "2", cwd=root / "x")
    assert (root / "ran").exists(), "what a person put back is a person's again"


async def test_another_name_for_the_settings(engine: Engine, root: Path) -> None:
    """A hard link that was made while all was open leads to something else afterwards."""
    found = await sh(engine, "git init -q x; ln x/.git/config other")
    assert set(denied(found, root)) == {"x/.git/config"}
    await sh(engine, "printf '[core]\nfsmonitor = /tmp/x\n' > other")
    assert "fsmonitor" not in (root / "x/.git/config").read_text()


async def test_a_git_that_is_a_link(engine: Engine, root: Path) -> None:
    """It is kept as it is, and what it leads to is protected."""
    git("init", "x", cwd=root)
    (root / ".git").symlink_to("x/.git")
    await works(engine, "git status")
    for attempt in ("rm .git", "mv .git other", "ln -sfn other .git", "echo > .git/hooks/pre-push"):
        assert (await sh(engine, attempt))["exit_code"] != 0
    assert (root / ".git").readlink() == Path("x/.git")


async def test_a_person_makes_one(engine: Engine, root: Path, state: Path) -> None:
    """While nothing runs, whatever appears is a person's, and it is protected as it is."""
    await works(engine, "true")
    git("init", "x", cwd=root)
    (root / "x/.git/hooks/pre-commit").write_text("a person's")
    (root / ".claude").mkdir()
    await works(engine, "test -d .claude")
    assert (await sh(engine, "echo x > x/.git/hooks/pre-commit"))["status"] == "denied"
    assert (await sh(engine, "echo x > .claude/settings.json"))["status"] == "denied"
    assert list_aside(state) == ()
    assert (root / "x/.git/hooks/pre-commit").read_text() == "a person's"


# --- names that may not appear -------------------------------------------------------------------


@pytest.mark.parametrize("name", AT_TOP)
async def test_a_name_vanishes(name: str, engine: Engine, root: Path, state: Path) -> None:
    """While the command still runs. It is reported, and a person can have it back."""
    script = f"mkdir {name}; for i in $(seq 3000); do test -e {name} || exit 0; sleep 0.02; done"
    found = await sh(engine, script)
    assert found["exit_code"] == 0, "it was still there"
    assert denied(found, root) == {name: MOVED + NAME}
    assert os.listdir(root) == []
    (one,) = list_aside(state)
    put_back(state, one.id)
    assert os.listdir(root) == [name]
    assert (await sh(engine, f"touch {name}/x"))["status"] == "denied"


async def test_however_it_is_made(engine: Engine, root: Path) -> None:
    """Moved there, linked there, a link, exchanged, or by a process that outlives the command."""
    for script in (
        "mkdir x; mv x .claude",
        "echo > x; ln x .claude",
        "ln -s /etc .claude",
        "mkdir -p deep; cd deep; mkdir ../.claude",
    ):
        found = await sh(engine, script)
        assert denied(found, root) == {".claude": MOVED + NAME}, script
        assert not os.path.lexists(root / ".claude")


async def test_made_again_and_again(engine: Engine, root: Path, state: Path) -> None:
    """Hundreds of times, in every way in turn: it goes each time, one denial tells of it, and no
    disk is filled."""
    script = """
import os
for number in range(300):
    while True:
        try:
            match number % 3:
                case 0:
                    os.mkdir(".claude")
                case 1:
                    os.symlink("x", ".claude")
                case 2:
                    os.makedirs(f"{number}/x")
                    os.rename(str(number), ".claude")
            break
        except OSError:
            if number % 3 == 2:
                os.removedirs(f"{number}/x")
"""
    found = await sh(engine, f"python3 -c {shlex.quote(script)}")
    assert found["exit_code"] == 0, found
    assert denied(found, root) == {".claude": MOVED + NAME}
    assert os.listdir(root) == []
    assert len(list_aside(state)) <= MOST_OF_ONE_PATH


async def test_somebody_else_is_running(engine: Engine, root: Path) -> None:
    """Who made it the kernel does not say: all that run are told."""
    begun = await engine.call(
        "exec_command", {"cmd": "read x", "stdin": "open", "yield_time_ms": 250}
    )
    number = begun.structured["session_id"]
    found = await sh(engine, "mkdir .claude")
    assert denied(found, root) == {".claude": MOVED + NAME}
    ended = await engine.call("write_stdin", {"session_id": number, "chars": "\n"})
    assert denied(dict(ended.structured), root) == {".claude": MOVED + NAME}


async def test_a_process_that_is_left(engine: Engine, root: Path, state: Path) -> None:
    """Nothing that a command left behind may make a name later."""
    script = "(read x < pipe; mkdir .claude) > /dev/null 2>&1 &"
    os.mkfifo(root / "pipe")
    await works(engine, script)
    (root / "pipe").write_text("\n")
    async with asyncio.timeout(PATIENCE):
        while not list_aside(state):
            await asyncio.sleep(0.01)
    assert not (root / ".claude").exists()


async def test_in_a_live_shell(engine: Engine, root: Path) -> None:
    """The shell goes on; each command in it is told what it was denied."""
    found = await engine.call("run_in_session", {"command": "mkdir .claude; git init -q x"})
    assert denied(dict(found.structured), root) == {".claude": MOVED + NAME}
    found = await engine.call("run_in_session", {"command": "echo x > x/.git/hooks/pre-push"})
    assert list(denied(dict(found.structured), root)) == ["x/.git/hooks/pre-push"]
    assert not (root / "x/.git/hooks/pre-push").exists()


async def test_no_commits(root: Path, state: Path) -> None:
    """Then even a new `.git` at the root is a name that may not appear."""
    async with Engine(Options(cwd=root, git_commit=False)) as engine:
        found = await sh(engine, "git init -q . || true")
        assert ".git" in denied(found, root)
        assert not (root / ".git").exists()
        git("init", cwd=root)
        assert (await sh(engine, "git add . ; touch .git/x"))["exit_code"] != 0


async def test_read_only(root: Path, state: Path) -> None:
    """Nothing is watched where nothing can be made."""
    async with Engine(Options(cwd=root, preset="read-only")) as engine:
        found = await sh(engine, "mkdir .claude")
        assert found["status"] == "denied"
        assert os.listdir(root) == []


async def test_only_what_failed_is_offered_a_retry(
    root: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was moved aside may not have hurt the command: then nobody is asked."""
    asked = list[str]()

    async def review(self: Nobody, params: ExecParams, requirement: NeedsApproval) -> str:
        asked.append(params.argv[-1])
        raise Rejected("no")

    monkeypatch.setattr(Nobody, "review", review)
    async with Engine(Options(cwd=root, approval=ApprovalPolicy.ON_FAILURE)) as engine:
        for script in ("mkdir .claude", "mkdir .claude; exit 1"):
            answer = await engine.call("shell", {"command": ["sh", "-c", script]})
            assert denied(dict(answer.structured), root) == {".claude": MOVED + NAME}
    assert asked == ["mkdir .claude; exit 1"]


async def test_many_at_the_same_time(engine: Engine, root: Path) -> None:
    """Repositories that are being made while others begin and end are not torn apart."""
    await works(engine, "git init -q seed; cd seed; echo 1 > a; git add a; git commit -qm 1")
    scripts = [f"git clone -q seed c{n}; cd c{n}; git log" for n in range(20)]
    found = await asyncio.gather(*(sh(engine, script) for script in scripts))
    assert [one["status"] for one in found] == ["completed"] * 20
    assert not any(one.get("denials") for one in found)
    assert (await sh(engine, "echo x >> c7/.git/config"))["status"] == "denied"
