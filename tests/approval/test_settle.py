"""From a verdict to a grant, or to a refusal that says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.approval.nobody import Nobody
from fairlead.approval.settle import settle, settle_unasked
from fairlead.model.errors import Rejected
from fairlead.model.params import ExecParams
from fairlead.model.requirement import Forbidden, Grant, NeedsApproval, RuleRef, Skip

BECAUSE = RuleRef("team.policy", 14, "ask rm")
REQUEST = ExecParams(call_id="1", tool="shell", argv=("rm", "x"), cwd=Path("/"))
QUESTION = NeedsApproval(BECAUSE, "it deletes")


class Says:
    """A reviewer that writes down what it is asked, and says yes."""

    def __init__(self) -> None:
        self.asked: list[tuple[ExecParams, NeedsApproval]] = []

    async def review(self, params: ExecParams, question: NeedsApproval) -> Grant:
        self.asked.append((params, question))
        return Grant(requirement=question, decision="approved", because="a person")


async def test_what_may_run_is_granted_without_asking() -> None:
    """The grant says that nobody was asked, and by which rule."""
    reviewer = Says()
    grant = await settle(REQUEST, Skip(BECAUSE), reviewer)
    assert grant == Grant(
        requirement=Skip(BECAUSE), decision="skip", because="team.policy:14 (ask rm)"
    )
    assert reviewer.asked == []


async def test_what_is_forbidden_is_refused_without_asking() -> None:
    """The reason is the text of the refusal; no reviewer can overrule it."""
    reviewer = Says()
    with pytest.raises(Rejected, match=r"^not here$"):
        await settle(REQUEST, Forbidden(BECAUSE, "not here"), reviewer)
    assert reviewer.asked == []


async def test_a_question_goes_to_the_reviewer() -> None:
    """Once, with the request; the answer is the grant."""
    reviewer = Says()
    grant = await settle(REQUEST, QUESTION, reviewer)
    assert grant.decision == "approved"
    assert reviewer.asked == [(REQUEST, QUESTION)]


async def test_where_nobody_is_there_a_question_is_a_refusal() -> None:
    """It does not wait, and it says what was asked and why."""
    with pytest.raises(Rejected) as refused:
        await settle(REQUEST, QUESTION, Nobody())
    assert str(refused.value) == (
        "approval required (it deletes; team.policy:14 (ask rm)), and nobody is there to give it"
    )


def test_a_question_is_not_settled_without_asking() -> None:
    """Who can't wait learns that somebody has to be asked."""
    assert settle_unasked(QUESTION) is None
