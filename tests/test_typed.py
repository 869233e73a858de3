"""The tools as methods: one per tool, with that tool's own arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from fairlead.tools import catalogue
from fairlead.tools.model import ToolOutput
from fairlead.typed import TypedCalls

DONE = ToolOutput(content="", success=True, structured={})
MODULES: dict[str, Any] = {
    module.NAME: module for group in catalogue.MODULES.values() for module in group
}


class Written(TypedCalls):
    """Writes down what would be called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Mapping[str, Any]]] = []

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> ToolOutput:
        self.calls.append((tool, arguments or {}))
        return DONE


FULL: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "shell": ((["ls"],), {"workdir": "/", "timeout_ms": 5}),
    "shell_command": (("ls",), {"workdir": "/", "login": False, "timeout_ms": 5}),
    "exec_command": (
        ("ls",),
        {
            "workdir": "/",
            "env": {"A": "1"},
            "shell": "bash",
            "login": False,
            "tty": True,
            "stdin": "open",
            "yield_time_ms": 300,
            "max_output_tokens": 5,
            "rendered": True,
            "rows": 3,
            "cols": 4,
        },
    ),
    "write_stdin": (
        (1000, "x"),
        {"eof": True, "yield_time_ms": 300, "max_output_tokens": 5},
    ),
    "run_in_session": (
        ("ls",),
        {
            "session_id": 1000,
            "timeout_ms": 5,
            "stdin": "open",
            "shell": "bash",
            "max_output_tokens": 5,
        },
    ),
    "wait_for": (
        (1000,),
        {"exit": True, "pattern": "x", "quiet_ms": 1, "bytes": 1, "port": 1, "timeout_ms": 1},
    ),
    "read_output": ((1000,), {"tail_lines": 3}),
    "list_sessions": ((), {}),
    "kill_session": ((1000,), {"signal": "INT", "reason": "why"}),
    "resize": ((1000,), {"rows": 3, "cols": 4}),
}


@pytest.mark.parametrize("name", FULL)
async def test_every_argument_reaches_its_tool(name: str) -> None:
    """Called with everything it takes, a method calls its tool, which understands all of it."""
    written = Written()
    args, more = FULL[name]
    assert await getattr(written, name)(*args, **more) is DONE
    ((tool, arguments),) = written.calls
    assert tool == name
    assert more.items() <= arguments.items()
    MODULES[name].parse(dict(arguments))


@pytest.mark.parametrize("name", FULL)
def test_the_table_above_says_everything_that_a_method_takes(name: str) -> None:
    """No argument of a method is left untried."""
    taken = inspect.signature(getattr(TypedCalls, name)).parameters
    given = {one for one, what in taken.items() if what.kind is what.KEYWORD_ONLY}
    assert given <= FULL[name][1].keys()


async def test_what_is_not_said_is_not_sent() -> None:
    """Defaults are the tool's own: an argument that was not given is absent."""
    written = Written()
    await written.exec_command("ls")
    await written.apply_patch("*** Begin Patch\n*** End Patch")
    assert written.calls == [
        ("exec_command", {"cmd": "ls"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** End Patch"}),
    ]


def test_every_tool_has_a_method() -> None:
    """Whatever an agent can call, a program can call with typed arguments."""
    methods = {name for name, _ in inspect.getmembers(TypedCalls, inspect.isfunction)}
    assert MODULES.keys() <= methods
