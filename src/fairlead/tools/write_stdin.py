"""`write_stdin`: input for a session, or a look at what it wrote since."""

from __future__ import annotations

import signal
import time

from fairlead.model.errors import BadRequest
from fairlead.model.event import Interaction
from fairlead.model.frozen import dataclass, replace
from fairlead.model.output import ExecOutput
from fairlead.session.collect import collect, take
from fairlead.session.endings import describe
from fairlead.session.session import Session
from fairlead.tools.answer import answer
from fairlead.tools.common import MAX_TOKENS
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.format import format_exec
from fairlead.tools.kinds import flag, integer, session_number, text
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.structured import EXEC_SCHEMA
from fairlead.tools.toolbox import Call

NAME = "write_stdin"
TITLE = "Write to a session"
DESCRIPTION = (
    "Types into a session of `exec_command` and returns its new output. Without `chars` it only "
    'waits for new output. A line needs its "\\n"; "\\u0003" interrupts. A session without a tty '
    'takes other input only if it was started with `stdin: "open"`.'
)
ANNOTATIONS = Annotations(read_only=False, destructive=True, idempotent=False, open_world=True)
OUTPUT_SCHEMA = EXEC_SCHEMA

MIN_YIELD_MS, MAX_YIELD_MS = 250, 30_000
MIN_POLL_MS, MAX_POLL_MS = 5_000, 300_000

ARGUMENTS = Arguments(
    NAME,
    Field(
        "session_id",
        session_number(),
        "The number that exec_command answered.",
        required=True,
        aliases=("process_id",),
    ),
    Field(
        "chars",
        text(nul=True),  # Ctrl-Space is a key like any other
        "Characters to write; empty waits for output.",
        default="",
        aliases=("input",),
    ),
    Field("eof", flag(), "Close its input after `chars`.", default=False),
    Field(
        "yield_time_ms",
        integer(MIN_YIELD_MS, MAX_POLL_MS, clamp=True),
        f"Milliseconds to wait for output; clamped to {MIN_YIELD_MS}..{MAX_YIELD_MS}, "
        f"and without `chars` to {MIN_POLL_MS}..{MAX_POLL_MS}.",
        default=MIN_YIELD_MS,
    ),
    MAX_TOKENS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """A checked call of `write_stdin`, its wait already clamped."""

    session_id: int
    chars: str
    eof: bool
    yield_time_ms: int
    max_output_tokens: int

    @property
    def polls(self) -> bool:
        """Whether it only looks."""
        return not self.chars and not self.eof


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    values = ARGUMENTS.parse(untrusted)
    asked = values["yield_time_ms"]
    looks = not values["chars"] and not values["eof"]
    values["yield_time_ms"] = max(MIN_POLL_MS, asked) if looks else min(MAX_YIELD_MS, asked)
    return Args(**values)


INTERRUPT = "\u0003"


async def run(args: Args, call: Call) -> ToolOutput:
    """Type into the session, or only look, and answer with its new output."""
    session = call.session(args.session_id)
    async with session.interaction:  # calls on one session follow each other
        began = time.monotonic()
        if not session.running:
            output = _last_words(args, session, call, began)
        else:
            _type(args, session)
            _announce(args, session, call)
            output = await collect(session, args.yield_time_ms / 1000, began, polls=args.polls)
    call.told(output)
    return answer(output, args.max_output_tokens, format_exec)


def _last_words(args: Args, session: Session, call: Call, began: float) -> ExecOutput:
    """What the agent has not heard of a session that ended; nothing left of that is an error."""
    assert session.ending is not None
    told = call.box.store.is_retired(session)
    if told and session.cursor == session.log.size:
        raise BadRequest(
            f"session {session.id} has ended ({describe(session.ending)}) and all its output was "
            "returned; read_output still has it"
        )
    output = take(session, began)
    if args.polls:
        return output
    unsent = "the session had ended, so nothing was written to it"
    return replace(output, warnings=(*output.warnings, unsent))


def _type(args: Args, session: Session) -> None:
    if args.chars == INTERRUPT and not session.params.tty:
        session.signal(signal.SIGINT, by="write_stdin")
    elif args.chars:
        session.write(args.chars.encode())
    if args.eof:
        session.close_stdin()


def _announce(args: Args, session: Session, call: Call) -> None:
    typed = args.chars.encode()
    call.box.hub.emit(
        Interaction(call_id=session.params.call_id, session_id=session.id, data=typed)
    )
