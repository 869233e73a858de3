"""The tools as methods: one per tool, with that tool's own arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from fairlead.engine import Engine
from fairlead.sync import SyncEngine
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


ASKED = {
    "sandbox_permissions": "with_additional_permissions",
    "additional_permissions": {"network": {"enabled": True}},
    "justification": "why",
    "prefix_rule": ["ls"],
}
OTHER_WAYS = {"offset_line", "limit_lines", "tail_lines", "offset_bytes", "limit_bytes"}
FULL: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "shell": ((["ls"],), {"workdir": "/", "timeout_ms": 5, **ASKED}),
    "shell_command": (("ls",), {"workdir": "/", "login": False, "timeout_ms": 5, **ASKED}),
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
            **ASKED,
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
        {
            "exit": True,
            "pattern": "x",
            "quiet_ms": 1,
            "bytes": 1,
            "port": 1,
            "timeout_ms": 1,
            "max_output_tokens": 5,
        },
    ),
    "read_output": (
        (),
        {
            "chunk_id": "abcdef",
            "grep": "x",
            "literal": True,
            "ignore_case": True,
            "context": 1,
            "rendered": True,
            "max_output_tokens": 5,
        },
    ),
    "list_sessions": ((), {"include_exited": False}),
    "kill_session": ((1000,), {"signal": "INT", "reason": "why"}),
    "resize": ((1000,), {"rows": 3, "cols": 4}),
}


def named(method: str) -> set[str]:
    """The arguments of a method that go by name, those that a table of types holds included."""
    function = getattr(TypedCalls, method)
    taken = inspect.signature(function).parameters
    found = {one for one, what in taken.items() if what.kind is what.KEYWORD_ONLY}
    for one, what in taken.items():
        if what.kind is what.VAR_KEYWORD:
            found |= get_type_hints(get_args(get_type_hints(function)[one])[0]).keys()
    return found


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
    assert named(name) - OTHER_WAYS == FULL[name][1].keys()


@pytest.mark.parametrize("name", FULL)
def test_a_method_takes_all_that_its_tool_takes(name: str) -> None:
    """What a model can say, a program can say too."""
    first = set(inspect.signature(getattr(TypedCalls, name)).parameters)
    ours = {field.name for field in MODULES[name].ARGUMENTS.fields if not field.older}
    assert ours <= first | named(name)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_engine_without_a_loop_has_the_same_methods(name: str) -> None:
    """The same arguments, the same words about them, and an answer in place of a coroutine."""
    with_loop, without = getattr(Engine, name), getattr(SyncEngine, name)
    assert inspect.signature(without) == inspect.signature(with_loop)
    assert without.__doc__ == with_loop.__doc__
    assert not inspect.iscoroutinefunction(without)


async def test_a_directory_may_be_a_path() -> None:
    """Programs have paths, models have text."""
    written = Written()
    await written.shell(["ls"], workdir=Path("/tmp"))
    assert written.calls == [("shell", {"command": ["ls"], "workdir": "/tmp"})]


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
