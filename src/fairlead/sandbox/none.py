"""The backend that confines nothing: for policies that ask for nothing."""

from __future__ import annotations

from fairlead.model.access import SandboxReport, SandboxType
from fairlead.model.env import ExecEnv

REPORT = SandboxReport(type=SandboxType.NONE, tier="none")


def wrap(env: ExecEnv) -> ExecEnv:
    """The command as it is."""
    return env
