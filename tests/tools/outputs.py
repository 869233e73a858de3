"""Outcomes of calls, for the tests of what is made of them."""

from __future__ import annotations

from typing import Any

from fairlead.model.output import Ending, ExecOutput, StreamOutput
from fairlead.tools.text import Shaped, shape

PLENTY = 10_000  # tokens
FINE = Ending(code=0)


def outcome(written: bytes = b"hi\n", ending: Ending | None = FINE, **more: Any) -> ExecOutput:
    return ExecOutput(
        **{
            "session_id": 4711,
            "chunk_id": "0a1b2c",
            "output": StreamOutput(head=written),
            "wall_time": 1.23456,
            "ending": ending,
            **more,
        }
    )


def shaped(output: ExecOutput, max_tokens: int = PLENTY) -> Shaped:
    return shape(output.output, max_tokens)
