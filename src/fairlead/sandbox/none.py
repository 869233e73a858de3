"""The backend that confines nothing: for policies that ask for nothing."""

from __future__ import annotations

from fairlead.model.access import SandboxReport, SandboxType
from fairlead.model.errors import Bug
from fairlead.model.sandbox import SandboxSettings

REPORT = SandboxReport(type=SandboxType.NONE, tier="none")


class Unconfined:
    """Stands where a `Confiner` would, for who need not load one."""

    def __init__(self, settings: SandboxSettings) -> None:
        if settings.confines:
            raise Bug(f"sandbox policy {settings.policy} confines")
        self.settings = settings
