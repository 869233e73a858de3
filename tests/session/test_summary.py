"""A session in a few facts."""

from __future__ import annotations

import asyncio
import json

from fairlead.model.params import Stdin
from fairlead.session.summary import summary
from fairlead.testing import FakeProcess, FakeSpawner
from tests.session.house import house


async def test_a_running_session() -> None:
    """Its process, whether it waits for input, and nothing of an end."""
    async with house() as home:
        session = await home.start("read", stdin=Stdin.OPEN)
        assert session.process is not None
        found = summary(session)
        assert found["session_id"] == session.id
        assert found["state"] == "running"
        assert found["command"] == "/bin/bash -c read"
        assert found["cwd"] == "/"
        assert found["pid"] == session.process.pid
        assert "host_pid" not in found
        assert isinstance(found["waiting_for_input"], bool)
        assert found.keys().isdisjoint({"exit_code", "ended", "descendants_alive"})
        json.dumps(found)


async def test_a_confined_session() -> None:
    """Its number as the agent's commands know it, and beside it that of the machine."""

    async def waits(process: FakeProcess) -> int:
        process.inner_pid = 7
        await asyncio.Event().wait()
        return 0

    async with house(spawner=FakeSpawner(waits)) as home:
        session = await home.start("confined")
        await asyncio.sleep(0)
        assert session.process is not None
        found = summary(session)
        assert (found["pid"], found["host_pid"]) == (7, session.process.pid)


async def test_an_ended_session() -> None:
    """How it ended and how much it wrote; no process."""
    async with house() as home:
        found = summary(await home.run("echo out; kill -KILL $$"))
        assert found["state"] == "exited"
        assert (found["exit_code"], found["ended"]) == (137, "signal SIGKILL")
        assert found["total_bytes"] == 4
        assert found.keys().isdisjoint({"pid", "waiting_for_input", "descendants_alive"})


async def test_an_ended_session_with_children() -> None:
    """That something of it lives on is said, until it is gone."""
    async with house() as home:
        session = await home.run("sleep 300 & exit 1")
        found = summary(session)
        assert (found["state"], found["descendants_alive"]) == ("exited, children alive", True)
        await session.end(by="a test")
        assert summary(session)["state"] == "exited"
        assert summary(session)["ended"] == "exit code 1"
