"""Programs that a test drives and that a machine may lack."""

from __future__ import annotations

import os
import shutil

import pytest

PACKAGES = {"cc": "gcc", "node": "nodejs", "ps": "procps"}  # where Debian's name differs


def require(program: str) -> str:
    """The path of a program. Where it is missing, the test is skipped; with CI=true it fails."""
    path = shutil.which(program)
    if path is not None:
        return path
    reason = f"{program} is missing: install the Debian package {PACKAGES.get(program, program)}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
