"""`shell`: an argv, executed as it is."""

from __future__ import annotations

from fairlead.model.frozen import dataclass
from fairlead.model.params import ExtraPermissions, SandboxPermissions
from fairlead.tools.answer import answer
from fairlead.tools.common import (
    DEFAULT_OUTPUT_TOKENS,
    PERMISSIONS,
    fold_escalation,
    timeout_ms,
    workdir,
)
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.format import format_shell
from fairlead.tools.kinds import texts
from fairlead.tools.model import Annotations, LocalShellPayload, ToolOutput
from fairlead.tools.running import run_request
from fairlead.tools.structured import EXEC_SCHEMA
from fairlead.tools.toolbox import Call, Wish, argv_request

NAME = "shell"
ALIASES = ("container.exec",)
TITLE = "Run a program"
DESCRIPTION = (
    "Runs a program and waits for it. `command` is its argument list and no shell reads it: "
    'pipes, globs and `&&` need ["bash", "-c", "…"]. Answers JSON with output and exit code.'
)
ANNOTATIONS = Annotations(read_only=False, destructive=True, idempotent=False, open_world=True)
OUTPUT_SCHEMA = EXEC_SCHEMA

ARGUMENTS = Arguments(
    NAME,
    Field("command", texts(argv=True), "The program and its arguments.", required=True),
    workdir(),
    timeout_ms("timeout"),
    *PERMISSIONS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """A checked call of `shell`."""

    command: tuple[str, ...]
    workdir: str | None
    timeout_ms: int
    sandbox_permissions: SandboxPermissions
    additional_permissions: ExtraPermissions | None
    justification: str | None
    prefix_rule: tuple[str, ...] | None


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    return Args(**fold_escalation(NAME, ARGUMENTS.parse(untrusted)))


def parse_local(payload: LocalShellPayload) -> Args:
    """The same from a model's built-in shell call."""
    return parse(
        {
            "command": payload.command,
            "workdir": payload.workdir,
            "timeout_ms": payload.timeout_ms,
            "sandbox_permissions": payload.sandbox_permissions,
            "additional_permissions": payload.additional_permissions,
            "justification": payload.justification,
            "prefix_rule": payload.prefix_rule,
        }
    )


async def run(args: Args, call: Call) -> ToolOutput:
    """Execute the argument list and wait for its end."""
    wish = Wish.of(args)
    params = argv_request(call, args.command, wish)
    output = await run_request(call, params, None)
    return answer(output, DEFAULT_OUTPUT_TOKENS, format_shell)
