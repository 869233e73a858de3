"""The bytes that all steps are made of."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.model.errors import BadRequest
from fairlead.spawn import wire

texts = some.binary(max_size=30).map(lambda data: data.replace(b"\0", b"\1"))


def joined(parts: wire.Parts) -> bytes:
    return b"".join(parts)


@given(some.integers(0, 2**32 - 1), some.binary(max_size=50))
def test_every_step_fills_whole_words(op, payload):
    """Op, length and payload, then zeros: never one too many."""
    data = joined(wire.raw(op, payload))
    assert struct.unpack_from("<II", data) == (op, len(payload))
    assert data[8 : 8 + len(payload)] == payload
    rest = data[8 + len(payload) :]
    assert len(data) % 4 == 0
    assert len(rest) < 4
    assert not any(rest)


@given(some.lists(texts), some.binary(max_size=12))
def test_strings_come_back(items, fixed):
    """Empty ones too, behind whatever stands before them."""
    data = joined(wire.strings(5, items, "item", fixed))
    (length,) = struct.unpack_from("<I", data, 4)
    assert wire.strings_of(data[8 + len(fixed) : 8 + length]) == tuple(items)


@given(texts)
def test_a_path_comes_back(name):
    """With its end marked."""
    data = joined(wire.path(9, name, "directory"))
    assert wire.path_of(data[8 : 8 + len(name) + 1]) == name


@given(some.integers(0, 2**32 - 1))
def test_a_word_comes_back(word):
    """Little endian, four bytes."""
    data = joined(wire.one_word(3, word))
    assert data == struct.pack("<III", 3, 4, word)
    assert wire.word_of(data[8:]) == word


def test_a_bare_step():
    """Nothing but its op."""
    assert joined(wire.bare(2)) == struct.pack("<II", 2, 0)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([b"a", b"b\0"], "item 1 contains a NUL byte"),
        ([b"NAME=sec\0ret"], "item NAME contains a NUL byte"),
        ([b"\0=x"], "item 0 contains a NUL byte"),
        ([b"", b"\0"], "item 1 contains a NUL byte"),
    ],
)
def test_the_guilty_string_is_named_and_never_its_value(items, said):
    """A variable's value may be a secret."""
    with pytest.raises(BadRequest) as refusal:
        wire.strings(5, items, "item")
    assert str(refusal.value) == said


@pytest.mark.parametrize("payload", [b"x", b"a\0b", b"\0x"])
def test_strings_without_an_end(payload):
    """Cut off somewhere: a `ValueError`."""
    with pytest.raises(ValueError):
        wire.strings_of(payload)


@pytest.mark.parametrize("payload", [b"", b"a\0b\0", b"a"])
def test_a_path_is_one_string(payload):
    """None and two are a `ValueError`."""
    with pytest.raises(ValueError):
        wire.path_of(payload)
