"""An engine whose shells have a home of their own, and live shells of every kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from fairlead import Engine
from fairlead.config.options import Options
from tests.live.driving import KINDS, Live


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home directory, empty."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.delenv("ZDOTDIR", raising=False)
    return path


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    """Leaving it ends what the test left running."""
    async with Engine(Options(cwd=home, shell="bash")) as opened:
        yield opened


@pytest.fixture(params=list(KINDS))
async def live(
    request: pytest.FixtureRequest, engine: Engine, require: Callable[[str], str]
) -> Live:
    """One live shell of each kind: our own ones, and those that an agent started."""
    kind = KINDS[request.param]
    require(kind.program)
    return await Live.open(engine, kind)


@pytest.fixture
async def bash(engine: Engine) -> Live:
    """The agent's own bash."""
    return await Live.open(engine, KINDS["own bash"])
