"""From a requirement to a grant, or to a refusal that says why."""

from __future__ import annotations

from typing import Protocol

from fairlead.model.errors import Rejected
from fairlead.model.params import ExecParams
from fairlead.model.requirement import Forbidden, Grant, NeedsApproval, Requirement, Skip


class Reviewer(Protocol):
    """Somebody who can say yes. Raises `Rejected` otherwise."""

    async def review(self, params: ExecParams, question: NeedsApproval) -> Grant: ...


def settle_unasked(requirement: Requirement) -> Grant | None:
    """The grant, where nobody has to be asked; None where somebody has to be."""
    match requirement:
        case Skip():
            return Grant(requirement=requirement, decision="skip", because=str(requirement.because))
        case Forbidden():
            raise Rejected(requirement.reason)
        case NeedsApproval():
            return None


async def settle(params: ExecParams, requirement: Requirement, reviewer: Reviewer) -> Grant:
    """May wait for a person."""
    grant = settle_unasked(requirement)
    if grant is not None:
        return grant
    assert isinstance(requirement, NeedsApproval)
    return await reviewer.review(params, requirement)
