"""`run_in_session`: a command for a shell that stays."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.params import ShellKind, Stdin
from fairlead.tools.run_in_session import Args, parse
from tests.tools.refusals import refusal


def test_defaults() -> None:
    """A command alone goes to the agent's own shell and reads nothing."""
    assert parse({"cmd": "cd /"}) == Args(
        session_id=None,
        command="cd /",
        timeout_ms=10_000,
        stdin=Stdin.NULL,
        shell=None,
        max_output_tokens=10_000,
    )


def test_a_shell_by_kind() -> None:
    """The kind of shell to start is one that we know."""
    assert parse({"command": "ls", "shell": "zsh"}).shell is ShellKind.ZSH


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"command": ""}, "run_in_session.command: must not be empty"),
        ({"command": ["ls"]}, "run_in_session.command: expected a string, got an array"),
        (
            {"command": "ls", "shell": "fish"},  # a shell, but none that can be driven
            'run_in_session.shell: expected one of "bash", "zsh", "sh", got "fish"',
        ),
        (
            {"command": "ls", "timeout": 5},
            'run_in_session: unknown field "timeout" (did you mean "timeout_ms"?); allowed: '
            "session_id, command, timeout_ms, stdin, shell, max_output_tokens",
        ),
    ],
)
def test_refused(given: dict[str, Any], text: str) -> None:
    """Each refusal names the field, what is expected and what came."""
    assert refusal(parse, given) == text
