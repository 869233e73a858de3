"""From a plan to a session, and back where nothing came of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fairlead.model.errors import BadRequest, SpawnFailed
from fairlead.model.event import Event
from fairlead.model.limits import Capacity
from tests.session.house import house, is_running, request


async def test_a_start_that_fails_leaves_nothing() -> None:
    """No session, no event, no id, no place."""
    async with house(capacity=Capacity(live=1, warn_at=2, protected=0)) as home:
        events: list[Event] = []
        home.hub.subscribe(events.append)
        params, env = request("true", session_id=4711)
        for _ in range(3):
            with pytest.raises(SpawnFailed):
                await home.starter.start(params, replace(env, argv=("/no/such/program",)))
        assert events == []
        assert home.store.everyone() == []
        session, warnings = await home.starter.start(params, env)
        assert (session.id, warnings) == (4711, ())
        with pytest.raises(BadRequest, match="session 4711 exists already"):
            await home.starter.start(params, env)


async def test_what_the_plan_warns_of_comes_first() -> None:
    """Warnings of the plan, of an eviction and of the count are all told, in this order."""
    async with house(capacity=Capacity(live=1, warn_at=1, protected=0)) as home:
        params, env = request("sleep 300")
        first, _ = await home.starter.start(params, env)
        _, warnings = await home.starter.start(params, replace(env, warnings=("planned",)))
        assert warnings == (
            "planned",
            f"session {first.id} was evicted to make room; it was running and has been ended: "
            "/bin/bash -c 'sleep 300'",
            "1 of 1 sessions are in use; end those you no longer need with kill_session",
        )


async def test_hidden_runs_are_seen_by_nobody() -> None:
    """They have output and an ending, and no place, event or descendant."""
    async with house() as home:
        events: list[Event] = []
        home.hub.subscribe(events.append)
        params, env = request("sleep 300 & echo $!; exit 3")
        ending, output = await home.starter.run_hidden(params, env)
        assert ending.code == 3
        assert not is_running(int(output))
        assert events == []
        assert home.store.everyone() == []


async def test_a_hidden_run_that_hangs_ends_at_its_timeout() -> None:
    """With everything it started, and with what it wrote."""
    async with house() as home:
        params, env = request("echo before; sleep 300", timeout=0.3)
        ending, output = await home.starter.run_hidden(params, env)
        assert (ending.code, ending.timed_out) == (124, True)
        assert output == b"before\n"


async def test_a_hidden_run_that_is_cancelled_is_gone() -> None:
    """Also if it is cancelled twice: its caller is released when its processes are gone."""
    async with house() as home:
        params, env = request("trap '' TERM; while :; do sleep 0.1; done")
        running = asyncio.create_task(home.starter.run_hidden(params, env))
        for _ in range(3):
            await asyncio.sleep(0.1)
            running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert getattr(home.spawner, "_processes", set()) == set()
