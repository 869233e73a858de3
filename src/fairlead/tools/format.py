"""A call's outcome as the text that a model reads, in the three forms of the first family.

The header lines are closed lists that clients match on, so a warning stands on a line of its own
before the header (in `shell`'s JSON: beside the exit code), never among them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fairlead.model.errors import Bug
from fairlead.model.output import Ending, ExecOutput
from fairlead.model.shown import in_a_line

if TYPE_CHECKING:
    from json import JSONEncoder

    from fairlead.tools.text import Shaped


def format_exec(output: ExecOutput, shaped: Shaped) -> str:
    """The answer of `exec_command` and `write_stdin`."""
    lines = _warnings(output)
    if output.chunk_id:
        lines.append(f"Chunk ID: {output.chunk_id}")
    lines.append(f"Wall time: {output.wall_time:.4f} seconds")
    if output.ending is None:
        lines.append(f"Process running with session ID {output.session_id}")
    else:
        lines.append(f"Process exited with code {output.ending.code}")
    lines.append(f"Original token count: {shaped.original_token_count}")
    return "\n".join([*lines, "Output:", shaped.text])


def format_live(output: ExecOutput, shaped: Shaped) -> str:
    """The answer of `run_in_session`: as `format_exec`, with the session it ran in."""
    head, _, body = format_exec(output, shaped).partition("\nOriginal token count: ")
    return f"{head}\nSession ID: {output.session_id}\nOriginal token count: {body}"


def format_shell_command(output: ExecOutput, shaped: Shaped) -> str:
    """The answer of `shell_command`."""
    lines = _warnings(output)
    lines.append(f"Exit code: {_ended(output).code}")
    lines.append(f"Wall time: {output.wall_time:.1f} seconds")
    if shaped.truncated:
        lines.append(f"Total output lines: {shaped.total_lines}")
    return "\n".join([*lines, "Output:", _after_timeout(output, shaped.body)])


def format_shell(output: ExecOutput, shaped: Shaped) -> str:
    """The answer of `shell`: one JSON object."""
    metadata: dict[str, Any] = {
        "exit_code": _ended(output).code,
        "duration_seconds": round(output.wall_time, 1),
    }
    if warnings := _said(output):
        metadata["warnings"] = warnings
    answer: dict[str, Any] = {"output": _after_timeout(output, shaped.text), "metadata": metadata}
    return _encoder().encode(answer)


@cache
def _encoder() -> JSONEncoder:
    from json import JSONEncoder

    return JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _warnings(output: ExecOutput) -> list[str]:
    # One line each: a line break within would let a warning pass for a header.
    return [f"Warning: {' '.join(warning.splitlines())}" for warning in _said(output)]


def _said(output: ExecOutput) -> list[str]:
    """The warnings, and what appeared and was moved aside: the command itself saw no error."""
    made = (one for one in output.denials if one.what == "create" and one.path)
    return [*output.warnings, *(f"denied: create {in_a_line(one.path)}: {one.by}" for one in made)]


def _ended(output: ExecOutput) -> Ending:
    if output.ending is None:
        raise Bug("a tool that waits for its command answered while it still runs")
    return output.ending


def _after_timeout(output: ExecOutput, body: str) -> str:
    if not _ended(output).timed_out:
        return body
    milliseconds = round(output.wall_time * 1000)
    return f"command timed out after {milliseconds} milliseconds\n{body}"
