"""Nothing is left behind on the host, even if every process of ours is killed at any moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead.protect.names import AT_TOP, IN_GIT
from tests.programs import require

TIMES = 60  # in each of four runs
HERE = Path(__file__).parents[2]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A tree with something of each kind, half of the protected names, and a repository."""
    path = Path(os.path.realpath(tmp_path)) / "work"
    (path / "src/deep").mkdir(parents=True)
    (path / "src/deep/file").write_text("said")
    (path / "link").symlink_to("src")
    os.link(path / "src/deep/file", path / "other")
    for name in list(AT_TOP)[::2]:
        (path / name).mkdir()
    for name in ("src/one", "."):
        subprocess.run((require("git"), "init", "-q", name), cwd=path, check=True)
    return path


def killed(top: Path, policy: str, seed: int, state: Path) -> dict[str, Any]:
    argv = (sys.executable, "-m", "tests.kernel.killing", str(top), policy, str(TIMES), str(seed))
    done = subprocess.run(
        argv,
        cwd=HERE,
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["times"] == TIMES
    return found


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_tree_that_was_only_read_is_bit_identical(seed: int, top: Path, tmp_path: Path) -> None:
    """Names, inodes, rights, times, contents; and no mount is seen outside."""
    found = killed(top, "read-only", seed, tmp_path / "state")
    assert found["left"] == []
    assert found["mounted"] == []


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", [3, 4])
def test_a_tree_that_was_written_has_what_was_written_and_no_more(
    seed: int, top: Path, tmp_path: Path
) -> None:
    """No protected name as a place to mount on, no name of ours, and no mount."""
    found = killed(top, "workspace-write", seed, tmp_path / "state")
    assert found["left"], "no command ever ran"
    assert {name for names in found["left"] for name in names} <= {".", "out"}
    assert found["mounted"] == []
    missing = [*list(AT_TOP)[1::2], *(f".git/{name}" for name in IN_GIT if name != "branches")]
    there = [name for name in missing if os.path.lexists(top / name)]
    assert set(there) <= {".git/hooks", ".git/config"}
