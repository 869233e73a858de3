"""`fairlead doctor` on machines that lack something: here, and where it is taken away for real."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fairlead.cli import enforcing
from fairlead.model.frozen import replace
from fairlead.sandbox.host import assumed
from tests.front_ends import PROGRAM, ROOT, SECONDS, environment

Require = Callable[[str], str]
Findings = Mapping[str, Mapping[str, Any]]

# Nobody inside may make a namespace, and root there has no right to mount.
WITHOUT_NAMESPACES = (
    *("unshare", "--user", "--map-root-user", "sh", "-c"),
    'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv "$@"',
    *("sh", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"),
)


def doctor(
    *flags: str, around: Sequence[str] = (), env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*around, *PROGRAM, "doctor", *flags],
        env=env or environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def findings(done: subprocess.CompletedProcess[str]) -> Findings:
    return {one["what"]: one for one in json.loads(done.stdout)}


def test_this_machine_enforces_everything() -> None:
    """The first tier is what the tests of this repository need; a confined command has started."""
    done = doctor("--json")
    found = findings(done)
    assert done.returncode == 0
    assert found["sandbox"]["found"] == "namespaces, everything is enforced"
    assert found["a confined command"]["ok"]
    for what in ("mounts", "a /proc of its own", "network namespaces", "seccomp"):
        assert found[what]["ok"], found[what]


def test_a_thing_that_is_there_has_no_remedy_shown() -> None:
    """Text for people: one line for what is well, and the remedy below what is not."""
    done = doctor()
    lines = done.stdout.splitlines()
    assert "ok       sandbox: namespaces, everything is enforced" in lines
    assert all(line.startswith(("ok ", "without ", "MISSING ", "   ")) for line in lines)


def test_without_user_namespaces(require: Require) -> None:
    """The second tier, what it can't do, and the switch that forbids the first."""
    for program in ("unshare", "setpriv"):
        require(program)
    done = doctor("--json", around=WITHOUT_NAMESPACES)
    assert done.returncode == 1, done.stderr
    found = findings(done)
    sandbox = found["sandbox"]
    assert not sandbox["ok"]
    assert sandbox["needed"]
    assert sandbox["found"].startswith("landlock, but ")
    assert "sockets of other programs can be connected to" in sandbox["found"]
    switch = "as root: sysctl user.max_user_namespaces=15000"
    assert sandbox["remedy"].startswith(f"{switch}; or accept less: --accept ")
    assert found["user namespaces"]["remedy"] == switch
    assert "No space left" in found["user namespaces"]["found"]
    assert "not permitted" in found["mounts"]["found"]
    assert found["Landlock"]["ok"]
    assert found["a confined command"]["ok"]


def test_what_it_says_to_accept_is_enough(require: Require, tmp_path: Path) -> None:
    """The default is refused there; with the words of the remedy a command runs, also where there
    is something to protect."""
    for program in ("unshare", "setpriv"):
        require(program)
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    sandbox = findings(doctor("--json", around=WITHOUT_NAMESPACES))["sandbox"]
    words = sandbox["remedy"].rpartition("--accept ")[2]
    argv = [*WITHOUT_NAMESPACES, *PROGRAM, "sandbox"]
    refused, allowed = (
        subprocess.run(
            [*argv, *flags, "--", "touch", name],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        for name, flags in (("refused", []), ("allowed", ["--accept", words]))
    )
    assert refused.returncode == 125
    assert "The command was not run" in refused.stderr
    assert (allowed.returncode, allowed.stderr) == (0, "")
    assert sorted(os.listdir(tmp_path)) == [".git", "allowed"]


@pytest.fixture
def without_launcher(tmp_path: Path) -> dict[str, str]:
    """The environment of a Fairlead that was installed without a C compiler."""
    package = tmp_path / "lib" / "fairlead"
    leave_out = shutil.ignore_patterns("__pycache__", "fairlead-launcher")
    shutil.copytree(ROOT / "src" / "fairlead", package, ignore=leave_out)
    return {**os.environ, "PYTHONPATH": str(package.parent)}


def test_without_the_launcher(require: Require, without_launcher: dict[str, str]) -> None:
    """Bubblewrap takes its place, and how to have the launcher is said."""
    require("bwrap")
    done = doctor("--json", env=without_launcher)
    found = findings(done)
    launcher = next(one for what, one in found.items() if what.startswith("native launcher"))
    assert not launcher["ok"]
    assert "make native" in launcher["remedy"]
    assert found["sandbox"]["found"].startswith("bubblewrap, ")
    assert found["a confined command"]["ok"]
    assert not found["Landlock"]["ok"]


def test_with_nothing_that_confines(
    require: Require, without_launcher: dict[str, str], tmp_path: Path
) -> None:
    """Without launcher and namespaces there is no sandbox, and nothing is run in none."""
    for program in ("unshare", "setpriv"):
        require(program)
    done = doctor("--json", around=WITHOUT_NAMESPACES, env=without_launcher)
    found = findings(done)
    assert done.returncode == 1
    assert "no sandbox can be had on this machine" in found["sandbox"]["found"]
    assert "Build the launcher" in found["sandbox"]["found"]
    ran = subprocess.run(
        [*WITHOUT_NAMESPACES, *PROGRAM, "sandbox", "--accept", "all", "--", "touch", "ran"],
        cwd=tmp_path,
        env=without_launcher,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 125
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("switches", "remedy"),
    [
        ({"_APPARMOR": "1"}, "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
        ({"_APPARMOR": "0", "_CLONE": "0"}, "sysctl kernel.unprivileged_userns_clone=1"),
        ({"_MOST": "0"}, "sysctl user.max_user_namespaces=15000"),
        ({"_MOST": "9"}, "CONFIG_USER_NS"),
    ],
)
def test_the_remedy_is_the_switch_that_forbids(
    switches: dict[str, str], remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the kernel's and the distributions' switches has its own command."""
    for name in ("_APPARMOR", "_CLONE", "_MOST"):
        path = tmp_path / name
        if name in switches:
            path.write_text(switches[name] + "\n")
        monkeypatch.setattr(enforcing, name, str(path))
    monkeypatch.setattr(enforcing, "_IN_CONTAINER", ())
    assert remedy in enforcing.userns_remedy()


def test_an_old_landlock_is_named() -> None:
    """What an ABI lacks is said with the version of Linux that has it."""
    host = replace(assumed(launcher=True), landlock_abi=4)
    found = enforcing._landlock(host)
    assert not found.ok
    assert "ABI 4" in found.found
    assert "6.12" in found.remedy
