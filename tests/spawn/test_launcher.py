"""Finding the launcher, and running it from where nothing may be executed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fairlead.spawn import launcher, plan
from tests.native import harness


@pytest.fixture
def binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for the binary, empty at first."""
    path = tmp_path / "fairlead-launcher"
    monkeypatch.setattr(launcher, "_BINARY", path)
    return path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("built") / "fairlead-launcher"
    return harness.compile_c(target, *harness.PLAIN, *harness.SOURCES)


def test_found(binary, built):
    """The binary in the package is what is executed."""
    shutil.copy(built, binary)
    assert launcher.find() == binary
    assert launcher.why_missing() == ""


def test_missing(binary):
    """Without it, what is wrong and what to do about it is said."""
    assert launcher.find() is None
    assert "built without a C compiler" in launcher.why_missing()
    assert "make native" in launcher.why_missing()


def test_not_executable(binary):
    """A file that nobody may execute is not the launcher."""
    binary.write_bytes(b"")
    binary.chmod(0o644)
    assert launcher.find() is None
    assert "can't be executed" in launcher.why_missing()


def test_no_variable_names_another(binary, built, monkeypatch):
    """The environment has no say in what stands between us and every command."""
    for name in ("FAIRLEAD_LAUNCHER", "FAIRLEAD_NATIVE", "LAUNCHER"):
        monkeypatch.setenv(name, str(built))
    assert launcher.find() is None


def test_looked_for_once(binary, built):
    """The answer is remembered, so that a spawn does not pay for it."""
    shutil.copy(built, binary)
    found = launcher.find()
    binary.unlink()
    assert launcher.find() == found


def test_from_a_file_system_without_execution(binary, built, monkeypatch):
    """Where its file system forbids execution, a sealed copy in memory runs instead."""
    shutil.copy(built, binary)
    # Only root can mount, so the two answers of the kernel are given here; the copy is real.
    noexec = os.statvfs_result((*os.statvfs(binary)[:8], os.ST_NOEXEC, 255))
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: noexec)
    found = launcher.find()
    assert found is not None
    assert found == launcher.find()
    said = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    assert said == "fairlead-launcher 1\n"
    assert harness.run(found, harness.guarded(harness.command("true")))[-1] == plan.Gone()
    fd = int(found.name)
    with pytest.raises(OSError, match="not permitted"):
        os.write(fd, b"x")
    assert not os.get_inheritable(fd)
    os.close(fd)
