"""`kill_session`: end a session or send it a signal, with who and why recorded."""

from __future__ import annotations

import time

from fairlead.model.frozen import dataclass, replace
from fairlead.model.process import Whom
from fairlead.session.collect import collect
from fairlead.tools.answer import answer
from fairlead.tools.common import DEFAULT_OUTPUT_TOKENS, SESSION
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.format import format_exec
from fairlead.tools.kinds import text
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.signals import signal_number
from fairlead.tools.structured import EXEC_SCHEMA
from fairlead.tools.toolbox import Call

NAME = "kill_session"
TITLE = "End a session"
DESCRIPTION = (
    "Ends a session with every process it started: TERM first, KILL for what stays. With "
    "`signal` it only sends that signal to all of them. Its output stays readable."
)
ANNOTATIONS = Annotations(read_only=False, destructive=True, idempotent=True, open_world=False)
OUTPUT_SCHEMA = EXEC_SCHEMA

ARGUMENTS = Arguments(
    NAME,
    SESSION,
    Field(
        "signal",
        signal_number(),
        "Name or number of a signal, as in INT or 2. Default: TERM, then KILL.",
    ),
    Field("reason", text(empty_is_absent=True), "Why, for the record."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """A checked call of `kill_session`. No signal means: end the whole tree."""

    session_id: int | str
    signal: int | None
    reason: str | None


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    return Args(**ARGUMENTS.parse(untrusted))


SETTLES_WITHIN = 0.25  # seconds a signal is given to show its effect


async def run(args: Args, call: Call) -> ToolOutput:
    """End the session, or signal it, and answer with what it last wrote."""
    session = call.session(args.session_id)
    began = time.monotonic()
    by = f"kill_session: {args.reason}" if args.reason else "kill_session"
    if args.signal is None:
        await session.end(by=by)
    else:
        session.signal(args.signal, by=by, whom=Whom.TREE)
    output = await collect(session, SETTLES_WITHIN, began)
    call.told(output)
    ended = answer(output, DEFAULT_OUTPUT_TOKENS, format_exec)
    return replace(ended, success=True)  # that it ended is what was asked for
