"""Untrusted arguments to a plain object: JSON text is read strictly, an object is taken as it is.

Strict means: one object at the top, no key twice, no more than 8 MiB. Numbers that JSON or a
double can't hold (NaN, 1e400) pass as floats, so that the field that got one is named.
"""

from __future__ import annotations

import math
from json import JSONDecodeError, JSONDecoder
from typing import Any, cast

from fairlead.model.errors import BadRequest

MAX_ARGUMENT_BYTES = 8 * 1024 * 1024
WIDEST_CHARACTER = 4  # bytes of UTF-8
SHOWN_CHARACTERS = 60
SHOWN_BITS = 128


class OutOfRange(float):
    """A number too large for a double, with the text that was written."""

    text: str


class _DuplicateKey(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKey(_repeated(pairs))
    return found


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    from collections import Counter

    return Counter(key for key, _ in pairs).most_common(1)[0][0]


def _float(text: str) -> float:
    value = float(text)
    if math.isfinite(value):
        return value
    beyond = OutOfRange(value)
    beyond.text = text
    return beyond


_decode = JSONDecoder(object_pairs_hook=_unique, parse_float=_float).decode


def untrusted_object(tool: str, untrusted: object) -> dict[object, object]:
    """The object that `untrusted` is or spells. Nothing at all is the empty object."""
    value = _decoded(tool, untrusted) if isinstance(untrusted, str) else untrusted
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadRequest(f"{tool}: arguments must be a JSON object, got {shown(value)}")
    return cast("dict[object, object]", value)


def _decoded(tool: str, text: str) -> object:
    if _too_long(text):
        raise BadRequest(f"{tool}: arguments are longer than {MAX_ARGUMENT_BYTES} bytes")
    if not text.strip():
        return None
    try:
        return decoded(text)
    except ValueError as error:
        raise BadRequest(f"{tool}: arguments are not valid JSON: {error}") from None


def decoded(text: str) -> object:
    """The value of a JSON text. Raises `ValueError` with the reason why there is none."""
    try:
        return _decode(text)
    except JSONDecodeError as error:
        why = f"line {error.lineno} column {error.colno}: {error.msg}"
    except _DuplicateKey as error:
        why = f"the key {quoted(error.args[0])} is given twice in one object"
    except RecursionError:
        why = "nested too deeply"
    except ValueError:
        # The one thing left that the decoder refuses: more digits than int() takes from text.
        why = "an integer has too many digits"
    raise ValueError(why)


def _too_long(text: str) -> bool:
    if len(text) * WIDEST_CHARACTER <= MAX_ARGUMENT_BYTES:
        return False
    return len(text.encode("utf-8", "surrogatepass")) > MAX_ARGUMENT_BYTES


def quoted(text: str) -> str:
    """Text in quotes that can't deceive or break its surroundings, cut when long."""
    from json import dumps

    cut = text[:SHOWN_CHARACTERS]
    # What does not print (control, bidi, zero-width, surrogates) is shown as an escape.
    body = dumps(cut, ensure_ascii=not cut.isprintable())
    return body if cut == text else f'{body[:-1]}…" ({len(text)} characters)'


def shown(value: object) -> str:
    """An untrusted value in a few words, whatever it is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):
        return _shown_integer(value)
    if isinstance(value, float):
        return _shown_float(value)
    if isinstance(value, dict):
        return "an object"
    return "an array" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


def _shown_integer(value: int) -> str:
    if value.bit_length() <= SHOWN_BITS:
        return str(int(value))
    # Writing it out is slow, and from some size on refused by Python.
    return f"an integer of {value.bit_length()} bits"


def _shown_float(value: float) -> str:
    if isinstance(value, OutOfRange):
        return value.text if len(value.text) <= SHOWN_CHARACTERS else "a number"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value))
