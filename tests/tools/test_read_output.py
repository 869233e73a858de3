"""`read_output`: one source, one way to read it."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.tools.read_output import Mode, parse
from tests.tools.refusals import refusal


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({}, Mode.LINES),
        ({"offset_line": 5}, Mode.LINES),
        ({"offset_line": 5, "limit_lines": 10}, Mode.LINES),
        ({"tail_lines": 5}, Mode.TAIL),
        ({"grep": "err(or)?", "context": 2}, Mode.GREP),
        ({"grep": "a(b", "literal": True}, Mode.GREP),
        ({"grep": " "}, Mode.GREP),
        ({"offset_bytes": 0}, Mode.BYTES),
        ({"limit_bytes": 10}, Mode.BYTES),
    ],
)
def test_mode(given: dict[str, Any], mode: Mode) -> None:
    """The fields that are given choose how the output is read; lines are the default."""
    args = parse({"session_id": "calm-otter", **given})
    assert args.mode is mode
    assert {name: getattr(args, name) for name in given} == given


def test_a_past_call_by_its_chunk() -> None:
    """A chunk id names a past call instead of a session."""
    args = parse({"chunk_id": "0a1b2c"})
    assert (args.session_id, args.chunk_id) == (None, "0a1b2c")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "read_output: give one of session_id, chunk_id"),
        ({"session_id": 1, "chunk_id": "0a1b2c"}, "read_output: give one of session_id, chunk_id"),
        (
            {"chunk_id": "0A1B2C"},
            'read_output.chunk_id: expected 6 hexadecimal digits, got "0A1B2C"',
        ),
        (
            {"session_id": 1, "grep": "x", "tail_lines": 5},
            "read_output: tail_lines, grep exclude each other; give offset_line/limit_lines, "
            "tail_lines, grep or offset_bytes/limit_bytes",
        ),
        (
            {"session_id": 1, "grep": "a(b"},
            'read_output.grep: not a regular expression (RE2 syntax): missing ): "a(b"',
        ),
        (
            {"session_id": 1, "grep": "(?=x)"},
            'read_output.grep: not a regular expression (RE2 syntax): invalid perl operator: "(?="',
        ),
        ({"session_id": 1, "grep": ""}, "read_output.grep: must not be empty"),
        ({"session_id": 1, "grep": "x" * 4097}, "read_output.grep: longer than 4096 characters"),
        (
            {"session_id": 1, "offset_line": 0},
            "read_output.offset_line: must be between 1 and 9007199254740992, got 0",
        ),
        (
            {"session_id": 1, "context": 101},
            "read_output.context: must be between 0 and 100, got 101",
        ),
    ],
)
def test_refused(given: dict[str, Any], text: str) -> None:
    """Two sources, two modes or a broken pattern are refused with the choice."""
    assert refusal(parse, given) == text
