"""A call's outcome as data: every fact in its place, and no key for what did not happen."""

from __future__ import annotations

import signal

import pytest
from jsonschema import Draft202012Validator

from fairlead.model.output import Ending, ExecOutput, StreamOutput
from fairlead.tools.structured import EXEC_SCHEMA, outcome_schema, structured
from tests.tools.outputs import outcome, shaped

SANDBOX = {"type": "none", "tier": "none", "missing": ["network"]}
APPROVAL = {"requirement": "skip", "decision": "skip", "because": "known-safe"}
DENIAL = {"what": "write", "path": "/etc/x", "by": "mount"}

EVERYTHING = outcome(
    ending=Ending(
        code=137,
        signal=9,
        timed_out=True,
        killed_by="timeout",
        oom=True,
        descendants_alive=True,
        survivors=(7, 8),
    ),
    output=StreamOutput(head=b"a\xff", tail=b"z", omitted=5),
    output_held_open=True,
    waiting_for_input=True,
    warnings=("w",),
    facts={"sandbox": SANDBOX, "approval": APPROVAL, "denials": [DENIAL], "status": "denied"},
)


def facts(output: ExecOutput) -> dict[str, object]:
    found = structured(output, shaped(output))
    Draft202012Validator(EXEC_SCHEMA).validate(found)
    return found


def test_an_ordinary_end_has_few_facts() -> None:
    """A command that simply succeeded has no key for what did not happen."""
    assert facts(outcome()) == {
        "status": "completed",
        "exit_code": 0,
        "chunk_id": "0a1b2c",
        "wall_time_seconds": 1.2346,
        "output": "hi\n",
        "original_token_count": 1,
    }


def test_a_running_session_has_its_id_and_no_exit_code() -> None:
    """The session id is there only while it runs, and then no exit code is."""
    found = facts(outcome(ending=None, waiting_for_input=True))
    assert found["status"] == "running"
    assert found["session_id"] == 4711
    assert found["waiting_for_input"] is True
    assert not {"exit_code", "signal", "timed_out"} & found.keys()


def test_every_fact_in_order() -> None:
    """All facts at once stand in the schema's order, and nothing else does."""
    found = facts(EVERYTHING)
    assert list(found) == [name for name in EXEC_SCHEMA["properties"] if name != "session_id"]
    assert found == {
        "status": "denied",
        "exit_code": 137,
        "signal": "SIGKILL",
        "timed_out": True,
        "killed_by": "timeout",
        "oom": True,
        "chunk_id": "0a1b2c",
        "wall_time_seconds": 1.2346,
        "output": "a\ufffd\n... 5 bytes omitted ...\nz",
        "original_token_count": 2,
        "omitted_bytes": 5,
        "replaced_bytes": 1,
        "descendants_alive": True,
        "survivors": [7, 8],
        "output_held_open": True,
        "waiting_for_input": True,
        "denials": [DENIAL],
        "warnings": ["w"],
        "sandbox": SANDBOX,
        "approval": APPROVAL,
    }


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (15, "SIGTERM"),
        (signal.SIGRTMIN, "SIGRTMIN"),
        (signal.SIGRTMIN + 3, "SIGRTMIN+3"),
        (33, "signal 33"),
    ],
)
def test_signals_have_names(number: int, name: str) -> None:
    """A signal is told by name, also one that has none of its own."""
    assert facts(outcome(ending=Ending(code=128 + number, signal=number)))["signal"] == name


def test_a_tool_adds_its_own_facts() -> None:
    """A tool's own fact joins the shared form, which stays as it was."""
    schema = outcome_schema(cwd={"type": "string"})
    assert schema["properties"].keys() - EXEC_SCHEMA["properties"].keys() == {"cwd"}
    assert "cwd" not in EXEC_SCHEMA["properties"]
