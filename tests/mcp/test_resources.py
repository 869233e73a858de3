"""The output of sessions as resources."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError

from fairlead.mcp.resources import clip, list_outputs, parse_uri
from tests.mcp.fake_engine import FakeEngine


@pytest.mark.parametrize(("name", "session_id"), [("4711", 4711), ("calm-otter", "calm-otter")])
def test_numbers_and_slugs_are_sessions(name: str, session_id: object) -> None:
    """A URI names a session by its number or by its slug."""
    assert parse_uri(f"fairlead://sessions/{name}/output") == session_id


@pytest.mark.parametrize("name", ["", "a/b", "..", "a%2fb", "a b", "x" * 65, "1\n"])
def test_nothing_else_is_a_session(name: str) -> None:
    """A name that could be something else is refused."""
    with pytest.raises(MCPError):
        parse_uri(f"fairlead://sessions/{name}/output")


def test_long_output_keeps_head_and_tail() -> None:
    """A resource is bounded, and says how much of the middle is missing."""
    text = clip("a" * 600 + "b" * 600, limit=1000)
    assert text.startswith("a" * 500 + "\n")
    assert text.endswith("\n" + "b" * 500)
    assert "200 characters" in text
    assert clip("short", limit=1000) == "short"


def test_only_the_agents_own_sessions_are_listed() -> None:
    """Another agent's sessions are no resources of this one."""
    engine = FakeEngine()
    engine.keep("one", "make\udcff", "", "running")
    engine.keep("two", "true", "", "completed")
    [resource] = list_outputs(engine, "one")
    assert resource.title == "make?"
    assert resource.description is not None
    assert "running" in resource.description
