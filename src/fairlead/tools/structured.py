"""A call's outcome as data: one form for every tool that runs something.

An absent fact is an absent key, so that `if "signal" in outcome` means what it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairlead.model.output import Ending, ExecOutput, Status
from fairlead.session.endings import signal_name

if TYPE_CHECKING:
    from fairlead.tools.text import Shaped

STRINGS = {"type": "array", "items": {"type": "string"}}
STATUS = {"type": "string", "enum": [status.value for status in Status]}

EXEC_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": STATUS,
        "exit_code": {"type": "integer", "description": "124: timed out; 128 + N: signal N."},
        "signal": {"type": "string", "description": "What ended it, as in SIGKILL."},
        "timed_out": {"type": "boolean"},
        "killed_by": {"type": "string", "description": "Who of us ended it, and why."},
        "oom": {"type": "boolean", "description": "The kernel ended it for want of memory."},
        "session_id": {"type": "integer", "description": "Present while it runs."},
        "chunk_id": {"type": "string", "description": "Names this output for read_output."},
        "wall_time_seconds": {"type": "number"},
        "output": {"type": "string"},
        "original_token_count": {"type": "integer"},
        "omitted_bytes": {"type": "integer", "description": "Dropped from the middle in memory."},
        "replaced_bytes": {"type": "integer", "description": "Not UTF-8, so shown as U+FFFD."},
        "descendants_alive": {"type": "boolean"},
        "survivors": {"type": "array", "items": {"type": "integer"}},
        "output_held_open": {"type": "boolean"},
        "waiting_for_input": {"type": "boolean"},
        "denials": {
            "type": "array",
            "items": {"type": "object", "properties": {"what": {"type": "string"}}},
        },
        "warnings": STRINGS,
        "sandbox": {
            "type": "object",
            "properties": {
                "type": {"type": "string"},
                "tier": {"type": "string"},
                "missing": STRINGS,
            },
        },
        "approval": {
            "type": "object",
            "properties": {
                "requirement": {"type": "string"},
                "decision": {"type": "string"},
                "because": {"type": "string"},
            },
        },
    },
    "required": ["status", "output"],
}


def outcome_schema(**more: Any) -> dict[str, Any]:
    """The shared form, with what one tool adds to it."""
    return {**EXEC_SCHEMA, "properties": {**EXEC_SCHEMA["properties"], **more}}


def structured(output: ExecOutput, shaped: Shaped) -> dict[str, Any]:
    """The facts of one call, in the order of the schema."""
    facts = {
        "status": str(output.facts.get("status", output.status)),
        **_ending(output.ending),
        "session_id": output.session_id if output.ending is None else None,
        "chunk_id": output.chunk_id or None,
        "wall_time_seconds": round(output.wall_time, 4),
        "output": shaped.text,
        "original_token_count": shaped.original_token_count,
        "omitted_bytes": shaped.omitted_bytes or None,
        "replaced_bytes": shaped.replaced_bytes or None,
        **_left_behind(output.ending),
        "output_held_open": output.output_held_open or None,
        "waiting_for_input": output.waiting_for_input or None,
        "denials": output.facts.get("denials") or [one.facts for one in output.denials] or None,
        "warnings": list(output.warnings) or None,
        "sandbox": output.facts.get("sandbox"),
        "approval": output.facts.get("approval"),
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _ending(ending: Ending | None) -> dict[str, Any]:
    if ending is None:
        return {}
    return {
        "exit_code": ending.code,
        "signal": None if ending.signal is None else signal_name(ending.signal),
        "timed_out": ending.timed_out or None,
        "killed_by": ending.killed_by,
        "oom": ending.oom or None,
    }


def _left_behind(ending: Ending | None) -> dict[str, Any]:
    if ending is None:
        return {}
    return {
        "descendants_alive": ending.descendants_alive or None,
        "survivors": list(ending.survivors) or None,
    }
