"""From a granted request to what will be spawned, word for word."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.model.access import SandboxPolicy
from fairlead.model.env import ExecEnv
from fairlead.model.errors import Rejected
from fairlead.model.frozen import dataclass
from fairlead.model.params import ExecParams
from fairlead.model.requirement import Grant
from fairlead.sandbox import none


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request whose argv and environment are final: the login snapshot has been applied."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    attached: Mapping[int, bytes] | None = None
    warnings: tuple[str, ...] = ()


def plan(params: ExecParams, grant: Grant, policy: SandboxPolicy, prepared: Prepared) -> ExecEnv:
    """What to spawn. Refuses if the policy can't be enforced: nothing ever runs with less."""
    env = ExecEnv(
        argv=prepared.argv,
        cwd=params.cwd,
        env=prepared.env,
        sandbox=none.REPORT,
        tty=params.tty,
        size=params.size,
        plain_tty=params.plain_tty,
        stdin=params.stdin,
        timeout=params.timeout,
        attached=prepared.attached,
        warnings=prepared.warnings,
    )
    if policy in (SandboxPolicy.DANGER_FULL_ACCESS, SandboxPolicy.EXTERNAL):
        return none.wrap(env)
    raise Rejected(
        f"sandbox policy {policy} can't be enforced: this version has no sandbox; "
        "the command was not run (allowed here: danger-full-access, external-sandbox)"
    )
