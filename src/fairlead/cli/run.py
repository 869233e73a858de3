"""`fairlead run`: a command in this terminal, under policy. Start-up time counts here: nothing is
imported that a plain command does not need."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from fairlead.approval.settle import settle_unasked
from fairlead.cli.common import POLICY_FLAGS, options_from
from fairlead.cli.flags import Flag, Line, Syntax
from fairlead.cli.main import complain
from fairlead.config.options import Options
from fairlead.model.env import ExecEnv
from fairlead.model.errors import BadRequest, Rejected, SpawnFailed
from fairlead.model.params import ExecParams
from fairlead.model.requirement import NeedsApproval
from fairlead.policy.judge import judge
from fairlead.sandbox.plan import Prepared, plan
from fairlead.shells import argv as derive
from fairlead.shells.detect import session_shell
from fairlead.shells.environment import base

REFUSED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127

SYNTAX = Syntax(
    usage="fairlead run [-t] [FLAGS] -- ARGV…   or   fairlead run [-t] [FLAGS] -c 'SCRIPT'",
    about="Runs a command with your streams and signals and returns its exit code.\n"
    "125: refused, 126: not executable, 127: not found.",
    flags=(
        *POLICY_FLAGS,
        Flag("command", "a script for your shell instead of ARGV", "SCRIPT", short="c"),
        Flag("tty", "give it a terminal of its own", short="t"),
    ),
    stops_at_word=True,
)


def main(arguments: Sequence[str]) -> int:
    line = SYNTAX.parse(arguments)
    options = options_from(line)
    params = _params(line, options)
    try:
        return _run(_permitted(params, options), tty=line.on("tty"))
    except Rejected as error:
        return complain(str(error), REFUSED)
    except SpawnFailed as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
        return complain(str(error), NOT_FOUND if missing else NOT_EXECUTABLE)


def _params(line: Line, options: Options) -> ExecParams:
    script = line.get("command")
    if script is not None and line.words:
        raise BadRequest("give either ARGV or -c 'SCRIPT', not both")
    if script is None and not line.words:
        raise BadRequest("nothing to run: give ARGV after --, or -c 'SCRIPT'")
    words = line.words if script is None else derive(session_shell(), script, False)
    if not words[0]:
        raise BadRequest("ARGV: the command must not be empty")
    return ExecParams(
        call_id="run",
        tool="run",
        argv=tuple(words),
        script=script,
        cwd=options.cwd,
        tty=line.on("tty"),
    )


def _permitted(params: ExecParams, options: Options) -> ExecEnv:
    """The same stages as for an agent's call. Here nobody is asked: the question is the refusal."""
    requirement = judge(params, options.approval_policy, options.sandbox_policy)
    grant = settle_unasked(requirement)
    if grant is None:
        from fairlead.approval.nobody import refusal

        assert isinstance(requirement, NeedsApproval)
        raise refusal(requirement)
    own = base(os.environ, options.environment).own
    prepared = Prepared(argv=params.argv, env={**own, "FAIRLEAD": "1"})
    return plan(params, grant, options.sandbox_policy, prepared)


def _run(env: ExecEnv, *, tty: bool) -> int:
    from fairlead.spawn import launcher

    found = launcher.find()
    if found is None:
        from fairlead.spawn.bare import run_in_foreground

        return run_in_foreground(env, tty=tty)
    from fairlead.spawn import foreground

    start = foreground.run_in_terminal if tty else foreground.run
    return start(os.fspath(found), env)
