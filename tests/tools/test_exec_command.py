"""`exec_command`: what it takes, what it clamps, what it refuses and how."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.params import SandboxPermissions, Size, Stdin
from fairlead.tools.exec_command import ARGUMENTS, Args, parse
from tests.tools.refusals import refusal

LEAST = Args(
    cmd="ls",
    workdir=None,
    env={},
    shell=None,
    login=True,
    tty=False,
    stdin=Stdin.NULL,
    yield_time_ms=10_000,
    max_output_tokens=10_000,
    rendered=False,
    rows=24,
    cols=80,
    sandbox_permissions=SandboxPermissions.USE_DEFAULT,
    justification=None,
    additional_permissions=None,
    prefix_rule=None,
    process_id=None,
)


def test_defaults() -> None:
    """A command alone has every default of the design."""
    assert parse('{"cmd": "ls"}') == LEAST
    assert LEAST.size == Size(24, 80)


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"cmd": ["ls", "-l", ""]}, "cmd", ("ls", "-l", "")),
        ({"command": "ls"}, "cmd", "ls"),
        ({"cwd": "/tmp"}, "workdir", "/tmp"),
        ({"workdir": ""}, "workdir", None),
        ({"env": {"A": "1"}}, "env", {"A": "1"}),
        ({"shell": "zsh"}, "shell", "zsh"),
        ({"shell": ""}, "shell", None),
        ({"login": False}, "login", False),
        ({"tty": True}, "tty", True),
        ({"stdin": "open"}, "stdin", Stdin.OPEN),
        ({"stdin": None}, "stdin", Stdin.NULL),
        ({"yield_time_ms": 0}, "yield_time_ms", 250),
        ({"yield_time_ms": 249}, "yield_time_ms", 250),
        ({"yield_time_ms": 251}, "yield_time_ms", 251),
        ({"yield_time_ms": 30_000}, "yield_time_ms", 30_000),
        ({"yield_time_ms": 10**30}, "yield_time_ms", 30_000),
        ({"max_output_tokens": 0}, "max_output_tokens", 0),
        ({"rendered": True}, "rendered", True),
        ({"rows": 50, "cols": 132}, "size", Size(50, 132)),
        (
            {"with_escalated_permissions": True},
            "sandbox_permissions",
            SandboxPermissions.REQUIRE_ESCALATED,
        ),
        (
            {"with_escalated_permissions": False},
            "sandbox_permissions",
            SandboxPermissions.USE_DEFAULT,
        ),
        ({"justification": "needs root"}, "justification", "needs root"),
        ({"prefix_rule": ["git", "pull"]}, "prefix_rule", ("git", "pull")),
        ({"prefix_rule": []}, "prefix_rule", None),
        ({"process_id": "4711"}, "process_id", 4711),
    ],
)
def test_accepted(given: dict[str, Any], field: str, value: object) -> None:
    """Every field, alias and older spelling gives its typed value."""
    least = {} if "command" in given else {"cmd": "ls"}
    assert getattr(parse({**least, **given}), field) == value


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, 'exec_command: missing required field "cmd"'),
        ({"cmd": ""}, "exec_command.cmd: must not be empty"),
        ({"cmd": " \n"}, "exec_command.cmd: must not be empty"),
        ({"cmd": []}, "exec_command.cmd: must not be empty"),
        ({"cmd": ["", "x"]}, "exec_command.cmd[0]: must not be empty"),
        ({"cmd": 5}, "exec_command.cmd: expected a string or an array of strings, got 5"),
        ({"cmd": None}, 'exec_command: missing required field "cmd"'),
        ({"cmd": ["a", None]}, "exec_command.cmd[1]: expected a string, got null"),
        ({"cmd": "ls\0"}, "exec_command.cmd: NUL byte at offset 2"),
        ({"cmd": ["ls", "a\0"]}, "exec_command.cmd[1]: NUL byte at offset 1"),
        ({"cmd": "ls", "env": {"X": "\0"}}, "exec_command.env.X: NUL byte at offset 0"),
        (
            {"cmd": "ls", "command": "pwd"},
            'exec_command: "cmd" and "command" name the same field and differ; give one',
        ),
        (
            {"cmd": "ls", "yield_time_ms": "abc"},
            'exec_command.yield_time_ms: expected a number, got "abc"',
        ),
        (
            {"cmd": "ls", "yield_time_ms": True},
            "exec_command.yield_time_ms: expected a number, got true",
        ),
        (
            {"cmd": "ls", "max_output_tokens": -1},
            "exec_command.max_output_tokens: must be between 0 and 1000000, got -1",
        ),
        ({"cmd": "ls", "rows": 0}, "exec_command.rows: must be between 1 and 1000, got 0"),
        (
            {"cmd": "ls", "stdin": "pipe"},
            'exec_command.stdin: expected one of "null", "open", got "pipe"',
        ),
        (
            {"cmd": "ls", "sandbox_permissions": "with_additional_permissions"},
            "exec_command: sandbox_permissions is with_additional_permissions, but "
            "additional_permissions asks for nothing",
        ),
        (
            {
                "cmd": "ls",
                "with_escalated_permissions": True,
                "sandbox_permissions": "use_default",
            },
            'exec_command: "with_escalated_permissions" contradicts "sandbox_permissions"; '
            "give only the latter",
        ),
        (
            {"cmd": "ls", "timeout_ms": 5},
            'exec_command: unknown field "timeout_ms" (did you mean "yield_time_ms"?); '
            "allowed: cmd, workdir, env, shell, login, tty, stdin, yield_time_ms, "
            "max_output_tokens, rendered, rows, cols, sandbox_permissions, additional_permissions, "
            "justification, prefix_rule",
        ),
    ],
)
def test_refused(given: dict[str, Any], text: str) -> None:
    """Each refusal names the field, what is expected and what came."""
    assert refusal(parse, given) == text


def test_a_number_beyond_a_double_is_shown_as_written() -> None:
    """1e400 in JSON text is refused by its own spelling."""
    text = '{"cmd": "ls", "yield_time_ms": 1e400}'
    assert refusal(parse, text) == "exec_command.yield_time_ms: 1e400 is out of range"


def test_older_spellings_are_not_advertised() -> None:
    """Neither aliases nor older fields are in the schema."""
    older = {"command", "cwd", "process_id", "with_escalated_permissions"}
    assert not older & ARGUMENTS.schema()["properties"].keys()
