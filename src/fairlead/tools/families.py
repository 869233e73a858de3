"""Which tools an agent is offered together."""

from __future__ import annotations

from fairlead.model.errors import BadRequest
from fairlead.tools import catalogue
from fairlead.tools.model import Family, ToolSpec

FAMILIES = {
    "codex": (Family.FIRST, Family.COMPANION),
    "openclaw": (Family.SECOND, Family.COMPANION),
    "all": (Family.FIRST, Family.SECOND, Family.COMPANION),
}


def specs_of(family: str) -> tuple[ToolSpec, ...]:
    """The tools of a family, as a model is shown them."""
    if family not in FAMILIES:
        raise BadRequest(f"tools: expected one of {', '.join(FAMILIES)}, got {family!r}")
    return catalogue.specs(*FAMILIES[family])
