"""`list_sessions`: what this agent has running and what it can still read."""

from __future__ import annotations

from typing import Any

from fairlead.model.frozen import dataclass
from fairlead.session.summary import summary
from fairlead.tools.answer import facts
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.kinds import flag
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.toolbox import Call

SHOWN = 200  # characters of a command

NAME = "list_sessions"
TITLE = "List sessions"
DESCRIPTION = (
    "Lists your sessions with id, command, state and age: those that run, and those that ended "
    "and whose output `read_output` still has."
)
ANNOTATIONS = Annotations(read_only=True, destructive=False, idempotent=True, open_world=False)
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "sessions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"session_id": {"type": ["integer", "string"]}},
                "required": ["session_id"],
            },
        }
    },
}

ARGUMENTS = Arguments(
    NAME,
    Field("include_exited", flag(), "Also those that ended.", default=True),
)


@dataclass(frozen=True, slots=True)
class Args:
    """A checked call of `list_sessions`."""

    include_exited: bool


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    return Args(**ARGUMENTS.parse(untrusted))


async def run(args: Args, call: Call) -> ToolOutput:
    """Every session of this agent, oldest first."""
    sessions = [
        summary(one)
        for one in call.box.store.of(call.agent)
        if one.running or one.tree_alive or args.include_exited
    ]
    lines = [_line(one) for one in sessions]
    return facts("\n".join(lines) or "no sessions", {"sessions": sessions})


def _line(facts: dict[str, Any]) -> str:
    command = " ".join(facts["command"].split())  # a line of its own for each session
    shown = command if len(command) <= SHOWN else f"{command[:SHOWN]}…"
    return f"{facts['session_id']}  {facts['state']}  {facts['age_seconds']:.0f}s  {shown}"
