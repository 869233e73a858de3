"""What holds for every tool: valid schemas, agreement of table and type, and total parsers."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fairlead.model.errors import BadRequest
from fairlead.tools import (
    apply_patch,
    exec_command,
    kill_session,
    list_sessions,
    read_output,
    resize,
    run_in_session,
    shell,
    shell_command,
    wait_for,
    write_stdin,
)
from fairlead.tools.catalogue import MODULES, canonical, specs
from fairlead.tools.model import Family

LEAST: dict[ModuleType, dict[str, Any]] = {
    apply_patch: {"input": "*** Begin Patch\n*** End Patch"},
    exec_command: {"cmd": "ls"},
    kill_session: {"session_id": 4711},
    list_sessions: {},
    read_output: {"session_id": 4711},
    resize: {"session_id": 4711, "rows": 24, "cols": 80},
    run_in_session: {"command": "ls"},
    shell: {"command": ["ls"]},
    shell_command: {"command": "ls"},
    wait_for: {"session_id": 4711, "exit": True},
    write_stdin: {"session_id": 4711},
}
every_tool = pytest.mark.parametrize("tool", LEAST, ids=lambda tool: tool.NAME)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def test_the_table_is_complete() -> None:
    """Every tool that is tested here is in the catalogue, and the other way round."""
    listed = {module.NAME for modules in MODULES.values() for module in modules}
    assert listed == {tool.NAME for tool in LEAST}
    assert [spec.name for spec in specs(Family.FIRST)] == [
        "shell",
        "shell_command",
        "exec_command",
        "write_stdin",
        "apply_patch",
    ]


def test_older_names() -> None:
    """`container.exec` is `shell`; any other name is its own."""
    assert canonical("container.exec") == "shell"
    assert canonical("exec_command") == "exec_command"


@every_tool
def test_schemas_are_valid(tool: ModuleType) -> None:
    """Both schemas are JSON Schema, closed on the way in, and survive JSON."""
    schema = tool.ARGUMENTS.schema()
    Draft202012Validator.check_schema(schema)
    Draft202012Validator.check_schema(tool.OUTPUT_SCHEMA)
    assert schema["additionalProperties"] is False
    assert json.loads(json.dumps([schema, tool.OUTPUT_SCHEMA])) == [schema, tool.OUTPUT_SCHEMA]
    assert all(field["description"] for field in schema["properties"].values())


@every_tool
def test_the_least_call_is_valid_and_parses(tool: ModuleType) -> None:
    """A call with only what is required fits the schema, and parses the same from text."""
    Draft202012Validator(tool.ARGUMENTS.schema()).validate(LEAST[tool])
    assert tool.parse(LEAST[tool]) == tool.parse(json.dumps(LEAST[tool]))


@every_tool
def test_the_advertised_defaults_parse_to_themselves(tool: ModuleType) -> None:
    """Saying a default aloud is the same as leaving the field out."""
    properties = tool.ARGUMENTS.schema()["properties"]
    said = {name: field["default"] for name, field in properties.items() if "default" in field}
    assert tool.parse({**said, **LEAST[tool]}) == tool.parse(LEAST[tool])


@every_tool
def test_every_argument_reaches_the_parsed_call(tool: ModuleType) -> None:
    """The parsed call has a field for each advertised argument."""
    names = {field.name for field in fields(tool.Args)}
    assert names >= tool.ARGUMENTS.schema()["properties"].keys()


@every_tool
def test_an_unknown_field_is_refused(tool: ModuleType) -> None:
    """No tool takes a field that it does not know."""
    with pytest.raises(BadRequest, match=f'^{tool.NAME}: unknown field "zzz"; allowed: '):
        tool.parse({**LEAST[tool], "zzz": 1})


@every_tool
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_parsers_are_total(tool: ModuleType, data: st.DataObject) -> None:
    """Whatever JSON comes, the parser answers with a call or with BadRequest."""
    names = [name for field in tool.ARGUMENTS.fields for name in (field.name, *field.aliases)]
    near = st.dictionaries(st.sampled_from(names), JSON | st.integers(0, 5), max_size=5)
    untrusted = data.draw(JSON | near | near.map(lambda more: {**LEAST[tool], **more}))
    for form in (untrusted, json.dumps(untrusted)):
        found = parsed_or_refused(tool, form)
        assert isinstance(found, tool.Args) or found.startswith(tool.NAME)


@every_tool
@settings(max_examples=50, deadline=None)
@given(text=st.text())
def test_parsers_take_any_text(tool: ModuleType, text: str) -> None:
    """Text that is no JSON is refused, not raised over."""
    found = parsed_or_refused(tool, text)
    assert isinstance(found, tool.Args) or found.startswith(tool.NAME)


def parsed_or_refused(tool: ModuleType, untrusted: object) -> Any:
    """The parsed call, or the text of its refusal, which is always text that can be sent."""
    try:
        return tool.parse(untrusted)
    except BadRequest as refusal:
        return str(refusal).encode().decode()


def test_the_catalogue_is_light() -> None:
    """Offering every tool loads neither a heavy library nor what only a few calls need."""
    script = "import sys, fairlead.tools.catalogue as c; c.specs(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert loaded & {"pydantic", "mcp", "re2", "difflib"} == set()
