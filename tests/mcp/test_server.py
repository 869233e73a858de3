"""What any MCP client can do, over every transport and protocol era."""

from __future__ import annotations

import asyncio
import time

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.mcp.conftest import Connect, text_of
from tests.mcp.fake_engine import FAILING, FOREVER, HELLO, RAISING, TICKING


async def test_tools_are_listed_with_schemas_and_hints(connect: Connect) -> None:
    """Each tool comes with its title, both schemas and all four hints."""
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    tool = tools["exec_command"]
    assert tool.input_schema["additionalProperties"] is False
    assert tool.output_schema is not None
    assert tool.output_schema["type"] == "object"
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is False
    assert tool.annotations.open_world_hint is True
    listing = tools["list_sessions"].annotations
    assert listing is not None
    assert listing.read_only_hint is True
    assert listing.destructive_hint is False
    assert listing.title == tools["list_sessions"].title


async def test_the_server_says_how_to_use_it(connect: Connect) -> None:
    """A client gets a name and short instructions for its model."""
    async with connect() as client:
        assert client.server_info is not None
        assert client.server_info.name == "fairlead"
        assert client.instructions is not None
        assert "session_id" in client.instructions
        assert "Commands are played." in client.instructions  # what the engine says of them
        assert len(client.instructions) < 1500


async def test_a_result_is_text_and_data(connect: Connect) -> None:
    """A call answers with text for the model and the same facts as structured content."""
    async with connect() as client:
        result = await client.call_tool("exec_command", {"cmd": HELLO})
    assert "hello" in text_of(result)
    assert result.structured_content["status"] == "completed"
    assert not result.is_error


async def test_a_failing_command_is_an_error_with_data(connect: Connect) -> None:
    """A non-zero exit is marked as an error and keeps its structured content."""
    async with connect() as client:
        result = await client.call_tool("exec_command", {"cmd": FAILING})
    assert result.is_error
    assert result.structured_content["status"] == "failed"


WRONG_CALLS: list[tuple[str, dict[str, object], str]] = [
    ("exec_command", {"cmd": HELLO, "colour": "red"}, "colour"),
    ("exec_command", {"cmd": 7}, "cmd"),
    ("exec_command", {}, "cmd"),
    ("no_such_tool", {}, "no_such_tool"),
]


async def test_a_wrong_call_is_answered_by_the_engine(connect: Connect) -> None:
    """Bad arguments and unknown tools are tool results in the engine's words."""
    async with connect() as client:
        for tool, arguments, named in WRONG_CALLS:
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert named in text_of(result)
            assert "Traceback" not in text_of(result)


async def test_our_mistake_is_no_traceback(connect: Connect) -> None:
    """An exception of the engine becomes an error result that tells nothing of its inside."""
    async with connect() as client:
        result = await client.call_tool("exec_command", {"cmd": RAISING})
        after = await client.call_tool("exec_command", {"cmd": HELLO})
    assert result.is_error
    assert "secret" not in text_of(result)
    assert "RuntimeError" not in text_of(result)
    assert "hello" in text_of(after)


async def test_progress_tells_bytes_and_the_last_line(connect: Connect) -> None:
    """While a command runs, a client that asked for it hears bytes so far and the last line."""
    heard: list[tuple[float, float, str | None]] = []
    begun = time.monotonic()

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((time.monotonic() - begun, progress, message))

    async with connect() as client:
        begun = time.monotonic()
        await client.call_tool("exec_command", {"cmd": TICKING}, progress_callback=listen)
    times, values, messages = zip(*heard, strict=True)
    assert times[0] >= 0.99
    assert list(values) == sorted(set(values))
    assert all(message is not None and message.startswith("tick ") for message in messages)
    assert 2 <= len(heard) <= 6


async def test_cancelling_a_call_ends_it(connect: Connect) -> None:
    """A client that gives a call up leaves nothing of it running, and can go on."""
    async with connect() as client, asyncio.timeout(20):
        call = asyncio.create_task(client.call_tool("exec_command", {"cmd": FOREVER}))
        while not await running(client):
            assert not call.done()
        call.cancel()
        while await running(client):
            pass
        assert "hello" in text_of(await client.call_tool("exec_command", {"cmd": HELLO}))


async def running(client: Client) -> list[dict[str, object]]:
    """The client's sessions that still run."""
    result = await client.call_tool("list_sessions", {})
    return [info for info in result.structured_content["sessions"] if info["state"] == "running"]


async def test_a_session_outlives_its_call(connect: Connect) -> None:
    """What one call started, the next call of the same client finds."""
    async with connect() as client:
        begun = await client.call_tool("exec_command", {"cmd": FOREVER, "yield_time_ms": 250})
        listed = await client.call_tool("list_sessions", {})
    assert str(begun.structured_content["session_id"]) in text_of(listed)


async def test_output_is_a_resource(connect: Connect) -> None:
    """A session's output is listed and can be read under its URI."""
    async with connect() as client:
        ran = await client.call_tool("exec_command", {"cmd": HELLO})
        session_id = ran.structured_content["session_id"]
        listed = {item.uri: item for item in (await client.list_resources()).resources}
        uri = f"fairlead://sessions/{session_id}/output"
        [contents] = (await client.read_resource(uri)).contents
        [template] = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == "fairlead://sessions/{id}/output"
    assert listed[uri].title == HELLO
    assert contents.mime_type == "text/plain"
    assert getattr(contents, "text", None) == "hello\n"


UNKNOWN_URIS = [
    "fairlead://sessions/1/output",
    "fairlead://sessions/no-such-one/output",
    "fairlead://sessions/../output",
    "file:///etc/passwd",
]


async def test_an_unknown_resource_is_a_protocol_error(connect: Connect) -> None:
    """Reading what is not there is refused without a traceback."""
    async with connect() as client:
        for uri in UNKNOWN_URIS:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.code == -32602
            assert "Traceback" not in caught.value.message
