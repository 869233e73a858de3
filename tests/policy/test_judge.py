"""The table of verdicts: approval policy × sandbox policy × escalation."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from fairlead.model.access import ApprovalPolicy, SandboxPolicy
from fairlead.model.params import ExecParams, SandboxPermissions
from fairlead.model.requirement import Forbidden, NeedsApproval, RuleRef, Skip
from fairlead.policy.judge import judge

NEVER, UNLESS_TRUSTED, ON_FAILURE, ON_REQUEST, GRANULAR = ApprovalPolicy
READ_ONLY, WORKSPACE, FULL_ACCESS, EXTERNAL = SandboxPolicy
OPEN = (FULL_ACCESS, EXTERNAL)
CLOSED = (READ_ONLY, WORKSPACE)

RUNS = "runs"
NO_RULE = "no rule allows this command"
UNTRUSTED = "no rule says that this command is trusted"
ESCALATES = "the call asks to run outside the sandbox"

# approval, sandboxes, what happens without escalation, and with it
TABLE = [
    (NEVER, OPEN, RUNS, "forbidden"),
    (NEVER, CLOSED, RUNS, "forbidden"),
    (ON_FAILURE, OPEN, RUNS, "forbidden"),
    (ON_FAILURE, CLOSED, RUNS, "forbidden"),
    (ON_REQUEST, OPEN, RUNS, RUNS),
    (ON_REQUEST, CLOSED, NO_RULE, ESCALATES),
    (GRANULAR, OPEN, RUNS, RUNS),
    (GRANULAR, CLOSED, NO_RULE, ESCALATES),
    (UNLESS_TRUSTED, OPEN, UNTRUSTED, RUNS),
    (UNLESS_TRUSTED, CLOSED, UNTRUSTED, ESCALATES),
]
ROWS = [
    (approval, sandbox, escalates, verdict)
    for approval, sandboxes, plain, escalated in TABLE
    for sandbox in sandboxes
    for escalates, verdict in ((False, plain), (True, escalated))
]


def asked(*, escalates: bool = False) -> ExecParams:
    wish = SandboxPermissions.REQUIRE_ESCALATED if escalates else SandboxPermissions.USE_DEFAULT
    return ExecParams(
        call_id="1", tool="shell", argv=("true",), cwd=Path("/"), sandbox_permissions=wish
    )


@pytest.mark.parametrize(("approval", "sandbox", "escalates", "verdict"), ROWS)
def test_every_row(
    approval: ApprovalPolicy, sandbox: SandboxPolicy, escalates: bool, verdict: str
) -> None:
    """Each combination has its verdict, and the verdict names the combination."""
    row = RuleRef("approval policy", text=f"{approval} × {sandbox}")
    reason = (
        f"approval policy is {approval}; reject command — you cannot ask for escalated "
        f"permissions if the approval policy is {approval}"
    )
    expected = {RUNS: Skip(row), "forbidden": Forbidden(row, reason)}
    found = judge(asked(escalates=escalates), approval, sandbox)
    assert found == expected.get(verdict, NeedsApproval(row, verdict))


def test_the_table_has_every_combination() -> None:
    """No combination is left to chance: all of them are rows."""
    combinations = itertools.product(ApprovalPolicy, SandboxPolicy, (False, True))
    assert sorted(row[:3] for row in ROWS) == sorted(combinations)


def test_a_reason_says_where_it_comes_from() -> None:
    """As a person reads it."""
    assert str(judge(asked(), NEVER, FULL_ACCESS).because) == (
        "approval policy (never × danger-full-access)"
    )
