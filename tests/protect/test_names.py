"""Each protected name has its reason."""

from __future__ import annotations

import pytest

from fairlead.model.sandbox import STARTUP_FILES
from fairlead.protect.names import AT_TOP, IN_GIT, reason


@pytest.mark.parametrize("name", [*AT_TOP, *IN_GIT, ".git"])
def test_a_person_is_told_why(name: str) -> None:
    """In the list of what was moved aside."""
    why = reason(f"/work/{name}")
    assert why == {**AT_TOP, **IN_GIT}.get(name, "commits are not allowed here")
    assert reason("/work/more-settings") not in {**AT_TOP, **IN_GIT}.values()


@pytest.mark.parametrize("name", [name for name in STARTUP_FILES if name not in AT_TOP])
def test_a_start_up_file_is_called_one(name: str) -> None:
    """Where the home directory is writable, they are watched, too."""
    assert reason(f"/home/me/{name}").startswith("start-up file")
