"""The reviewer where nobody listens: it refuses at once and says so."""

from __future__ import annotations

from fairlead.model.errors import Rejected
from fairlead.model.params import ExecParams
from fairlead.model.requirement import Grant, NeedsApproval


def refusal(question: NeedsApproval) -> Rejected:
    """The text for a question that nobody can answer."""
    return Rejected(
        f"approval required ({question.reason}; {question.because}), and nobody is there to give it"
    )


class Nobody:
    """Satisfies `Reviewer` by refusing."""

    async def review(self, params: ExecParams, question: NeedsApproval) -> Grant:
        raise refusal(question)
