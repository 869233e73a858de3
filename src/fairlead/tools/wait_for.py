"""`wait_for`: sleep until something happens in a session, instead of polling."""

from __future__ import annotations

import time
from typing import Any

from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass, replace
from fairlead.session.collect import take, waits_for_input
from fairlead.session.wait import Met, Until, wait_until
from fairlead.tools.answer import answer
from fairlead.tools.common import MAX_TOKENS, SESSION
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.format import format_exec
from fairlead.tools.kinds import flag, integer
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.patterns import bounded_pattern, compile_by_lines
from fairlead.tools.structured import outcome_schema
from fairlead.tools.toolbox import Call

NAME = "wait_for"
TITLE = "Wait for a session"
DESCRIPTION = (
    "Waits until the first of the given conditions holds in a session, and returns its new "
    "output: it ended (`exit`), its output matches (`pattern`), it wrote nothing for a while "
    "(`quiet_ms`), it wrote so much (`bytes`), or it listens on a TCP port (`port`). Give at "
    "least one. Returns at the end of the process and after `timeout_ms` in any case."
)
ANNOTATIONS = Annotations(read_only=True, destructive=False, idempotent=False, open_world=False)

HOUR_MS = 60 * 60 * 1000
CONDITIONS = ("exit", "pattern", "quiet_ms", "bytes", "port")
OUTPUT_SCHEMA = outcome_schema(
    met={
        "type": "string",
        "enum": ["exit", "pattern", "quiet", "bytes", "port", "timeout"],
        "description": "What ended the wait.",
    },
    match={"type": "string", "description": "What matched the pattern."},
    match_offset={"type": "integer", "description": "Where, in the whole output."},
)

ARGUMENTS = Arguments(
    NAME,
    SESSION,
    Field("exit", flag(), "It ended.", default=False),
    Field("pattern", bounded_pattern(), "Regular expression (RE2) that its new output matches."),
    Field("quiet_ms", integer(1, HOUR_MS), "It wrote nothing for so many milliseconds."),
    Field("bytes", integer(1, 2**53), "It wrote so many new bytes."),
    Field("port", integer(1, 65535), "Something in its process tree listens on this TCP port."),
    Field("timeout_ms", integer(0, HOUR_MS), "Longest wait in milliseconds; 0 looks once.", 30_000),
    MAX_TOKENS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """A checked call of `wait_for`: at least one condition."""

    session_id: int | str
    exit: bool
    pattern: str | None
    quiet_ms: int | None
    bytes: int | None
    port: int | None
    timeout_ms: int
    max_output_tokens: int


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    values = ARGUMENTS.parse(untrusted)
    if not _asks(values):
        raise BadRequest(f"{NAME}: give at least one of {', '.join(CONDITIONS)}")
    if values["pattern"] is not None:
        compile_by_lines(values["pattern"], where=f"{NAME}.pattern")
    return Args(**values)


def _asks(values: dict[str, Any]) -> bool:
    return any(values[name] for name in CONDITIONS)


async def run(args: Args, call: Call) -> ToolOutput:
    """Wait for the first of the conditions and answer with the new output."""
    session = call.session(args.session_id)
    began = time.monotonic()
    until = Until(
        regex=None if args.pattern is None else compile_by_lines(args.pattern, where="pattern"),
        quiet=None if args.quiet_ms is None else args.quiet_ms / 1000,
        size=args.bytes,
        port=args.port,
    )
    async with session.interaction:
        met = await wait_until(session, until, args.timeout_ms / 1000)
        output = take(session, began, waiting=session.running and waits_for_input(session))
    call.told(output)
    done = answer(output, args.max_output_tokens, format_exec, more=_facts(met))
    return replace(done, content=f"{_words(met)}\n{done.content}", success=True)


def _facts(met: Met) -> dict[str, Any]:
    found: dict[str, Any] = {"met": met.reason}
    if met.match is not None:
        found |= {"match": met.match.removesuffix("\r"), "match_offset": met.offset}
    return found


def _words(met: Met) -> str:
    if met.match is None:
        return f"Met: {met.reason}"
    return f"Met: {met.reason} ({' '.join(met.match.split())})"  # one line, as a header is
