"""The backend that confines nothing never stands in for one that should."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.model.access import SandboxPolicy
from fairlead.model.errors import Bug
from fairlead.model.sandbox import SandboxSettings
from fairlead.sandbox.none import Unconfined


@pytest.mark.parametrize("policy", SandboxPolicy)
def test_only_policies_that_ask_for_nothing_get_nothing(policy: SandboxPolicy) -> None:
    """Where something should confine, there is no way to plan without it."""
    settings = SandboxSettings(policy=policy, workspace=Path("/work"))
    if settings.confines:
        with pytest.raises(Bug, match=f"sandbox policy {policy} confines"):
            Unconfined(settings)
    else:
        assert Unconfined(settings).settings is settings
