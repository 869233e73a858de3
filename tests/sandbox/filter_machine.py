"""A machine for classic BPF, written from the kernel's description of it and from nothing of ours.

It refuses what the kernel refuses: a program too long or empty, an instruction that it does not
know, a jump out of the program, an end without an answer.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

KILL, ERRNO, NOTIFY, ALLOW = 0x8000_0000, 0x0005_0000, 0x7FC0_0000, 0x7FFF_0000
_ACTION = 0xFFFF_0000
_MOST = 4096
_DATA = struct.Struct("<iIQ6Q")  # struct seccomp_data

_LOAD_WORD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMPS = {
    0x15: lambda accumulator, value: accumulator == value,
    0x25: lambda accumulator, value: accumulator > value,
    0x35: lambda accumulator, value: accumulator >= value,
    0x45: lambda accumulator, value: bool(accumulator & value),
}


def run(program: bytes, data: bytes) -> int:
    """The program's answer to some data."""
    lines = list(struct.iter_unpack("<HBBI", program))
    assert 0 < len(lines) <= _MOST, f"the kernel takes no program of {len(lines)} instructions"
    _check(lines)
    accumulator, at = 0, 0
    while True:
        code, yes, no, value = lines[at]
        at += 1
        if code == _RETURN:
            return int(value)
        if code == _LOAD_WORD:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == _AND:
            accumulator &= value
        else:
            at += yes if _JUMPS[code](accumulator, value) else no


def _check(lines: Sequence[tuple[int, ...]]) -> None:
    for at, (code, yes, no, value) in enumerate(lines):
        assert code in (_LOAD_WORD, _AND, _RETURN, *_JUMPS), f"line {at}: no such instruction"
        if code in _JUMPS:
            assert at + 1 + max(yes, no) < len(lines), f"line {at} jumps out of the program"
        if code == _LOAD_WORD:
            assert value % 4 == 0
            assert value < _DATA.size
    assert lines[-1][0] == _RETURN, "the program ends without an answer"


def answer(
    program: bytes, architecture: int, number: int, arguments: Sequence[int] = ()
) -> tuple[int, int]:
    """What the filter says to a system call: the action, and the errno that comes with it."""
    six = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    number = number - (1 << 32) if number >= 1 << 31 else number  # it is signed there
    result = run(program, _DATA.pack(number, architecture, 0, *six))
    return result & _ACTION, result & ~_ACTION & 0xFFFF_FFFF
