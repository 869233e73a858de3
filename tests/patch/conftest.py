"""A directory to patch."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A writable root with a few files."""
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "b.txt").write_text("three\n")
    (root / "sub/c.txt").write_text("four\n")
    return root
