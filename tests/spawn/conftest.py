"""The spawners to try."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from fairlead.spawn.bare import BareSpawner
from fairlead.spawn.local import LocalSpawner
from tests.spawn.confined import ConfiningSpawner
from tests.spawn.running import AnySpawner, launcher_path


@pytest.fixture(params=["local", "confined", "bare"])
async def spawner(request: pytest.FixtureRequest) -> AsyncIterator[AnySpawner]:
    """Each test of behaviour holds with the launcher, confined, and without a launcher."""
    found = MAKERS[request.param]()
    yield found
    await found.close()


@pytest.fixture(params=["local", "confined"])
async def guarded(request: pytest.FixtureRequest) -> AsyncIterator[LocalSpawner]:
    """With the launcher: for what only a guard can do."""
    found = MAKERS[request.param]()
    assert isinstance(found, LocalSpawner)
    yield found
    await found.close()


@pytest.fixture
async def unconfined() -> AsyncIterator[LocalSpawner]:
    """For what a confinement does not let happen."""
    found = LocalSpawner(launcher_path())
    yield found
    await found.close()


MAKERS: dict[str, Callable[[], AnySpawner]] = {
    "local": lambda: LocalSpawner(launcher_path()),
    "confined": ConfiningSpawner,
    "bare": lambda: BareSpawner("a test"),
}
