"""`shell_command`: a script with a time limit."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.params import SandboxPermissions
from fairlead.tools.shell_command import Args, parse
from tests.tools.refusals import refusal


def test_defaults() -> None:
    """A script alone runs in a login shell for at most ten seconds."""
    assert parse('{"command": "ls | wc"}') == Args(
        command="ls | wc",
        workdir=None,
        login=True,
        timeout_ms=10_000,
        sandbox_permissions=SandboxPermissions.USE_DEFAULT,
        justification=None,
        additional_permissions=None,
        prefix_rule=None,
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"command": ["ls"]}, "shell_command.command: expected a string, got an array"),
        ({"command": "\t"}, "shell_command.command: must not be empty"),
        ({"command": "ls", "login": 0}, "shell_command.login: expected true or false, got 0"),
        (
            {"command": "ls", "workdir": "a\0"},
            "shell_command.workdir: NUL byte at offset 1",
        ),
        (
            {"command": "ls", "timeout_ms": -5},
            "shell_command.timeout_ms: must be between 1 and 86400000, got -5",
        ),
        (
            {"command": "ls", "tty": True, "env": {}},
            'shell_command: unknown fields "tty", "env"; allowed: command, workdir, login, '
            "timeout_ms, sandbox_permissions, additional_permissions, justification, prefix_rule",
        ),
    ],
)
def test_refused(given: dict[str, Any], text: str) -> None:
    """Each refusal names the field, what is expected and what came."""
    assert refusal(parse, given) == text
