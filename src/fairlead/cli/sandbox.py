"""`fairlead sandbox`: a command in the sandbox and nothing more: no rules, nobody is asked."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cli.common import POLICY_FLAGS, options_from
from fairlead.cli.flags import Flag, Syntax
from fairlead.cli.foreground import answered, params_from, run_planned
from fairlead.config.options import Options
from fairlead.confining import confiner_for, machine
from fairlead.model.access import SandboxPolicy
from fairlead.model.errors import BadRequest
from fairlead.model.requirement import Grant, RuleRef, Skip

SYNTAX = Syntax(
    usage="fairlead sandbox [-t] [FLAGS] -- ARGV…   or   fairlead sandbox [FLAGS] -c 'SCRIPT'",
    about="Runs a command confined, with your streams and signals, and returns its exit code.\n"
    "Unless --sandbox says otherwise it may write below the working directory and /tmp, and\n"
    "reach no network. 125: it could not be confined, 126: not executable, 127: not found.",
    flags=(
        *(flag for flag in POLICY_FLAGS if flag.name != "approval"),
        Flag("command", "a script for your shell instead of ARGV", "SCRIPT", short="c"),
        Flag("tty", "give it a terminal of its own", short="t"),
        Flag("explain", "print what would be confined and how, and run nothing"),
        Flag("json", "with --explain: as JSON"),
    ),
    stops_at_word=True,
)
_ROW = RuleRef("fairlead sandbox", text="whoever calls it decides")
_GRANT = Grant(requirement=Skip(_ROW), decision="skip", because=str(_ROW))


def main(arguments: Sequence[str]) -> int:
    line = SYNTAX.parse(arguments)
    options = options_from(line)
    if not options.sandbox_settings.confines:
        allowed = f"{SandboxPolicy.READ_ONLY}, {SandboxPolicy.WORKSPACE_WRITE}"
        raise BadRequest(
            f"--sandbox: {options.sandbox_policy} confines nothing; allowed: {allowed}"
        )
    if line.on("explain"):
        return answered(lambda: _explain(options, as_json=line.on("json")))
    if line.on("json"):
        raise BadRequest("--json goes with --explain")
    params = params_from(line, options, tool="sandbox")
    return answered(lambda: run_planned(params, _GRANT, options))


def _explain(options: Options, *, as_json: bool) -> int:
    from fairlead.sandbox.explain import facts, lines

    machine().probe()  # else it would say what such a machine usually offers
    confined = confiner_for(options).confined("default")
    if as_json:
        import json

        print(json.dumps(facts(confined), indent=2))
    else:
        print("\n".join(lines(confined)))
    return 0
