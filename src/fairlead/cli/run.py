"""`fairlead run`: a command in this terminal, under policy. Start-up time counts here: nothing is
imported that a plain command does not need."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.approval.settle import settle_unasked
from fairlead.cli.common import POLICY_FLAGS, options_from
from fairlead.cli.flags import Flag, Syntax
from fairlead.cli.foreground import answered, params_from, run_planned
from fairlead.config.options import Options
from fairlead.model.params import ExecParams
from fairlead.model.requirement import Grant, NeedsApproval
from fairlead.policy.judge import judge

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
    params = params_from(line, options, tool="run")
    return answered(lambda: run_planned(params, _granted(params, options), options))


def _granted(params: ExecParams, options: Options) -> Grant:
    """The same stages as for an agent's call. Here nobody is asked: the question is the refusal."""
    requirement = judge(
        params,
        options.approval_policy,
        options.sandbox_policy,
        auto_allow_sandboxed=options.auto_allow_sandboxed,
    )
    grant = settle_unasked(requirement)
    if grant is not None:
        return grant
    from fairlead.approval.nobody import refusal

    assert isinstance(requirement, NeedsApproval)
    raise refusal(requirement)
