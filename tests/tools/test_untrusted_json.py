"""Untrusted arguments become an object, or a refusal that says where and why."""

from __future__ import annotations

import pytest

from fairlead.model.errors import BadRequest
from fairlead.tools.untrusted_json import MAX_ARGUMENT_BYTES, quoted, shown, untrusted_object


@pytest.mark.parametrize("untrusted", [None, "", " \n", "{}", {}, "null"])
def test_nothing_is_the_empty_object(untrusted: object) -> None:
    """A call without arguments is a call with none of them."""
    assert untrusted_object("t", untrusted) == {}


@pytest.mark.parametrize(
    ("untrusted", "text"),
    [
        ("[]", "t: arguments must be a JSON object, got an array"),
        (["a"], "t: arguments must be a JSON object, got an array"),
        ("5", "t: arguments must be a JSON object, got 5"),
        ('"x"', 't: arguments must be a JSON object, got "x"'),
        (b"{}", "t: arguments must be a JSON object, got a bytes"),
        ("true", "t: arguments must be a JSON object, got true"),
        ("NaN", "t: arguments must be a JSON object, got NaN"),
        ('{"a": 1, "b": 2, "a": 1}', 'the key "a" is given twice in one object'),
        ('{"e": {"X": "", "X": ""}}', 'the key "X" is given twice in one object'),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "an integer has too many digits"),
    ],
)
def test_refused(untrusted: object, text: str) -> None:
    """What is not one plain object is refused with the reason."""
    with pytest.raises(BadRequest) as caught:
        untrusted_object("t", untrusted)
    problem = "t: arguments are not valid JSON: "
    assert str(caught.value) in (text, problem + text)


def test_a_syntax_error_says_where() -> None:
    """Broken JSON is refused with line and column."""
    with pytest.raises(BadRequest, match="t: arguments are not valid JSON: line 2 column 6: "):
        untrusted_object("t", '{"a": 1,\n "b" 2}')


def test_the_bound_is_in_bytes() -> None:
    """8 MiB of UTF-8 pass and one byte more is refused, also where characters are wider."""
    frame = '{"a": ""}'
    fits = "é" * ((MAX_ARGUMENT_BYTES - len(frame)) // 2)
    assert untrusted_object("t", f'{{"a": "{fits}"}}') == {"a": fits}
    with pytest.raises(BadRequest, match="t: arguments are longer than 8388608 bytes"):
        untrusted_object("t", f'{{"a": "{fits}é"}}')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("größe", '"größe"'),
        ('a"b', r'"a\"b"'),
        ("\x1b[2J", r'"\u001b[2J"'),
        ("a\u202eb", r'"a\u202eb"'),
        ("\ud800", r'"\ud800"'),
        ("x" * 100, '"' + "x" * 60 + '…" (100 characters)'),
    ],
)
def test_quoted(text: str, expected: str) -> None:
    """Quoted text shows what does not print as an escape, and is cut when long."""
    assert quoted(text) == expected


def test_any_value_can_be_shown() -> None:
    """An integer that Python will not write out, and one beyond a double, are still shown."""
    assert shown(10**5000) == "an integer of 16610 bits"
    assert shown(untrusted_object("t", '{"n": -1e400}')["n"]) == "-1e400"
    assert shown(float("-inf")) == "-Infinity"
