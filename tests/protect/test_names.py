"""Each protected name has its reason."""

from __future__ import annotations

import pytest

from fairlead.protect.names import AT_TOP, IN_GIT, reason


@pytest.mark.parametrize("name", [*AT_TOP, *IN_GIT, ".git"])
def test_a_person_is_told_why(name: str) -> None:
    """In the list of what was moved aside."""
    why = reason(f"/work/{name}")
    assert why == {**AT_TOP, **IN_GIT}.get(name, "commits are not allowed here")
    assert reason("/work/more-settings") not in {**AT_TOP, **IN_GIT}.values()
