"""The spawners to try."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairlead.spawn.bare import BareSpawner
from fairlead.spawn.local import LocalSpawner
from tests.spawn.running import AnySpawner, launcher_path


@pytest.fixture(params=["local", "bare"])
async def spawner(request: pytest.FixtureRequest) -> AsyncIterator[AnySpawner]:
    """Each test of behaviour holds with the launcher and without."""
    found: AnySpawner = BareSpawner("a test")
    if request.param == "local":
        found = LocalSpawner(launcher_path())
    yield found
    await found.close()


@pytest.fixture
async def guarded() -> AsyncIterator[LocalSpawner]:
    """With the launcher: for what only a guard can do."""
    found = LocalSpawner(launcher_path())
    yield found
    await found.close()
