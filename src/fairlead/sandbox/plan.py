"""From a granted request to what will be spawned, word for word."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fairlead.model.access import Access, PathMode, SandboxPolicy
from fairlead.model.env import ExecEnv, Rlimit
from fairlead.model.errors import Rejected
from fairlead.model.frozen import dataclass, replace
from fairlead.model.params import ExecParams, SandboxPermissions
from fairlead.model.requirement import Grant
from fairlead.sandbox import none
from fairlead.sandbox.limits import rlimits

if TYPE_CHECKING:
    from fairlead.sandbox.confiner import Confiner


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request whose argv and environment are final: the login snapshot has been applied."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    attached: Mapping[int, bytes] | None = None
    warnings: tuple[str, ...] = ()


def plan(
    params: ExecParams, grant: Grant, confiner: Confiner | none.Unconfined, prepared: Prepared
) -> ExecEnv:
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
    if isinstance(confiner, none.Unconfined):
        return env
    if not confiner.settings.confines or leaves_the_sandbox(params, grant):
        return env
    confined = confiner.confined(params.agent, params.extra)
    _check_directory(params, confined.access)
    limits: tuple[Rlimit, ...] = rlimits(confined.limits)
    surrounding = confined.wrapper or confined.inside
    return replace(
        surrounding.around(env) if surrounding else env,
        sandbox=confined.report,
        access=confined.access,
        confinement=confined.confinement,
        limits=limits,
    )


def leaves_the_sandbox(params: ExecParams, grant: Grant) -> bool:
    """The call asked for it, and who may say so said yes: the grant is the proof."""
    return params.sandbox_permissions is SandboxPermissions.REQUIRE_ESCALATED


def _check_directory(params: ExecParams, access: Access) -> None:
    rule = access.rule_for(os.path.realpath(params.cwd))
    if rule is not None and rule.mode is PathMode.HIDE:
        raise Rejected(f"workdir: {params.cwd} is hidden from commands ({rule.because})")


def must_be_writable(access: Access, policy: SandboxPolicy, path: str) -> None:
    """For what the engine itself writes in an agent's name. Raises `Rejected`."""
    rule = access.rule_for(path)
    kept_away = _is_kept_away(access, path) or _makes_a_repository(access, path)
    if rule is not None and rule.mode is PathMode.WRITE and not kept_away:
        return
    if policy is SandboxPolicy.READ_ONLY:
        raise Rejected(f"{path}: sandbox policy read-only allows no writing")
    if kept_away:
        why = "protected (it must not appear)"
    else:
        why = f"protected ({rule.because})" if rule is not None else "outside of the writable roots"
    roots = ", ".join(root.path for root in access.rules if root.because in _ROOTS) or "none"
    raise Rejected(f"{path} is {why}; nothing was changed (writable: {roots})")


_ROOTS = ("workspace", "writable root", "granted", "temporary files")


def _is_kept_away(access: Access, path: str) -> bool:
    return any(path == one or path.startswith(one + "/") for one in access.absent)


def _makes_a_repository(access: Access, path: str) -> bool:
    """Git would obey its settings and hooks. One that a command makes is inspected at its end; here
    there is no command. Without `.git` in its name it takes `HEAD`, `objects` and `refs`."""
    known = {where for where, _ in access.repositories}
    names = path.split("/")
    for number, name in enumerate(names):
        above = "/".join(names[:number])
        if name.lower() == ".git" and f"{above}/{name}" not in known:
            return True
        if above in known:
            continue
        if path == f"{above}/HEAD":
            return True
        if name in ("objects", "refs") and os.path.lexists(f"{above}/HEAD"):
            return True
    return False
