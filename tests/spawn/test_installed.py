"""The system's own sandbox program: nobody else's is taken for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairlead.spawn import installed
from tests import programs


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two directories that are the system's for now."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    both = tuple(str(tmp_path / name) for name in ("first", "second"))
    monkeypatch.setattr(installed, "_DIRECTORIES", both)
    return tmp_path


def program(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_where_it_is_installed():
    """The real one is found where the package puts it."""
    programs.require("bwrap")
    found = installed.bubblewrap()
    assert found is not None
    assert os.access(found, os.X_OK)


def test_path_is_not_asked(places, monkeypatch):
    """A directory on PATH may be one that commands write to."""
    program(places / "bwrap")
    monkeypatch.setenv("PATH", str(places))
    assert installed.bubblewrap() is None


needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root owns what only root can change"
)


@needs_root
def test_the_first_of_them(places):
    """In the order of the list, and only if it is there."""
    second = program(places / "second" / "bwrap")
    assert installed.bubblewrap() == str(second)
    first = program(places / "first" / "bwrap")
    assert installed.bubblewrap() == str(first)


@needs_root
@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_what_others_can_change_is_not_taken(places, mode):
    """Writable by a group or by all: it may be anything by now."""
    program(places / "first" / "bwrap", mode)
    assert installed.bubblewrap() is None


@needs_root
def test_what_belongs_to_somebody_is_not_taken(places):
    """Its owner can change it."""
    os.chown(program(places / "first" / "bwrap"), 65534, 65534)
    assert installed.bubblewrap() is None


@needs_root
def test_what_is_no_file_is_not_taken(places):
    """A directory, a dangling link, a link to what others can change."""
    (places / "first" / "bwrap").mkdir()
    (places / "second" / "bwrap").symlink_to("/no/such/file")
    assert installed.bubblewrap() is None
    (places / "second" / "bwrap").unlink()
    (places / "second" / "bwrap").symlink_to(program(places / "theirs", 0o777))
    assert installed.bubblewrap() is None
