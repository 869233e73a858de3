"""What the rules say about a request: a verdict is a type and carries its reason."""

from __future__ import annotations

from fairlead.model.frozen import dataclass


@dataclass(frozen=True, slots=True)
class RuleRef:
    """What decided: a rule's file and line, or the name of a built-in table and its row."""

    source: str
    line: int | None = None
    text: str = ""

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{where} ({self.text})" if self.text else where


@dataclass(frozen=True, slots=True)
class Skip:
    """May run without asking."""

    because: RuleRef


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """A person has to say yes first."""

    because: RuleRef
    reason: str


@dataclass(frozen=True, slots=True)
class Forbidden:
    """Must not run."""

    because: RuleRef
    reason: str


Requirement = Skip | NeedsApproval | Forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Proof that rules and person agreed. `plan` demands one."""

    requirement: Requirement
    decision: str  # "skip" when nobody had to be asked
    because: str

    @property
    def facts(self) -> dict[str, str]:
        """The decision as a result reports it."""
        return {
            "requirement": type(self.requirement).__name__.lower(),
            "decision": self.decision,
            "because": self.because,
        }
