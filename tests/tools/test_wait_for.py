"""`wait_for`: at least one condition, and always an end."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.tools.wait_for import Args, parse
from tests.tools.refusals import refusal


def test_defaults() -> None:
    """One condition is enough; the wait ends after thirty seconds."""
    assert parse({"session_id": 1, "exit": True}) == Args(
        session_id=1,
        exit=True,
        pattern=None,
        quiet_ms=None,
        bytes=None,
        port=None,
        timeout_ms=30_000,
        max_output_tokens=10_000,
    )


@pytest.mark.parametrize(
    "given",
    [{"pattern": "ready on .*"}, {"quiet_ms": 500}, {"bytes": 1}, {"port": 8080}],
)
def test_each_condition_stands_alone(given: dict[str, Any]) -> None:
    """Every condition is enough by itself."""
    args = parse({"session_id": "calm-otter", "timeout_ms": 0, **given})
    assert {name: getattr(args, name) for name in given} == given
    assert args.timeout_ms == 0


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "wait_for: give at least one of exit, pattern, quiet_ms, bytes, port"),
        ({"exit": False}, "wait_for: give at least one of exit, pattern, quiet_ms, bytes, port"),
        (
            {"pattern": "[a"},
            'wait_for.pattern: not a regular expression (RE2 syntax): missing ]: "[a"',
        ),
        ({"port": 65536}, "wait_for.port: must be between 1 and 65535, got 65536"),
        ({"quiet_ms": 0}, "wait_for.quiet_ms: must be between 1 and 3600000, got 0"),
        (
            {"exit": True, "timeout_ms": 3_600_001},
            "wait_for.timeout_ms: must be between 0 and 3600000, got 3600001",
        ),
        (
            {"until": "exit"},
            'wait_for: unknown field "until"; allowed: session_id, exit, pattern, quiet_ms, '
            "bytes, port, timeout_ms, max_output_tokens",
        ),
    ],
)
def test_refused(given: dict[str, Any], text: str) -> None:
    """A wait for nothing, or for what can't be, is refused."""
    assert refusal(parse, {"session_id": 1, **given}) == text
