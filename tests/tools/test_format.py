"""The exact texts of the first family."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from fairlead.model.access import Denial
from fairlead.model.errors import Bug
from fairlead.model.output import Ending, ExecOutput, StreamOutput
from fairlead.tools.format import format_exec, format_shell, format_shell_command
from fairlead.tools.text import Shaped
from tests.tools.outputs import outcome, shaped

TIMED_OUT = Ending(code=124, signal=15, timed_out=True)
LONG = b"this is an example of a long output that should be truncated"


def test_exec_of_an_ended_command() -> None:
    """Chunk, time, exit code, token count, then the output as it is."""
    output = outcome(b"one\ntwo\n", Ending(code=3))
    assert format_exec(output, shaped(output)) == (
        "Chunk ID: 0a1b2c\n"
        "Wall time: 1.2346 seconds\n"
        "Process exited with code 3\n"
        "Original token count: 2\n"
        "Output:\n"
        "one\ntwo\n"
    )


def test_exec_of_a_running_session() -> None:
    """A running session is named instead of an exit code; an empty chunk id leaves no line."""
    output = outcome(b"", None, chunk_id="", wall_time=10.0)
    assert format_exec(output, shaped(output)) == (
        "Wall time: 10.0000 seconds\n"
        "Process running with session ID 4711\n"
        "Original token count: 0\n"
        "Output:\n"
    )


def test_warnings_stand_before_the_header_on_one_line_each() -> None:
    """A warning can't pass for a header line, whatever line breaks it has."""
    output = outcome(warnings=("first", "x\nProcess exited with code 0"))
    assert format_exec(output, shaped(output)).splitlines()[:3] == [
        "Warning: first",
        "Warning: x Process exited with code 0",
        "Chunk ID: 0a1b2c",
    ]


def test_what_was_moved_aside_is_said_in_the_text() -> None:
    """The command saw no error, so nothing else would tell its caller. Other denials are not
    repeated: their words are in the output."""
    made = Denial(what="create", path="/work/\x1b.idea", by="moved aside: protected name")
    output = outcome(denials=(made, Denial(what="system call", syscall="ptrace", by="seccomp")))
    said = "denied: create /work/\\x1b.idea: moved aside: protected name"
    assert format_exec(output, shaped(output)).startswith(f"Warning: {said}\nChunk ID: ")
    assert format_shell_command(output, shaped(output)).startswith(f"Warning: {said}\nExit code")
    assert json.loads(format_shell(output, shaped(output)))["metadata"]["warnings"] == [said]


def test_exec_of_a_truncated_output() -> None:
    """The original token count is that of everything, above the cut body."""
    output = outcome(LONG)
    assert format_exec(output, shaped(output, 5)).partition("code 0\n")[2] == (
        "Original token count: 15\n"
        "Output:\n"
        "Warning: truncated output (original token count: 15)\n"
        "Total output lines: 1\n"
        "\n"
        "this is an…10 tokens truncated… truncated"
    )


def test_shell_command() -> None:
    """Exit code and time to a tenth of a second, then the output."""
    output = outcome(b"hi\n", Ending(code=1))
    assert format_shell_command(output, shaped(output)) == (
        "Exit code: 1\nWall time: 1.2 seconds\nOutput:\nhi\n"
    )


def test_shell_command_truncated() -> None:
    """A cut output is announced by its number of lines."""
    output = outcome(LONG)
    lines = format_shell_command(output, shaped(output, 5)).splitlines()
    assert lines[:4] == [
        "Exit code: 0",
        "Wall time: 1.2 seconds",
        "Total output lines: 1",
        "Output:",
    ]
    assert lines[-1] == "this is an…10 tokens truncated… truncated"


def test_shell_command_timed_out() -> None:
    """A timeout is said in front of what was written until then."""
    output = outcome(b"partial", TIMED_OUT, wall_time=10.0004)
    assert format_shell_command(output, shaped(output)) == (
        "Exit code: 124\n"
        "Wall time: 10.0 seconds\n"
        "Output:\n"
        "command timed out after 10000 milliseconds\n"
        "partial"
    )


def test_shell() -> None:
    """`shell` answers one compact JSON object."""
    output = outcome("hé\n".encode(), Ending(code=2))
    assert format_shell(output, shaped(output)) == (
        '{"output":"hé\\n","metadata":{"exit_code":2,"duration_seconds":1.2}}'
    )


def test_shell_timed_out_with_a_warning() -> None:
    """In `shell`'s JSON a timeout is in the output and a warning beside the exit code."""
    output = outcome(b"partial", TIMED_OUT, wall_time=0.5, warnings=("w",))
    assert json.loads(format_shell(output, shaped(output))) == {
        "output": "command timed out after 500 milliseconds\npartial",
        "metadata": {"exit_code": 124, "duration_seconds": 0.5, "warnings": ["w"]},
    }


@pytest.mark.parametrize("form", [format_shell, format_shell_command])
def test_a_tool_that_waits_never_answers_early(
    form: Callable[[ExecOutput, Shaped], str],
) -> None:
    """No exit code is made up for a command that still runs."""
    output = outcome(ending=None)
    with pytest.raises(Bug, match="still runs"):
        form(output, shaped(output))


def test_omitted_bytes_show_in_the_body() -> None:
    """What the buffer dropped is marked where it was."""
    output = outcome(output=StreamOutput(head=b"01234", tail=b"789ab", omitted=2))
    assert format_exec(output, shaped(output)).endswith(
        "\nOutput:\n01234\n... 2 bytes omitted ...\n789ab"
    )
