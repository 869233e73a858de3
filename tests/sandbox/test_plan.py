"""What is spawned word for word, and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.model.access import SandboxPolicy, SandboxType
from fairlead.model.errors import Rejected
from fairlead.model.params import ExecParams, Size, Stdin
from fairlead.model.requirement import Grant, RuleRef, Skip
from fairlead.sandbox.plan import Prepared, plan

GRANT = Grant(requirement=Skip(RuleRef("a test")), decision="skip", because="a test")
REQUEST = ExecParams(
    call_id="1",
    tool="shell",
    argv=("sh", "-lc", "x"),
    cwd=Path("/somewhere"),
    env={"ASKED": "1"},
    tty=True,
    size=Size(10, 20),
    stdin=Stdin.OPEN,
    timeout=3.0,
)
PREPARED = Prepared(
    argv=("sh", "-c", "y"), env={"PATH": "/bin"}, attached={9: b"z"}, warnings=("a warning",)
)


@pytest.mark.parametrize(
    "policy", [SandboxPolicy.DANGER_FULL_ACCESS, SandboxPolicy.EXTERNAL], ids=str
)
def test_a_policy_that_confines_nothing_is_carried_out(policy: SandboxPolicy) -> None:
    """Argv and environment are the prepared ones, all else is what was asked."""
    env = plan(REQUEST, GRANT, policy, PREPARED)
    assert (env.argv, env.env, env.attached) == (PREPARED.argv, PREPARED.env, PREPARED.attached)
    assert (env.cwd, env.tty, env.size) == (REQUEST.cwd, True, Size(10, 20))
    assert (env.stdin, env.timeout, env.warnings) == (Stdin.OPEN, 3.0, ("a warning",))
    assert (env.sandbox.type, env.sandbox.tier) == (SandboxType.NONE, "none")


@pytest.mark.parametrize(
    "policy", [SandboxPolicy.READ_ONLY, SandboxPolicy.WORKSPACE_WRITE], ids=str
)
def test_a_policy_that_can_not_be_enforced_is_refused(policy: SandboxPolicy) -> None:
    """There is no sandbox yet, so nothing runs that demands one."""
    with pytest.raises(Rejected) as refused:
        plan(REQUEST, GRANT, policy, PREPARED)
    assert str(refused.value) == (
        f"sandbox policy {policy} can't be enforced: this version has no sandbox; the command "
        "was not run (allowed here: danger-full-access, external-sandbox)"
    )
