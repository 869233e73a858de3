"""The launcher as it is shipped, and the same sources under the sanitizers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native import harness


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Freestanding, as it is shipped."""
    target = tmp_path_factory.mktemp("plain") / "fairlead-launcher"
    return harness.compile_c(target, *harness.PLAIN, *harness.SOURCES)


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hosted, with the address and undefined-behaviour sanitizers."""
    target = tmp_path_factory.mktemp("sanitized") / "fairlead-launcher"
    return harness.compile_c(target, *harness.SANITIZED, *harness.SOURCES)


@pytest.fixture(params=["plain", "sanitized"])
def launcher(request: pytest.FixtureRequest) -> Path:
    """Each test of behaviour runs against both."""
    binary = request.getfixturevalue(request.param)
    assert isinstance(binary, Path)
    return binary


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory with a file in it."""
    (tmp_path / "file").write_text("content")
    (tmp_path / "empty").mkdir()
    yield tmp_path
    assert sorted(os.listdir(tmp_path)) == ["empty", "file"], "something was left behind"
