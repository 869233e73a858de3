"""The bytes of a step: op, payload length, payload, zeros up to a multiple of four. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from fairlead.model.errors import BadRequest

HEAD = Struct("<II")  # of a step: its op, and the length of its payload
WORD = Struct("<I")
PADDING = (b"", b"\0\0\0", b"\0\0", b"\0")

Parts = tuple[bytes, ...]


def bare(op: int) -> Parts:
    """A step without a payload."""
    return (HEAD.pack(op, 0),)


def one_word(op: int, word: int) -> Parts:
    return HEAD.pack(op, WORD.size), WORD.pack(word)


def strings(op: int, items: Sequence[bytes], what: str, fixed: bytes = b"") -> Parts:
    """Strings behind a part of fixed size. `what` says what they are, should one be impossible."""
    payload = b"\0".join(items) + b"\0" if items else b""
    if payload.count(0) != len(items):
        guilty = next(number for number, item in enumerate(items) if 0 in item)
        raise BadRequest(f"{what} {_described(items[guilty], guilty)} contains a NUL byte")
    return raw(op, fixed + payload)


def path(op: int, name: bytes, what: str, fixed: bytes = b"") -> Parts:
    if 0 in name:
        raise BadRequest(f"{what}: {name!r} contains a NUL byte")
    return raw(op, fixed + name + b"\0")


def raw(op: int, payload: bytes) -> Parts:
    size = len(payload)
    return HEAD.pack(op, size), payload, PADDING[size % 4]


def word_of(payload: bytes) -> int:
    number: int = WORD.unpack(payload)[0]
    return number


def strings_of(payload: bytes) -> tuple[bytes, ...]:
    *items, end = payload.split(b"\0")
    if end:
        raise ValueError("unterminated")
    return tuple(items)


def path_of(payload: bytes) -> bytes:
    (name,) = strings_of(payload)
    return name


def _described(item: bytes, number: int) -> str:
    """An environment variable by its name, for its value may be a secret; the rest by number."""
    name, equals, _ = item.partition(b"=")
    return name.decode(errors="replace") if equals and 0 not in name else str(number)
