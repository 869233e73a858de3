"""`fairlead aside` as a process: a person looks at what was moved away, and puts it back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.protect.aside import Store, list_aside
from fairlead.protect.names import AT_TOP
from tests.programs import require

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = Path(os.path.realpath(tmp_path)) / "work"
    path.mkdir()
    return path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "xdg/fairlead"


@pytest.fixture
def fairlead(root: Path, tmp_path: Path) -> Run:
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "xdg")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = (sys.executable, "-m", "fairlead", *words)
        return subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True)

    return run


def test_from_a_command_to_a_person_and_back(fairlead: Run, root: Path, state: Path) -> None:
    """The command is told, the list has it, and it comes back as it was."""
    script = "mkdir .claude; for i in $(seq 3000); do test -e .claude || exit 3; sleep 0.02; done"
    done = fairlead("run", "--", "sh", "-c", script)
    assert done.returncode == 3, "it was still there"
    assert done.stderr == (
        f"fairlead: denied: create {root}/.claude: moved aside: protected name\n"
    )
    (row,) = fairlead("aside", "list").stdout.splitlines()
    number = row.split()[0]
    assert row == f"{number}  {root}/.claude  (protected name: {AT_TOP['.claude']})"
    shown = fairlead("aside", "show", number).stdout
    assert f"path:     {root}/.claude\n" in shown
    assert "a directory:" in shown
    back = fairlead("aside", "restore", number)
    assert (back.stdout, back.returncode) == (f"{root}/.claude is back\n", 0)
    assert (root / ".claude").is_dir()
    assert fairlead("aside").stdout == "nothing is aside\n"
    assert list_aside(state) == ()


def test_a_repository_that_a_command_made(fairlead: Run, root: Path) -> None:
    """What was planted in it is reported when the command has ended."""
    require("git")
    done = fairlead("run", "--", "sh", "-c", "git init -q x; echo > x/.git/hooks/pre-push")
    path = f"{root}/x/.git/hooks/pre-push"
    assert done.stderr == (
        f"fairlead: denied: create {path}: moved aside: programs that git runs\n"
    )
    assert not Path(path).exists()


def test_what_a_file_says(fairlead: Run, root: Path, state: Path) -> None:
    """As text that changes nothing in a terminal, and not without end."""
    (root / "a\x1b[2J").write_bytes(b"one\x1b]0;x\x07\n" + b"2" * (1 << 17))
    Store(state).move(f"{root}/a\x1b[2J", "why")
    (one,) = list_aside(state)
    for words in (("list",), ("show", one.id)):
        assert "\x1b" not in fairlead("aside", *words).stdout
    shown = fairlead("aside", "show", one.id).stdout
    assert "one\\x1b]0;x\\x07\n" in shown
    assert shown.endswith(f"… {10 + (1 << 17) - (1 << 16)} bytes more\n")


def test_as_data(fairlead: Run, root: Path, state: Path) -> None:
    """The same facts."""
    (root / "link").symlink_to("nowhere")
    Store(state).move(f"{root}/link", "why")
    (found,) = json.loads(fairlead("aside", "list", "--json").stdout)
    assert found["path"] == f"{root}/link"
    assert found["because"] == "why"
    assert "a link to nowhere" in fairlead("aside", "show", found["id"]).stdout


def test_something_is_in_the_way(fairlead: Run, root: Path, state: Path) -> None:
    """One sentence, and both are still there."""
    for text in ("first", "second"):
        (root / "name").write_text(text)
        if text == "first":
            Store(state).move(f"{root}/name", "why")
    (one,) = list_aside(state)
    done = fairlead("aside", "restore", one.id)
    assert done.returncode == 1
    assert "something else is there now" in done.stderr
    assert (root / "name").read_text() == "second"
    assert Path(one.content).read_text() == "first"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("throw",), "aside: expected one of list, show, restore, got 'throw'"),
        (("show",), "aside show: give one ID"),
        (("restore",), "aside restore: give one ID or more"),
        (("restore", "../../etc"), "'../../etc': not an id"),
        (("show", "nothing"), "nothing: nothing with this id was moved aside"),
        (("list", "x"), "aside list: unexpected 'x'"),
        (("show", "x", "--json"), "--json: only for the list"),
    ],
)
def test_what_it_does_not_take(words: tuple[str, ...], says: str, fairlead: Run) -> None:
    """Said in one line."""
    done = fairlead("aside", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"fairlead: {says}")
    assert done.stderr.count("\n") == 1
