"""Values on their way into JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.mcp.plain import plain
from fairlead.model.output import Status


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": (1, 2.5, None, True)}, {"a": [1, 2.5, None, True]}),
        ("caf\u00e9", "caf\u00e9"),
        ("name-\udcff", "name-?"),
        ({1: "\ud800"}, {"1": "?"}),
        (Path("/tmp"), "/tmp"),
        (Status.RUNNING, "running"),
        (b"\xff", "\ufffd"),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_anything_fits_the_wire(value: object, expected: object) -> None:
    """Whatever an engine hands over becomes JSON that UTF-8 can carry."""
    assert plain(value) == expected
    json.dumps(plain(value), ensure_ascii=False, allow_nan=False).encode()
