"""One table gives schema and parser, and every refusal names the field and what is allowed."""

from __future__ import annotations

import time
from enum import StrEnum

import pytest

from fairlead.model.errors import BadRequest
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.kinds import choice, flag, integer, session_ref, text, texts, variables


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


TABLE = Arguments(
    "paint",
    Field("what", text(), "What.", required=True, aliases=("thing",)),
    Field("where", texts(), "Where."),
    Field("colour", choice(Colour), "Which.", default=Colour.RED),
    Field("layers", integer(1, 5), "How many.", default=2),
    Field("wait", integer(10, 20, clamp=True), "How long.", default=15),
    Field("env", variables(), "With."),
    Field("dry", flag(), "Whether.", default=False),
    Field("on", session_ref(), "On."),
    Field("hue", text(), older=True),
)


def refusal(untrusted: object) -> str:
    with pytest.raises(BadRequest) as caught:
        TABLE.parse(untrusted)
    return str(caught.value)


def test_schema() -> None:
    """The schema has every advertised field, no alias, and no bound where we clamp."""
    assert TABLE.schema() == {
        "type": "object",
        "properties": {
            "what": {"type": "string", "description": "What."},
            "where": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Where.",
            },
            "colour": {
                "type": "string",
                "enum": ["red", "blue"],
                "description": "Which.",
                "default": "red",
            },
            "layers": {
                "type": "integer",
                "minimum": 1,
                "maximum": 5,
                "description": "How many.",
                "default": 2,
            },
            "wait": {"type": "integer", "description": "How long.", "default": 15},
            "env": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "With.",
            },
            "dry": {"type": "boolean", "description": "Whether.", "default": False},
            "on": {"type": ["integer", "string"], "description": "On."},
        },
        "required": ["what"],
        "additionalProperties": False,
    }


def test_defaults_fill_what_is_absent_or_null() -> None:
    """An optional field that is absent or null has its default."""
    assert TABLE.parse('{"what": "x", "layers": null, "hue": null}') == {
        "what": "x",
        "where": None,
        "colour": Colour.RED,
        "layers": 2,
        "wait": 15,
        "env": None,
        "dry": False,
        "on": None,
        "hue": None,
    }


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"thing": "y"}, "what", "y"),
        ({"what": "y", "thing": "y"}, "what", "y"),
        ({"what": "y", "thing": None}, "what", "y"),
        ({"what": "", "hue": "pale"}, "hue", "pale"),
        ({"what": "", "where": ["a", ""]}, "where", ("a", "")),
        ({"what": "", "colour": "blue"}, "colour", Colour.BLUE),
        ({"what": "", "layers": 3.0}, "layers", 3),
        ({"what": "", "wait": -1}, "wait", 10),
        ({"what": "", "wait": 10**5000}, "wait", 20),
        ({"what": "", "wait": 1e300}, "wait", 20),
        ({"what": "", "env": {"A B": "", "é": "ü"}}, "env", {"A B": "", "é": "ü"}),
        ({"what": "", "on": "0042"}, "on", 42),
        ({"what": "", "on": 4711}, "on", 4711),
        ({"what": "", "on": "calm-otter"}, "on", "calm-otter"),
    ],
)
def test_accepted(given: dict[str, object], field: str, value: object) -> None:
    """Aliases, whole floats, numeric ids and numbers past a clamp give typed values."""
    found = TABLE.parse(given)[field]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("untrusted", "text"),
    [
        (None, 'paint: missing required field "what"'),
        ({"what": None}, 'paint: missing required field "what"'),
        ({"what": 5}, "paint.what: expected a string, got 5"),
        ({"thing": []}, "paint.thing: expected a string, got an array"),
        ({"what": "a\0b"}, "paint.what: NUL byte at offset 1"),
        ({"what": "é\ud800"}, r"paint.what: lone surrogate \ud800 at offset 1"),
        ({"what": "x" * 8388609}, "paint.what: longer than 8388608 characters"),
        (
            {"what": "a", "thing": "b"},
            'paint: "what" and "thing" name the same field and differ; give one',
        ),
        ({"what": "", "where": "a"}, 'paint.where: expected an array of strings, got "a"'),
        ({"what": "", "where": ["a", 1]}, "paint.where[1]: expected a string, got 1"),
        ({"what": "", "where": ["", "ab\0"]}, "paint.where[1]: NUL byte at offset 2"),
        ({"what": "", "colour": "rde"}, 'paint.colour: expected one of "red", "blue", got "rde"'),
        ({"what": "", "colour": []}, 'paint.colour: expected one of "red", "blue", got an array'),
        ({"what": "", "layers": 0}, "paint.layers: must be between 1 and 5, got 0"),
        (
            {"what": "", "layers": 10**50},
            "paint.layers: must be between 1 and 5, got an integer of 167 bits",
        ),
        ({"what": "", "layers": 1.5}, "paint.layers: expected a whole number, got 1.5"),
        ({"what": "", "layers": "2"}, 'paint.layers: expected a number, got "2"'),
        ({"what": "", "layers": True}, "paint.layers: expected a number, got true"),
        ({"what": "", "layers": float("nan")}, "paint.layers: expected a number, got NaN"),
        ({"what": "", "wait": float("inf")}, "paint.wait: Infinity is out of range"),
        ('{"what": "", "wait": 1e400}', "paint.wait: 1e400 is out of range"),
        ('{"what": "", "wait": NaN}', "paint.wait: expected a number, got NaN"),
        ({"what": "", "dry": 1}, "paint.dry: expected true or false, got 1"),
        ({"what": "", "dry": "true"}, 'paint.dry: expected true or false, got "true"'),
        ({"what": "", "env": []}, "paint.env: expected an object of strings, got an array"),
        ({"what": "", "env": {"PORT": 80}}, "paint.env.PORT: expected a string, got 80"),
        ({"what": "", "env": {"A B": "\0"}}, 'paint.env["A B"]: NUL byte at offset 0'),
        ({"what": "", "env": {"A\0": ""}}, "paint.env: a variable's name: NUL byte at offset 1"),
        (
            {"what": "", "env": {"A=B": ""}},
            'paint.env: "A=B" is not a variable\'s name: empty or with "="',
        ),
        (
            {"what": "", "on": "Otter"},
            "paint.on: expected a session's number or name "
            "(1-32 lower-case letters, digits or '-'), got \"Otter\"",
        ),
        ({"what": "", "on": -1}, "paint.on: must be between 0 and 2147483647, got -1"),
        ({"what": "", "on": False}, "paint.on: expected a number, got false"),
    ],
)
def test_refused(untrusted: object, text: str) -> None:
    """A wrong value is refused with its place, what was expected and what came."""
    assert refusal(untrusted) == text


ALLOWED = "allowed: what, where, colour, layers, wait, env, dry, on"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["foo"], 'paint: unknown field "foo"; '),
        (["waht"], 'paint: unknown field "waht" (did you mean "what"?); '),
        (["Colour"], 'paint: unknown field "Colour" (did you mean "colour"?); '),
        (["thign"], 'paint: unknown field "thign" (did you mean "what"?); '),
        (["foo", "bar"], 'paint: unknown fields "foo", "bar"; '),
        (["\ud800"], r'paint: unknown field "\ud800"; '),
    ],
)
def test_unknown_fields(names: list[str], text: str) -> None:
    """Unknown fields are all listed, with a guess where one is near, and what is allowed."""
    given: dict[str, object] = dict.fromkeys(names, 1)
    assert refusal({"what": 5, **given}) == text + ALLOWED


def test_a_field_name_that_is_no_string() -> None:
    """An object made in Python may have any key, and still gets a refusal."""
    assert refusal({"what": "", 5: ""}) == f"paint: unknown field 5; {ALLOWED}"


def test_very_many_unknown_fields_cost_little() -> None:
    """Of a flood of unknown fields the first twenty are named and guessed at, the rest counted."""
    flood = {f"unknown_{number}": 0 for number in range(100_000)}
    begun = time.process_time()
    text = refusal(flood)
    assert time.process_time() - begun < 2
    assert '"unknown_19" and 99980 more; allowed: what' in text
    assert len(text) < 1000


def test_values_of_two_calls_are_independent() -> None:
    """What one call gave does not become the default of the next."""
    TABLE.parse({"what": "a", "layers": 5})
    assert TABLE.parse({"what": "a"})["layers"] == 2


def test_no_arguments_at_all() -> None:
    """A tool without arguments says so."""
    with pytest.raises(BadRequest, match=r'^idle: unknown field "x"; allowed: none$'):
        Arguments("idle").parse({"x": 1})
