"""The numbers of processes that an agent is told are those that its commands see."""

from __future__ import annotations

from fairlead import Engine
from tests.tools.test_run_sessions import start


async def test_a_listed_session_can_be_looked_at(engine: Engine) -> None:
    """Another command of the agent finds it under that number, confined or not."""
    await start(engine, "echo up; exec sleep 1000")
    [listed] = engine.sessions()
    looked = await engine.call("shell", {"command": ["cat", f"/proc/{listed['pid']}/cmdline"]})
    assert looked.structured["output"] == "sleep\0001000\0"
