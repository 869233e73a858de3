"""Becoming the command: which file is found, and what the kernel says of it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from fairlead.spawn import plan
from tests.native.harness import command, guarded, output, run


def script(path: Path, text: str = "#!/bin/sh\necho $0\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def failure(launcher: Path, *argv: str | bytes, path: str | None) -> int:
    env = () if path is None else (b"PATH=" + os.fsencode(path),)
    (report,) = run(launcher, guarded(command(*argv, env=env)))
    assert isinstance(report, plan.Failed)
    assert (report.step, report.op) == (5, 14)
    return report.errno


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """good/tool, other/tool, locked/tool (not executable), plain (a file, not a directory)."""
    script(tmp_path / "good" / "tool")
    script(tmp_path / "other" / "tool")
    script(tmp_path / "locked" / "tool", mode=0o644)
    script(tmp_path / "formless" / "tool", "echo no first line\n")
    script(tmp_path / "orphan" / "tool", "#!/no/such/interpreter\n")
    (tmp_path / "directory" / "tool").mkdir(parents=True)
    (tmp_path / "plain").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("good", "good"),
        ("good:other", "good"),  # the first wins
        ("other:good", "other"),
        ("missing:good", "good"),  # what does not exist is passed over
        ("plain:good", "good"),  # what is not a directory too
        ("locked:good", "good"),  # what may not be executed too
        ("directory:good", "good"),
        ("orphan:good", "good"),
        (f"{'x' * 5000}:good", "good"),  # longer than any path can be
        (f"{'x' * 300}:good", "ENAMETOOLONG"),
        ("missing", "ENOENT"),
        ("plain", "ENOENT"),
        ("missing:locked:missing", "EACCES"),  # it was there: that is the news
        ("directory", "EACCES"),
        ("orphan", "ENOENT"),
        ("formless:good", "ENOEXEC"),  # found; no shell is tried with it
    ],
)
def test_path_search(launcher, tree, path, found):
    """The search follows execvp, without its fallback to a shell."""
    absolute = ":".join(str(tree / part) for part in path.split(":"))
    if found.startswith("E"):
        assert failure(launcher, "tool", path=absolute) == getattr(errno, found)
    else:
        env = (b"PATH=" + os.fsencode(absolute),)
        assert output(launcher, command("tool", env=env)) == f"{tree / found / 'tool'}\n"


@pytest.mark.parametrize("path", ["", ":/missing", "/missing:", "/missing::/missing"])
def test_empty_element_is_the_working_directory(launcher, tree, path):
    """An empty element of PATH means the directory that the plan went to."""
    steps = [
        plan.WorkingDirectory(os.fsencode(tree / "good")),
        *command("tool", env=(b"PATH=" + path.encode(),)),
    ]
    assert output(launcher, steps) == "tool\n"


def test_without_path(launcher):
    """Without PATH the standard places are searched."""
    assert output(launcher, command("echo", "found", env=())) == "found\n"
    assert failure(launcher, "no-such-command", path=None) == errno.ENOENT


def test_only_the_plans_path_counts(plain, tree, monkeypatch):
    """The launcher's own environment plays no part."""
    monkeypatch.setenv("PATH", str(tree / "good"))
    assert failure(plain, "tool", path=str(tree / "missing")) == errno.ENOENT
    decoy = (b"PATHS=" + os.fsencode(tree / "good"), b"PAT=x", b"PATH=/missing")
    (report,) = run(plain, guarded(command("tool", env=decoy)))
    assert report == plan.Failed(5, 14, errno.ENOENT)


def test_a_slash_ends_the_search(launcher, tree):
    """A name with a slash is a path, relative to the working directory."""
    steps = [plan.WorkingDirectory(os.fsencode(tree)), *command("good/tool")]
    assert output(launcher, steps) == "good/tool\n"
    assert failure(launcher, "./tool", path=str(tree / "good")) == errno.ENOENT


def test_executable_other_than_the_first_argument(launcher):
    """What is executed and what it is called are two things."""
    assert output(launcher, command("-odd", "-c", "echo $0", executable="/bin/sh")) == "-odd\n"


def test_refusals(launcher, tree):
    """The kernel's word is passed on as it is."""
    assert failure(launcher, "", path="/bin") == errno.ENOENT
    assert failure(launcher, "x" * 256, path="/bin") == errno.ENAMETOOLONG
    assert failure(launcher, str(tree / "locked" / "tool"), path="") == errno.EACCES
    assert failure(launcher, str(tree / "directory"), path="") == errno.EACCES
    assert failure(launcher, str(tree / "formless" / "tool"), path="") == errno.ENOEXEC
    assert failure(launcher, str(tree / "plain" / "tool"), path="") == errno.ENOTDIR
    assert failure(launcher, str(tree / "plain"), path="") == errno.EACCES
    (tree / "plain").chmod(0o755)
    assert failure(launcher, str(tree / "plain"), path="") == errno.ENOEXEC


def test_too_long(launcher):
    """One argument over the kernel's limit is E2BIG; one just below it runs."""
    assert failure(launcher, "true", "x" * (128 * 1024), path="/bin:/usr/bin") == errno.E2BIG
    assert run(launcher, guarded(command("true", "x" * (128 * 1024 - 1))))[-1] == plan.Gone()


def test_text_file_busy(launcher, tmp_path):
    """A program that somebody writes to is not executed."""
    target = tmp_path / "true"
    shutil.copy("/bin/true", target)
    with target.open("ab"):
        assert failure(launcher, str(target), path="") == errno.ETXTBSY


def test_large_environment(launcher):
    """Thousands of variables arrive, all of them."""
    env = tuple(b"NAME_%d=%d" % (number, number) for number in range(10_000))
    said = output(launcher, command("/usr/bin/env", env=env))
    assert said.splitlines() == [entry.decode() for entry in env]
