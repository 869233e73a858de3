"""`run_in_session`: a command in a live shell that keeps its directory."""

from __future__ import annotations

from typing import Any

from fairlead.live import LiveOutput, Task
from fairlead.model.frozen import dataclass, replace
from fairlead.model.output import Ending, ExecOutput
from fairlead.model.params import ExecParams, Shell, ShellKind, Stdin
from fairlead.session.session import Session
from fairlead.shells.integration import INTEGRATIONS
from fairlead.tools.answer import answer
from fairlead.tools.common import MAX_TOKENS, timeout_ms
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.format import format_live
from fairlead.tools.kinds import choice, session_ref, text
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.structured import outcome_schema
from fairlead.tools.text import unix_lines
from fairlead.tools.toolbox import Call, Wish, argv_request

NAME = "run_in_session"
TITLE = "Run in a live shell"
DESCRIPTION = (
    "Runs a command in a shell that stays: directory, variables and functions last from call to "
    "call. Returns the command's output alone, its exit code and the directory it ended in. "
    "Without `session_id` it is your own shell, started when first needed."
)
ANNOTATIONS = Annotations(read_only=False, destructive=True, idempotent=False, open_world=True)
OUTPUT_SCHEMA = outcome_schema(
    cwd={"type": "string", "description": "The shell's directory afterwards."}
)

ARGUMENTS = Arguments(
    NAME,
    Field("session_id", session_ref(), "A session that runs a shell. Default: your own shell."),
    Field("command", text(filled=True), "The command.", required=True, aliases=("cmd",)),
    timeout_ms(),
    Field(
        "stdin",
        choice(Stdin),
        "null: the command reads nothing; open: it reads what is typed into the session.",
        default=Stdin.NULL,
    ),
    Field("shell", choice(INTEGRATIONS), "The kind of shell to start where none runs yet."),
    MAX_TOKENS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """A checked call of `run_in_session`."""

    session_id: int | str | None
    command: str
    timeout_ms: int
    stdin: Stdin
    shell: ShellKind | None
    max_output_tokens: int


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    return Args(**ARGUMENTS.parse(untrusted))


async def run(args: Args, call: Call) -> ToolOutput:
    """Run the command in the session's shell, or in the agent's own."""
    task = Task(
        command=args.command,
        timeout=args.timeout_ms / 1000,
        open_stdin=args.stdin is Stdin.OPEN,
        request=_request(args, call),
    )
    live = call.box.live
    if args.session_id is not None:
        session, done = await live.run_in(call.session(args.session_id), task)
    else:
        session, done = await live.run_in_own(call.agent, _shell(args, call), task)
    call.box.orchestrator.settle()  # the shell goes on, but this command has ended
    output = call.box.orchestrator.explained(session, done.cwd, _output(session, done))
    more: dict[str, Any] = {"session_id": session.id}
    if done.cwd:
        more["cwd"] = done.cwd
    return answer(output, args.max_output_tokens, format_live, more=more)


def _request(args: Args, call: Call) -> ExecParams:
    return argv_request(call, (args.command,), Wish())


def _shell(args: Args, call: Call) -> Shell:
    from fairlead.shells.detect import named

    return named(args.shell) if args.shell else call.box.shell


def _output(session: Session, done: LiveOutput) -> ExecOutput:
    """The command's own output, as the session's log has it."""
    found = session.log.collect(done.start, done.end).stream()
    if done.translated:
        found = replace(found, head=unix_lines(found.head), tail=unix_lines(found.tail))
    ending = Ending(
        code=done.code,
        timed_out=done.timed_out,
        killed_by="timeout" if done.timed_out else done.killed_by,
        descendants_alive=done.descendants_alive,
        survivors=done.survivors,
    )
    return ExecOutput(
        session_id=session.id,
        chunk_id=session.remember_chunk(done.start, done.end),
        output=found,
        wall_time=done.wall_time,
        ending=ending,
        warnings=(*done.warnings, *((session.log.problem,) if session.log.problem else ())),
        denials=session.take_denials(),
    )
