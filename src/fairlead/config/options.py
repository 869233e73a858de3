"""What an engine can be told. Everything has a default."""

from __future__ import annotations

from pathlib import Path

from fairlead.model.access import PRESETS, ApprovalPolicy, SandboxPolicy
from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass, field
from fairlead.model.limits import Capacity
from fairlead.shells.environment import EnvironmentPolicy

DEFAULT_PRESET = "full-access"  # until there is a sandbox; then `auto`


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of one engine.

    `sandbox` and `approval` override what the preset says. `shell` names the shell that scripts
    run in where a call names none; the default is the user's own.
    """

    cwd: Path = field(default_factory=Path.cwd)
    preset: str = DEFAULT_PRESET
    sandbox: SandboxPolicy | None = None
    approval: ApprovalPolicy | None = None
    environment: EnvironmentPolicy = EnvironmentPolicy()
    shell: str | None = None
    allow_login: bool = True
    login_seconds: float = 10.0  # how long a login shell's start-up may take to be remembered
    capacity: Capacity = Capacity()
    log_bytes: int = 256 << 20  # of one session's output on disk
    memory_bytes: int = 64 << 20  # of all sessions' output in memory
    log_directory: Path | None = None

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise BadRequest(f"preset: expected one of {', '.join(PRESETS)}, got {self.preset}")

    @property
    def sandbox_policy(self) -> SandboxPolicy:
        return self.sandbox or PRESETS[self.preset][0]

    @property
    def approval_policy(self) -> ApprovalPolicy:
        return self.approval or PRESETS[self.preset][1]
