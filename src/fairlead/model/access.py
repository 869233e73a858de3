"""What may be touched: the words of sandbox and approval policies."""

from __future__ import annotations

from enum import StrEnum

from fairlead.model.frozen import dataclass


class SandboxPolicy(StrEnum):
    """How far a command may reach."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    DANGER_FULL_ACCESS = "danger-full-access"
    EXTERNAL = "external-sandbox"


class ApprovalPolicy(StrEnum):
    """When a person is asked."""

    NEVER = "never"
    UNLESS_TRUSTED = "unless-trusted"
    ON_FAILURE = "on-failure"
    ON_REQUEST = "on-request"
    GRANULAR = "granular"


class SandboxType(StrEnum):
    """The mechanism that confines a command."""

    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReport:
    """Under what a command ran, and what that could not enforce. Travels with the result."""

    type: SandboxType
    tier: str
    missing: tuple[str, ...] = ()


PRESETS: dict[str, tuple[SandboxPolicy, ApprovalPolicy]] = {
    "read-only": (SandboxPolicy.READ_ONLY, ApprovalPolicy.ON_REQUEST),
    "auto": (SandboxPolicy.WORKSPACE_WRITE, ApprovalPolicy.ON_REQUEST),
    "strict": (SandboxPolicy.WORKSPACE_WRITE, ApprovalPolicy.UNLESS_TRUSTED),
    "full-access": (SandboxPolicy.DANGER_FULL_ACCESS, ApprovalPolicy.NEVER),
}
