"""What confined commands try, in every tier and as every user: the table of the probe suite."""

from __future__ import annotations

import shutil

from tests.kernel.people import users
from tests.kernel.probes.table import TIERS, render, run


def table() -> str:
    """Half a minute for each user."""
    tiers = [tier for tier in TIERS if tier != "bubblewrap" or shutil.which("bwrap")]
    return render({(tier, user): run(tier, user) for tier in tiers for user in users()})
