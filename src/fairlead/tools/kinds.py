"""The kinds of value that an argument may have: each a JSON schema and a check of untrusted input.

A check gets the value and where it stood (`tool.field`), and returns the typed value or raises
`BadRequest` with both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from fairlead.model.errors import BadRequest
from fairlead.tools.untrusted_json import MAX_ARGUMENT_BYTES, quoted, shown

Check = Callable[[Any, str], Any]

MAX_SESSION_ID = 2**31 - 1
SLUG = re.compile(r"[a-z0-9-]{1,32}")
DIGITS = re.compile(r"[0-9]{1,10}")
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Kind(NamedTuple):
    """One kind of value."""

    schema: Mapping[str, Any]
    check: Check


def expected(what: str, value: object, where: str) -> BadRequest:
    """The refusal of a value of the wrong kind."""
    return BadRequest(f"{where}: expected {what}, got {shown(value)}")


def _clean(value: object, where: str, what: str = "a string", *, nul: bool = False) -> str:
    if not isinstance(value, str):
        raise expected(what, value, where)
    if not nul and "\0" in value:
        raise BadRequest(f"{where}: NUL byte at offset {value.index(chr(0))}")
    if not value.isascii():
        _refuse_surrogates(value, where)
    if len(value) > MAX_ARGUMENT_BYTES:
        raise BadRequest(f"{where}: longer than {MAX_ARGUMENT_BYTES} characters")
    return value


def _refuse_surrogates(value: str, where: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        code = f"\\u{ord(value[error.start]):04x}"
        raise BadRequest(f"{where}: lone surrogate {code} at offset {error.start}") from None


def _clean_list(value: list[object] | tuple[object, ...], where: str) -> tuple[str, ...]:
    return tuple([_clean(item, f"{where}[{index}]") for index, item in enumerate(value)])


def _filled(text: str, where: str) -> str:
    if not text or text.isspace():
        raise BadRequest(f"{where}: must not be empty")
    return text


def _argv(words: tuple[str, ...], where: str) -> tuple[str, ...]:
    if not words:
        raise BadRequest(f"{where}: must not be empty")
    _filled(words[0], f"{where}[0]")
    return words


def text(*, nul: bool = False, empty_is_absent: bool = False, filled: bool = False) -> Kind:
    """A string. NUL bytes are refused unless asked for: no argument, path or variable holds one."""

    def check(value: object, where: str) -> str | None:
        clean = _clean(value, where, nul=nul)
        if filled:
            return _filled(clean, where)
        return None if empty_is_absent and not clean else clean

    return Kind({"type": "string"}, check)


def texts(*, argv: bool = False) -> Kind:
    """A list of strings; with `argv` one that can be executed."""

    def check(value: object, where: str) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise expected("an array of strings", value, where)
        words = _clean_list(value, where)
        return _argv(words, where) if argv else words

    return Kind({"type": "array", "items": {"type": "string"}}, check)


def command() -> Kind:
    """A command line for a shell, or a list used as argv."""

    def check(value: object, where: str) -> str | tuple[str, ...]:
        if isinstance(value, list | tuple):
            return _argv(_clean_list(value, where), where)
        return _filled(_clean(value, where, "a string or an array of strings"), where)

    strings = {"type": "array", "items": {"type": "string"}}
    return Kind({"anyOf": [{"type": "string"}, strings]}, check)


def flag() -> Kind:
    """True or false, and nothing that merely looks like it."""

    def check(value: object, where: str) -> bool:
        if not isinstance(value, bool):
            raise expected("true or false", value, where)
        return value

    return Kind({"type": "boolean"}, check)


def choice(allowed: Iterable[StrEnum]) -> Kind:
    """One word of an enumeration, or of some of its words."""
    words: dict[str, StrEnum] = {member.value: member for member in allowed}
    listed = ", ".join(f'"{word}"' for word in words)

    def check(value: object, where: str) -> StrEnum:
        if not isinstance(value, str) or value not in words:
            raise expected(f"one of {listed}", value, where)
        return words[value]

    return Kind({"type": "string", "enum": list(words)}, check)


def variables() -> Kind:
    """Environment variables: an object of strings whose keys can be names."""

    def check(value: object, where: str) -> Mapping[str, str]:
        if not isinstance(value, dict):
            raise expected("an object of strings", value, where)
        return {
            _variable(name, where): _clean(content, _member(where, name))
            for name, content in value.items()
        }

    return Kind({"type": "object", "additionalProperties": {"type": "string"}}, check)


def _variable(name: object, where: str) -> str:
    clean = _clean(name, f"{where}: a variable's name")
    if not clean or "=" in clean:
        raise BadRequest(f'{where}: {quoted(clean)} is not a variable\'s name: empty or with "="')
    return clean


def _member(where: str, name: object) -> str:
    if isinstance(name, str) and PLAIN_NAME.fullmatch(name):
        return f"{where}.{name}"
    return f"{where}[{shown(name)}]"


def whole_number(value: object, where: str) -> int:
    """An integer, also when it was written as 5.0. Never a bool."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise expected("a number", value, where)
    if value in (math.inf, -math.inf):
        raise BadRequest(f"{where}: {shown(value)} is out of range")
    if value != value:
        raise expected("a number", value, where)
    if value != int(value):
        raise expected("a whole number", value, where)
    return int(value)


def integer(minimum: int, maximum: int, *, clamp: bool = False) -> Kind:
    """A whole number within bounds. Beyond them it is moved to the bound, or refused."""

    def clamped(value: object, where: str) -> int:
        number = value if type(value) is int else whole_number(value, where)
        return minimum if number < minimum else min(number, maximum)

    def bounded(value: object, where: str) -> int:
        number = value if type(value) is int else whole_number(value, where)
        if not minimum <= number <= maximum:
            allowed = f"must be between {minimum} and {maximum}"
            raise BadRequest(f"{where}: {allowed}, got {shown(value)}")
        return number

    # A bound in the schema would make a validating client refuse what we take and clamp.
    if clamp:
        return Kind({"type": "integer"}, clamped)
    return Kind({"type": "integer", "minimum": minimum, "maximum": maximum}, bounded)


_session_number = integer(0, MAX_SESSION_ID)


def session_number() -> Kind:
    """A session's number, also as a string of digits."""

    def check(value: object, where: str) -> int:
        spelled = isinstance(value, str) and DIGITS.fullmatch(value)
        number: int = _session_number.check(int(spelled[0]) if spelled else value, where)
        return number

    return Kind({"type": "integer"}, check)


def session_ref() -> Kind:
    """A session's number (also as digits) or its slug."""

    def check(value: object, where: str) -> int | str:
        if isinstance(value, str) and not DIGITS.fullmatch(value):
            if SLUG.fullmatch(value):
                return value
            slug = "a session's number or name (1-32 lower-case letters, digits or '-')"
            raise expected(slug, value, where)
        number: int = _session_number.check(int(value) if isinstance(value, str) else value, where)
        return number

    return Kind({"type": ["integer", "string"]}, check)


def matching(pattern: str, what: str) -> Kind:
    """A string that fits a pattern from end to end."""
    fits = re.compile(pattern).fullmatch

    def check(value: object, where: str) -> str:
        if not isinstance(value, str) or not fits(value):
            raise expected(what, value, where)
        return value

    return Kind({"type": "string", "pattern": f"^{pattern}$"}, check)
