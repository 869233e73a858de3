"""The tools in the words of model vendors and of MCP."""

from __future__ import annotations

import re

import pytest

from fairlead.model.errors import BadRequest
from fairlead.tools.catalogue import specs
from fairlead.tools.export import export
from fairlead.tools.model import Annotations, Family, ToolSpec

SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
SPEC = ToolSpec(
    name="look",
    title="Look",
    description="Looks.",
    input_schema=SCHEMA,
    output_schema={"type": "object"},
    annotations=Annotations(read_only=True, destructive=False, idempotent=True, open_world=False),
    family=Family.COMPANION,
)
FUNCTION = {"name": "look", "description": "Looks.", "strict": False, "parameters": SCHEMA}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("openai", {"type": "function", **FUNCTION}),
        ("openai-chat", {"type": "function", "function": FUNCTION}),
        ("anthropic", {"name": "look", "description": "Looks.", "input_schema": SCHEMA}),
        (
            "mcp",
            {
                "name": "look",
                "title": "Look",
                "description": "Looks.",
                "inputSchema": SCHEMA,
                "outputSchema": {"type": "object"},
                "annotations": {
                    "title": "Look",
                    "readOnlyHint": True,
                    "destructiveHint": False,
                    "idempotentHint": True,
                    "openWorldHint": False,
                },
            },
        ),
    ],
)
def test_forms(form: str, expected: dict[str, object]) -> None:
    """Each form has the keys that its reader expects, and no other."""
    assert export([SPEC], form) == [expected]


def test_an_unknown_form_names_the_known_ones() -> None:
    """A form that does not exist is refused with those that do."""
    with pytest.raises(BadRequest, match='"yaml" is unknown; allowed: openai, openai-chat, anthr'):
        export([SPEC], "yaml")


def test_every_tool_fits_the_vendors_rules() -> None:
    """Names have only letters, digits, _ and -; no schema has a combinator at its top."""
    for spec in specs():
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", spec.name)
        assert not {"anyOf", "oneOf", "allOf"} & spec.input_schema.keys()
        assert len(spec.description) <= 1024


def test_the_mcp_sdk_takes_every_tool() -> None:
    """The MCP SDK's own type accepts what we export for it."""
    from mcp.types import Tool

    for tool in export(specs(), "mcp"):
        assert Tool.model_validate(tool).name == tool["name"]
