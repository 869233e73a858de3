"""`shell_command`: a script for the session's shell, awaited."""

from __future__ import annotations

import asyncio

from fairlead.model.frozen import dataclass
from fairlead.model.output import ExecOutput
from fairlead.model.params import ExtraPermissions, SandboxPermissions
from fairlead.tools.answer import answer
from fairlead.tools.common import (
    DEFAULT_OUTPUT_TOKENS,
    LOGIN,
    PERMISSIONS,
    fold_escalation,
    timeout_ms,
    workdir,
)
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.format import format_shell_command
from fairlead.tools.kinds import text
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.running import run_request
from fairlead.tools.structured import EXEC_SCHEMA
from fairlead.tools.toolbox import Call, Wish, script_request

NAME = "shell_command"
TITLE = "Run a shell command"
DESCRIPTION = (
    "Runs a shell script and waits for it: exit code, wall time and output. Set `workdir` "
    "instead of using `cd`. What must outlive the call or needs input belongs in `exec_command`."
)
ANNOTATIONS = Annotations(read_only=False, destructive=True, idempotent=False, open_world=True)
OUTPUT_SCHEMA = EXEC_SCHEMA

ARGUMENTS = Arguments(
    NAME,
    Field("command", text(filled=True), "The script.", required=True),
    workdir(),
    LOGIN,
    timeout_ms("timeout"),
    *PERMISSIONS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """A checked call of `shell_command`."""

    command: str
    workdir: str | None
    login: bool
    timeout_ms: int
    sandbox_permissions: SandboxPermissions
    additional_permissions: ExtraPermissions | None
    justification: str | None
    prefix_rule: tuple[str, ...] | None


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    return Args(**fold_escalation(NAME, ARGUMENTS.parse(untrusted)))


async def run(args: Args, call: Call) -> ToolOutput:
    """Run the script in the session's shell and wait for its end."""
    wish = Wish.of(args)
    params = script_request(call, args.command, wish, login=args.login)
    output = await run_request(call, params, None)
    lines = await _lines_in_log(call, output) if output.output.omitted else None
    return answer(output, DEFAULT_OUTPUT_TOKENS, format_shell_command, total_lines=lines)


async def _lines_in_log(call: Call, output: ExecOutput) -> int | None:
    """How many lines there were: those that fell out of the answer can only be counted here."""
    log = call.session(output.session_id).log
    return await asyncio.to_thread(log.count_lines)
