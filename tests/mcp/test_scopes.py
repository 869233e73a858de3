"""Which agent a request is for, and when an agent is gone."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from fairlead.mcp.scopes import Scopes, agent_of

SESSION = "0123456789abcdef" * 2


def test_a_session_is_an_agent_whose_name_does_not_give_it_away() -> None:
    """The name tells sessions apart, and is not enough to speak for one."""
    agent = agent_of({"mcp-session-id": SESSION}, sessionless=False)
    assert agent == "mcp-0123456789abcdef"


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 65, "a\n"])
def test_a_name_must_be_plain(name: str) -> None:
    """Names that would be awkward in a log or a path are none."""
    assert agent_of({"fairlead-agent": name}, sessionless=True) is None
    assert agent_of({"mcp-session-id": name}, sessionless=False) is None


def test_each_protocol_has_its_own_names() -> None:
    """A sessionless request can't take a session's name, nor the other way round."""
    headers = {"mcp-session-id": SESSION, "fairlead-agent": "one"}
    assert agent_of(headers, sessionless=True) == "http-one"
    assert agent_of(headers, sessionless=False) == "mcp-0123456789abcdef"


class Ended:
    def __init__(self) -> None:
        self.times: Counter[str] = Counter()
        self.some = asyncio.Event()

    async def __call__(self, agent: str) -> None:
        self.times[agent] += 1
        self.some.set()


async def test_an_open_request_keeps_an_agent() -> None:
    """The clock runs only while no request of the agent is open."""
    ended = Ended()
    scopes = Scopes(ended, idle=0.01)
    scopes.enter("busy")
    scopes.enter("busy")
    scopes.leave("busy")
    scopes.enter("idle")
    scopes.leave("idle")
    await ended.some.wait()
    assert ended.times == {"idle": 1}
    await scopes.close()


async def test_coming_back_in_time_stops_the_clock() -> None:
    """A request within the idle time means the agent is not gone."""
    ended = Ended()
    scopes = Scopes(ended, idle=0.01)
    scopes.enter("back")
    scopes.leave("back")
    scopes.enter("back")
    scopes.enter("idle")
    scopes.leave("idle")
    await ended.some.wait()
    assert ended.times == {"idle": 1}
    await scopes.close()


async def test_a_farewell_ends_at_once() -> None:
    """An agent that says goodbye is ended without waiting, even with a stream still open."""
    ended = Ended()
    scopes = Scopes(ended, idle=3600)
    scopes.enter("one")
    scopes.enter("one")
    scopes.leave("one", gone=True)
    await ended.some.wait()
    scopes.leave("one")
    assert ended.times == {"one": 1}
    await scopes.close()
