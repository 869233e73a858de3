"""`shell`: an argv with a time limit."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.params import SandboxPermissions
from fairlead.tools.model import LocalShellPayload
from fairlead.tools.shell import Args, parse, parse_local
from tests.tools.refusals import refusal


def test_defaults() -> None:
    """An argv alone has ten seconds and no escalation."""
    assert parse('{"command": ["ls", "-l"]}') == Args(
        command=("ls", "-l"),
        workdir=None,
        timeout_ms=10_000,
        sandbox_permissions=SandboxPermissions.USE_DEFAULT,
        justification=None,
        additional_permissions=None,
        prefix_rule=None,
    )


def test_timeout_is_an_alias() -> None:
    """`timeout` means `timeout_ms`, up to a day."""
    assert parse({"command": ["ls"], "timeout": 86_400_000}).timeout_ms == 86_400_000


def test_a_built_in_shell_call_is_checked_the_same_way() -> None:
    """A model's built-in shell call becomes the same arguments, and is trusted as little."""
    payload = LocalShellPayload(command=["ls"], workdir="/", timeout_ms=5)
    assert parse_local(payload) == parse({"command": ["ls"], "workdir": "/", "timeout_ms": 5})
    bad = LocalShellPayload(command="ls")
    assert refusal(lambda _: parse_local(bad), None) == (
        'shell.command: expected an array of strings, got "ls"'
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, 'shell: missing required field "command"'),
        ({"command": "ls"}, 'shell.command: expected an array of strings, got "ls"'),
        ({"command": []}, "shell.command: must not be empty"),
        ({"command": [""]}, "shell.command[0]: must not be empty"),
        ({"command": ["ls", 5]}, "shell.command[1]: expected a string, got 5"),
        ({"command": ["ls", "-l\0"]}, "shell.command[1]: NUL byte at offset 2"),
        (
            {"command": ["ls"], "timeout_ms": 0},
            "shell.timeout_ms: must be between 1 and 86400000, got 0",
        ),
        (
            {"command": ["ls"], "timeout": 86_400_001},
            "shell.timeout: must be between 1 and 86400000, got 86400001",
        ),
        (
            {"command": ["ls"], "timeout": 1, "timeout_ms": 2},
            'shell: "timeout" and "timeout_ms" name the same field and differ; give one',
        ),
        (
            {"command": ["ls"], "cmd": "ls"},
            'shell: unknown field "cmd" (did you mean "command"?); allowed: command, workdir, '
            "timeout_ms, sandbox_permissions, additional_permissions, justification, prefix_rule",
        ),
    ],
)
def test_refused(given: dict[str, Any], text: str) -> None:
    """Each refusal names the field, what is expected and what came."""
    assert refusal(parse, given) == text
