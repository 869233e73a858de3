"""`apply_patch`: a patch arrives as an argument or as itself."""

from __future__ import annotations

import json

import pytest

from fairlead.tools.apply_patch import Args, parse, parse_custom
from tests.tools.refusals import refusal

PATCH = '*** Begin Patch\n*** Add File: a\n+{"b": 1}\n*** End Patch\n'


@pytest.mark.parametrize(
    "untrusted",
    [{"input": PATCH}, {"patch": PATCH}, json.dumps({"input": PATCH}), PATCH],
)
def test_every_way_in(untrusted: object) -> None:
    """As `input`, as `patch`, in JSON text and as raw text it is the same patch."""
    assert parse(untrusted) == Args(PATCH)


def test_custom() -> None:
    """A free-form payload is the patch, whatever it looks like."""
    assert parse_custom(PATCH) == Args(PATCH)
    assert parse_custom('{"input": ""}') == Args('{"input": ""}')


@pytest.mark.parametrize(
    ("untrusted", "text"),
    [
        ({}, 'apply_patch: missing required field "input"'),
        ({"input": " "}, "apply_patch.input: must not be empty"),
        ({"input": [PATCH]}, "apply_patch.input: expected a string, got an array"),
        ({"input": "a\0"}, "apply_patch.input: NUL byte at offset 1"),
        ({"path": "x"}, 'apply_patch: unknown field "path" (did you mean "input"?); '),
        ("--- a/x", "apply_patch: arguments are not valid JSON: line 1 column 1: "),
    ],
)
def test_refused(untrusted: object, text: str) -> None:
    """What holds no patch is refused before anybody looks for one."""
    assert refusal(parse, untrusted).startswith(text)
