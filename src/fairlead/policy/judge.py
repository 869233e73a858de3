"""One request in, one verdict out.

There are no rules yet: the verdict follows from the approval policy, the sandbox policy and
whether the call asks to leave the sandbox. `DEFAULTS` is that table, row by row.
"""

from __future__ import annotations

from fairlead.model.access import ApprovalPolicy, SandboxPolicy
from fairlead.model.params import ExecParams, SandboxPermissions
from fairlead.model.requirement import Forbidden, NeedsApproval, Requirement, RuleRef, Skip

_MAY_ASK = (ApprovalPolicy.ON_REQUEST, ApprovalPolicy.UNLESS_TRUSTED, ApprovalPolicy.GRANULAR)
_UNCONFINED = (SandboxPolicy.DANGER_FULL_ACCESS, SandboxPolicy.EXTERNAL)


def judge(
    params: ExecParams,
    approval: ApprovalPolicy,
    sandbox: SandboxPolicy,
    *,
    auto_allow_sandboxed: bool = False,
) -> Requirement:
    """What has to happen before this may run. With `auto_allow_sandboxed`, what the sandbox will
    contain runs unasked."""
    row = RuleRef("approval policy", text=f"{approval} × {sandbox}")
    if params.sandbox_permissions is SandboxPermissions.REQUIRE_ESCALATED:
        return _judge_more(approval, sandbox, row, "escalated", "to run outside the sandbox")
    if params.extra is not None:
        return _judge_more(approval, sandbox, row, "additional", f"for more: {params.extra.shown}")
    if approval is ApprovalPolicy.UNLESS_TRUSTED:
        return NeedsApproval(row, "no rule says that this command is trusted")
    contained = auto_allow_sandboxed and approval is ApprovalPolicy.ON_REQUEST
    if contained and sandbox not in _UNCONFINED:
        return Skip(RuleRef("auto_allow_sandboxed", text=f"the sandbox is {sandbox}"))
    asks = approval in (ApprovalPolicy.ON_REQUEST, ApprovalPolicy.GRANULAR)
    if asks and sandbox not in _UNCONFINED:
        return NeedsApproval(row, "no rule allows this command")
    return Skip(row)


def _judge_more(
    approval: ApprovalPolicy, sandbox: SandboxPolicy, row: RuleRef, kind: str, what: str
) -> Requirement:
    """A call that asks for more than the sandbox allows."""
    if approval not in _MAY_ASK:
        return Forbidden(
            row,
            f"approval policy is {approval}; reject command — you cannot ask for {kind} "
            f"permissions if the approval policy is {approval}",
        )
    if sandbox in _UNCONFINED:  # there is nothing to escape from
        return Skip(row)
    return NeedsApproval(row, f"the call asks {what}")
