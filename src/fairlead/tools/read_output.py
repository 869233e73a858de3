"""`read_output`: page, tail or search all that a session or a past call wrote."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Any

from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass
from fairlead.model.output import StreamOutput
from fairlead.session.grep import Matches
from fairlead.session.lines import Line
from fairlead.session.log import OutputLog
from fairlead.session.session import Session
from fairlead.tools.answer import facts, shape_rendered
from fairlead.tools.common import MAX_TOKENS
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.kinds import flag, integer, matching, session_ref
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.patterns import bounded_pattern, compile_pattern
from fairlead.tools.text import shape
from fairlead.tools.toolbox import Call

NAME = "read_output"
TITLE = "Read a session's output"
DESCRIPTION = (
    "Reads the whole output of a session (`session_id`) or of one past call (`chunk_id`), also "
    "what an earlier answer left out. Choose one: lines (`offset_line`, `limit_lines`; the "
    "default, from line 1), the last lines (`tail_lines`), matching lines (`grep`), or bytes "
    "(`offset_bytes`, `limit_bytes`)."
)
ANNOTATIONS = Annotations(read_only=True, destructive=False, idempotent=True, open_world=False)
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "output": {"type": "string"},
        "session_id": {"type": ["integer", "string"]},
        "chunk_id": {"type": "string"},
        "original_token_count": {"type": "integer"},
        "omitted_bytes": {"type": "integer", "description": "Not read to make this answer."},
        "replaced_bytes": {"type": "integer", "description": "Not UTF-8, so shown as U+FFFD."},
        "total_lines": {"type": "integer"},
        "total_bytes": {"type": "integer"},
        "dropped_bytes": {"type": "integer", "description": "No longer kept anywhere."},
        "matches": {"type": "integer", "description": "Lines that match, shown or not."},
        "more_matches": {"type": "boolean", "description": "They are not all counted."},
        "first_line": {"type": "integer"},
        "last_line": {"type": "integer"},
    },
    "required": ["output"],
}

MAX_LINES = 1_000_000
MAX_BYTES = 2**53  # the largest integer that every JSON reader keeps
MAX_CONTEXT = 100


class Mode(StrEnum):
    """How the output is read."""

    LINES = "lines"
    TAIL = "tail"
    GREP = "grep"
    BYTES = "bytes"


ARGUMENTS = Arguments(
    NAME,
    Field("session_id", session_ref(), "The session's number or name."),
    Field(
        "chunk_id",
        matching("[0-9a-f]{6}", "6 hexadecimal digits"),
        "The Chunk ID of a past answer.",
    ),
    Field("offset_line", integer(1, MAX_BYTES), "First line to read; lines count from 1."),
    Field("limit_lines", integer(1, MAX_LINES), "How many lines. Default: all that fit."),
    Field("tail_lines", integer(1, MAX_LINES), "How many of the last lines."),
    Field("grep", bounded_pattern(), "Regular expression (RE2): lines that contain a match."),
    Field("literal", flag(), "Take `grep` word for word.", default=False),
    Field("ignore_case", flag(), "Let `grep` match either case.", default=False),
    Field("context", integer(0, MAX_CONTEXT), "Lines around each match.", default=0),
    Field("offset_bytes", integer(0, MAX_BYTES), "First byte to read."),
    Field("limit_bytes", integer(1, MAX_BYTES), "How many bytes. Default: all that fit."),
    Field(
        "rendered",
        flag(),
        "As a terminal would show it: progress bars collapse to their last state.",
        default=False,
    ),
    MAX_TOKENS,
)

CHOOSES = {
    "offset_line": Mode.LINES,
    "limit_lines": Mode.LINES,
    "tail_lines": Mode.TAIL,
    "grep": Mode.GREP,
    "offset_bytes": Mode.BYTES,
    "limit_bytes": Mode.BYTES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """A checked call of `read_output`: exactly one of session and chunk, exactly one mode."""

    session_id: int | str | None
    chunk_id: str | None
    mode: Mode
    offset_line: int | None
    limit_lines: int | None
    tail_lines: int | None
    grep: str | None
    literal: bool
    ignore_case: bool
    context: int
    offset_bytes: int | None
    limit_bytes: int | None
    rendered: bool
    max_output_tokens: int


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    values = ARGUMENTS.parse(untrusted)
    if (values["session_id"] is None) == (values["chunk_id"] is None):
        raise BadRequest(f"{NAME}: give one of session_id, chunk_id")
    args = Args(mode=_mode(values), **values)
    if args.grep is not None:
        compile_pattern(args.grep, literal=args.literal, where=f"{NAME}.grep")
    return args


def _mode(values: dict[str, Any]) -> Mode:
    chosen = {name: mode for name, mode in CHOOSES.items() if values[name] is not None}
    modes = set(chosen.values())
    if len(modes) > 1:
        raise BadRequest(
            f"{NAME}: {', '.join(chosen)} exclude each other; give offset_line/limit_lines, "
            "tail_lines, grep or offset_bytes/limit_bytes"
        )
    return modes.pop() if modes else Mode.LINES


MATCHES = 1000  # shown at most; the number of all is told


async def run(args: Args, call: Call) -> ToolOutput:
    """Read what was asked for, without taking it from the session's unread output."""
    session = _session(args, call)
    # Counting lines and searching may read hundreds of megabytes: not on the event loop.
    return await asyncio.to_thread(_read, args, session)


def _session(args: Args, call: Call) -> Session:
    if args.session_id is not None:
        return call.session(args.session_id)
    assert args.chunk_id is not None
    return call.box.store.by_chunk(call.agent, args.chunk_id)


def _read(args: Args, session: Session) -> ToolOutput:
    log, ours = session.log, False
    if args.chunk_id is not None:
        start, end = session.chunks[args.chunk_id]
        if (start, end) != (0, log.size):
            log, ours = log.copy(start, end), True
    try:
        return _answer(args, session, log)
    finally:
        if ours:
            log.close()


def _answer(args: Args, session: Session, log: OutputLog) -> ToolOutput:
    budget = (args.max_output_tokens + 1) * 4
    more: dict[str, Any] = {}
    match args.mode:
        case Mode.BYTES:
            start = args.offset_bytes or 0
            stop = log.size if args.limit_bytes is None else start + args.limit_bytes
            stream = log.collect(start, stop, max(budget, 2)).stream()
        case Mode.GREP:
            found = _grep(args, log, budget)
            more = {"matches": found.total, "more_matches": found.stopped or None}
            stream = StreamOutput(head=_matches_text(found))
        case Mode.TAIL:
            lines = log.tail_lines(args.tail_lines or 1, max_bytes=budget).lines
            stream, more = _page(lines, log)
        case Mode.LINES if args.limit_lines is None and args.offset_line in (None, 1):
            stream = log.collect(0, log.size, max(budget, 2)).stream()
        case Mode.LINES:
            count = args.limit_lines or MAX_LINES
            lines = log.lines(args.offset_line or 1, count, max_bytes=budget).lines
            stream, more = _page(lines, log)
    return _told(args, session, log, stream, more)


def _told(
    args: Args, session: Session, log: OutputLog, stream: StreamOutput, more: dict[str, Any]
) -> ToolOutput:
    shaped = (shape_rendered if args.rendered else shape)(stream, args.max_output_tokens)
    found: dict[str, Any] = {
        "output": shaped.text,
        "session_id": session.id,
        "chunk_id": args.chunk_id,
        "original_token_count": shaped.original_token_count,
        "omitted_bytes": shaped.omitted_bytes or None,
        "replaced_bytes": shaped.replaced_bytes or None,
        "total_bytes": log.size,
        "total_lines": log.count_lines(),
        "dropped_bytes": log.dropped or None,
        **more,
    }
    data = {name: fact for name, fact in found.items() if fact is not None}
    return facts(f"{_header(data)}\nOutput:\n{shaped.text}", data)


def _header(data: dict[str, Any]) -> str:
    told = f"Session ID: {data['session_id']}\nTotal bytes: {data['total_bytes']}"
    if "total_lines" in data:
        told += f"\nTotal lines: {data['total_lines']}"
    if "matches" in data:
        told += f"\nMatching lines: {data['matches']}"
        told += " or more" if "more_matches" in data else ""
    if "first_line" in data:
        told += f"\nLines: {data['first_line']}..{data['last_line']}"
    return told


def _grep(args: Args, log: OutputLog, budget: int) -> Matches:
    assert args.grep is not None
    return log.grep(
        args.grep,
        literal=args.literal,
        ignore_case=args.ignore_case,
        before=args.context,
        after=args.context,
        max_matches=MATCHES,
        max_bytes=budget,
    )


def _page(lines: tuple[Line, ...], log: OutputLog) -> tuple[StreamOutput, dict[str, Any]]:
    """The lines as they stand in the log, the last one without a newline if it has none yet; and
    which they are."""
    if not lines:
        return StreamOutput(), {}
    text = b"\n".join(_whole(line) for line in lines)
    if lines[-1].end < log.size:
        text += b"\n"
    return StreamOutput(head=text), {"first_line": lines[0].number, "last_line": lines[-1].number}


def _whole(line: Line) -> bytes:
    """A line, with a mark for the part of it that is not there: too long, or no longer kept."""
    missing = line.end - line.start - len(line.data)
    return line.data + (f"…{missing} bytes cut…".encode() if missing > 0 else b"")


def _matches_text(found: Matches) -> bytes:
    """Like grep -n: `12:` before a line that matches, `13-` before one around it."""
    shown: dict[int, bytes] = {}
    for match in found.matches:
        for line in (*match.before, *match.after):
            shown.setdefault(line.number, b"%d-%b" % (line.number, _whole(line)))
    for match in found.matches:
        shown[match.line.number] = b"%d:%b" % (match.line.number, _whole(match.line))
    return b"".join(shown[number] + b"\n" for number in sorted(shown))
