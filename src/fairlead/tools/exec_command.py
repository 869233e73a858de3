"""`exec_command`: starts a command as a session that may outlive the call."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fairlead.model.frozen import dataclass
from fairlead.model.params import ExtraPermissions, SandboxPermissions, Size, Stdin
from fairlead.tools.answer import answer
from fairlead.tools.common import (
    LOGIN,
    MAX_TOKENS,
    PERMISSIONS,
    fold_escalation,
    terminal_size,
    workdir,
)
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.format import format_exec
from fairlead.tools.kinds import choice, command, flag, integer, session_number, text, variables
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.running import run_request
from fairlead.tools.structured import EXEC_SCHEMA
from fairlead.tools.toolbox import Call, Wish, argv_request, script_request

NAME = "exec_command"
TITLE = "Run a command in a session"
DESCRIPTION = (
    "Runs a command and returns its output. One that still runs after `yield_time_ms` stays "
    "alive: the answer has its session id, for `write_stdin` (input, or an empty call for new "
    "output), `wait_for` and `kill_session`. Set `tty` for programs that need a terminal, or "
    '`stdin: "open"` to feed it through a pipe; otherwise its input is empty.'
)
ANNOTATIONS = Annotations(read_only=False, destructive=True, idempotent=False, open_world=True)
OUTPUT_SCHEMA = EXEC_SCHEMA

MIN_YIELD_MS, MAX_YIELD_MS = 250, 30_000
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})

ARGUMENTS = Arguments(
    NAME,
    Field(
        "cmd",
        command(),
        "A shell command line, or a list of strings that is executed without a shell.",
        required=True,
        aliases=("command",),
    ),
    workdir("cwd"),
    Field("env", variables(), "Variables to set for this command.", default=NO_VARIABLES),
    Field(
        "shell",
        text(empty_is_absent=True),
        "Shell to run `cmd` with, by name or path. Default: the session's own.",
    ),
    LOGIN,
    Field("tty", flag(), "Give it a terminal instead of pipes.", default=False),
    Field(
        "stdin",
        choice(Stdin),
        "Without a tty: null is an empty input, open can be fed by write_stdin.",
        default=Stdin.NULL,
    ),
    Field(
        "yield_time_ms",
        integer(MIN_YIELD_MS, MAX_YIELD_MS, clamp=True),
        "Milliseconds to wait for it to end before answering with what there is; "
        f"clamped to {MIN_YIELD_MS}..{MAX_YIELD_MS}.",
        default=10_000,
    ),
    MAX_TOKENS,
    Field(
        "rendered",
        flag(),
        "Output as a terminal would show it: progress bars collapse to their last state.",
        default=False,
    ),
    *terminal_size(),
    *PERMISSIONS,
    Field("process_id", session_number(), older=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """A checked call of `exec_command`. A `cmd` of words is an argv, one of text a script."""

    cmd: str | tuple[str, ...]
    workdir: str | None
    env: Mapping[str, str]
    shell: str | None
    login: bool
    tty: bool
    stdin: Stdin
    yield_time_ms: int
    max_output_tokens: int
    rendered: bool
    rows: int
    cols: int
    sandbox_permissions: SandboxPermissions
    additional_permissions: ExtraPermissions | None
    justification: str | None
    prefix_rule: tuple[str, ...] | None
    process_id: int | None

    @property
    def size(self) -> Size:
        """The terminal's size, where it gets one."""
        return Size(self.rows, self.cols)


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    return Args(**fold_escalation(NAME, ARGUMENTS.parse(untrusted)))


async def run(args: Args, call: Call) -> ToolOutput:
    """Start it as a session and answer with what there is after `yield_time_ms`."""
    wish = Wish.of(args)
    if isinstance(args.cmd, str):
        params = script_request(call, args.cmd, wish, login=args.login, shell=args.shell)
    else:
        params = argv_request(call, args.cmd, wish)
    output = await run_request(call, params, args.yield_time_ms / 1000)
    return answer(output, args.max_output_tokens, format_exec, rendered=args.rendered)
