"""`list_sessions`: nothing has to be said."""

from __future__ import annotations

import pytest

from fairlead.tools.list_sessions import Args, parse


@pytest.mark.parametrize("untrusted", [None, "", "{}", {}, {"include_exited": True}])
def test_defaults(untrusted: object) -> None:
    """Without arguments, ended sessions are listed too."""
    assert parse(untrusted) == Args(include_exited=True)
