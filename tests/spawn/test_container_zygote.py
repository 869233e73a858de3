"""Commands that begin in a container: when it is made, when it goes, and who hears of a failure.

The container is none (see scripted_engine.py): this is about its life, not about its walls.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.model.errors import SandboxFailed
from fairlead.model.frozen import replace
from fairlead.spawn.local import LocalSpawner
from tests.spawn.running import OPEN, eventually, launcher_path, run, script, start
from tests.spawn.scripted_engine import ScriptedEngine


@pytest.fixture
def engine(tmp_path: Path) -> ScriptedEngine:
    return ScriptedEngine(tmp_path / "engine").install()


@pytest.fixture
async def spawner() -> AsyncIterator[LocalSpawner]:
    found = LocalSpawner(launcher_path())
    yield found
    await found.close()


async def test_one_for_all_commands(spawner: LocalSpawner, engine: ScriptedEngine) -> None:
    """Made for the first, removed with the agent."""
    confinement = engine.confinement()
    for tty in (False, True, False):
        env = replace(script("echo hi; exit 3", tty=tty), confinement=confinement)
        output = await run(spawner, env)
        assert output.data.split() == [b"hi"]
        assert output.ending is not None
        assert output.ending.code == 3
    assert len(engine.asked("run")) == 1
    assert engine.asked("rm") == []
    spawner.release("default")
    await eventually(lambda: len(engine.asked("rm")) == 1)


async def test_a_failure_is_everybodys_who_waits(
    spawner: LocalSpawner, engine: ScriptedEngine
) -> None:
    """Nothing has run, what was made is removed, and the next command tries anew."""
    engine.fails("run", "Error: no room")
    confinement = engine.confinement()
    starts = (start(spawner, replace(script("true"), confinement=confinement)) for _ in range(3))
    for found in await asyncio.gather(*starts, return_exceptions=True):
        assert isinstance(found, SandboxFailed)
        assert "no room" in str(found)
    await eventually(lambda: engine.asked("rm"))
    (engine.directory / "fails-run").unlink()
    await eventually(lambda: not spawner._zygotes._all)
    await run(spawner, replace(script("true"), confinement=confinement))


async def test_who_waits_is_not_left_alone(spawner: LocalSpawner, engine: ScriptedEngine) -> None:
    """A confinement that is replaced while its container is made still gets its command."""
    engine.waits()
    old = engine.confinement()
    first = asyncio.ensure_future(start(spawner, replace(script("echo", **OPEN), confinement=old)))
    await eventually(lambda: engine.asked("ps"))
    spawner.release("default")
    await asyncio.to_thread(engine.goes_on)
    running = await first
    assert (await running.ended()).code == 0
    await running.all_gone()
    await eventually(lambda: engine.asked("rm"))


async def test_closing_waits_for_what_is_being_made(engine: ScriptedEngine) -> None:
    """It is removed as soon as it is there, and the command is told."""
    spawner = LocalSpawner(launcher_path())
    engine.waits()
    env = replace(script("sleep 86400"), confinement=engine.confinement())
    first = asyncio.ensure_future(start(spawner, env))
    await eventually(lambda: engine.asked("ps"))
    closing = asyncio.ensure_future(spawner.close())
    await asyncio.sleep(0)
    await asyncio.to_thread(engine.goes_on)
    await closing
    with pytest.raises(SandboxFailed, match="no longer wanted; nothing was run"):
        await first
    assert len(engine.asked("run")) == len(engine.asked("rm")) == 1


async def test_a_cancelled_start_does_not_disturb_the_others(
    spawner: LocalSpawner, engine: ScriptedEngine
) -> None:
    """The container is the agent's, not the command's."""
    engine.waits()
    env = replace(script("echo hi"), confinement=engine.confinement())
    first = asyncio.ensure_future(start(spawner, env))
    second = asyncio.ensure_future(start(spawner, env))
    await eventually(lambda: engine.asked("ps"))
    first.cancel()
    await asyncio.to_thread(engine.goes_on)
    running = await second
    assert (await running.ended()).code == 0
    assert first.cancelled()
    assert len(engine.asked("run")) == 1
