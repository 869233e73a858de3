"""`write_stdin`: how long it waits depends on whether it writes."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.tools.write_stdin import Args, parse
from tests.tools.refusals import refusal


def test_defaults() -> None:
    """A session alone is a poll of at least five seconds."""
    args = parse({"session_id": 4711})
    assert args == Args(
        session_id=4711, chars="", eof=False, yield_time_ms=5000, max_output_tokens=10_000
    )
    assert args.polls


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        ({"yield_time_ms": 0}, 5000),
        ({"yield_time_ms": 5001}, 5001),
        ({"yield_time_ms": 10**9}, 300_000),
        ({"chars": "x"}, 250),
        ({"chars": "x", "yield_time_ms": -1}, 250),
        ({"chars": "x", "yield_time_ms": 251}, 251),
        ({"chars": "x", "yield_time_ms": 300_000}, 30_000),
        ({"eof": True}, 250),
    ],
)
def test_the_wait_is_clamped(given: dict[str, Any], milliseconds: int) -> None:
    """Input is awaited 250 ms to 30 s, an empty poll 5 s to 300 s; closing the input is input."""
    assert parse({"session_id": 1000, **given}).yield_time_ms == milliseconds


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"session_id": "4711"}, "session_id", 4711),
        ({"process_id": 4711}, "session_id", 4711),
        ({"process_id": "4711", "session_id": 4711}, "session_id", 4711),
        ({"session_id": 1, "input": "y\n"}, "chars", "y\n"),
        ({"session_id": 1, "chars": "\0\x03"}, "chars", "\0\x03"),
    ],
)
def test_accepted(given: dict[str, Any], field: str, value: object) -> None:
    """Aliases and numeric strings name the session, and any key may be typed, Ctrl-Space too."""
    assert getattr(parse(given), field) == value


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"chars": "x"}, 'write_stdin: missing required field "session_id"'),
        ({"session_id": "abc"}, 'write_stdin.session_id: expected a number, got "abc"'),
        ({"session_id": " 5"}, 'write_stdin.session_id: expected a number, got " 5"'),
        ({"session_id": "٤"}, 'write_stdin.session_id: expected a number, got "٤"'),
        ({"session_id": 1.5}, "write_stdin.session_id: expected a whole number, got 1.5"),
        (
            {"session_id": "9999999999"},
            "write_stdin.session_id: must be between 0 and 2147483647, got 9999999999",
        ),
        (
            {"session_id": 1, "process_id": 2},
            'write_stdin: "session_id" and "process_id" name the same field and differ; give one',
        ),
        ({"session_id": 1, "chars": 5}, "write_stdin.chars: expected a string, got 5"),
        (
            {"session_id": 1, "chars": "a\udfff"},
            r"write_stdin.chars: lone surrogate \udfff at offset 1",
        ),
        ({"session_id": 1, "eof": "yes"}, 'write_stdin.eof: expected true or false, got "yes"'),
    ],
)
def test_refused(given: dict[str, Any], text: str) -> None:
    """Each refusal names the field, what is expected and what came."""
    assert refusal(parse, given) == text
