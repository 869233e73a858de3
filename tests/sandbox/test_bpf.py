"""The assembler: each instruction's bytes, jumps by label, and programs that do as they say."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.model.errors import Bug
from fairlead.sandbox import bpf
from tests.sandbox import filter_machine

words = some.integers(0, 2**32 - 1)


def lines(program: bpf.Program) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack("<HBBI", program.assembled()))


def test_each_instruction_is_a_sock_filter() -> None:
    """Code, two distances, and a value: eight bytes, little endian."""
    program = bpf.Program()
    program.load(4)
    program.mask(0xF)
    program.jump_if(bpf.EQUAL, 7, "end")
    program.give_back(1)
    program.label("end")
    program.give_back(2)
    assert lines(program) == [
        (0x20, 0, 0, 4),
        (0x54, 0, 0, 0xF),
        (0x15, 1, 0, 7),
        (0x06, 0, 0, 1),
        (0x06, 0, 0, 2),
    ]


COMPARISONS = [
    (bpf.EQUAL, lambda a, b: a == b),
    (bpf.GREATER, lambda a, b: a > b),
    (bpf.AT_LEAST, lambda a, b: a >= b),
]


@pytest.mark.parametrize(("comparison", "meaning"), COMPARISONS, ids=["==", ">", ">="])
@given(found=words, value=words | some.just(2**31))
def test_a_jump_compares_without_sign(comparison: int, meaning: object, found: int, value: int):
    """It is taken exactly if the word compares so; numbers above 2**31 are large, not negative."""
    for one in (found, value, max(value - 1, 0)):
        program = bpf.Program()
        program.load(0)
        program.jump_if(comparison, value, "yes")
        program.give_back(0)
        program.label("yes")
        program.give_back(1)
        answer = filter_machine.run(program.assembled(), struct.pack("<I", one) + bytes(60))
        assert answer == int(meaning(one, value))  # type: ignore[operator]


@given(word=words, bits=words)
def test_a_mask_keeps_these_bits(word: int, bits: int) -> None:
    """And no other."""
    program = bpf.Program()
    program.load(8)
    program.mask(bits)
    program.jump_if(bpf.EQUAL, word & bits, "right")
    program.give_back(0)
    program.label("right")
    program.give_back(1)
    data = bytes(8) + struct.pack("<I", word) + bytes(52)
    assert filter_machine.run(program.assembled(), data) == 1


def padded(count: int) -> bpf.Program:
    """A jump over so many instructions."""
    program = bpf.Program()
    program.jump_if(bpf.EQUAL, 0, "far")
    for _ in range(count):
        program.give_back(0)
    program.label("far")
    program.give_back(1)
    return program


def test_a_jump_reaches_255_instructions() -> None:
    """A conditional jump's distance is a byte. One more is our own mistake, never a wrong jump."""
    assert filter_machine.run(padded(255).assembled(), bytes(64)) == 1
    with pytest.raises(Bug, match="far is 256 lines away; a jump reaches 255"):
        padded(256).assembled()


def test_a_jump_never_leads_back() -> None:
    """The kernel takes no loops, and we write none."""
    program = bpf.Program()
    program.label("start")
    program.load(0)
    program.jump_if(bpf.EQUAL, 0, "start")
    with pytest.raises(Bug, match="start is -2 lines away"):
        program.assembled()


def test_a_label_stands_for_one_line() -> None:
    """The same name for the same line is no mistake; for another line it is."""
    program = bpf.Program()
    program.label("here")
    program.label("here")
    program.load(0)
    with pytest.raises(Bug, match="two lines are called here"):
        program.label("here")


def test_fresh_labels_differ() -> None:
    """However many are asked for."""
    program = bpf.Program()
    assert len({program.fresh_label() for _ in range(100)}) == 100


def test_an_unknown_label_is_a_mistake_of_ours() -> None:
    """It is named."""
    program = bpf.Program()
    program.jump_if(bpf.EQUAL, 0, "nowhere")
    with pytest.raises(Bug, match="nowhere"):
        program.assembled()
