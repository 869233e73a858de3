"""A small assembler for classic BPF: instructions with labels in, bytes out."""

from __future__ import annotations

from struct import Struct

from fairlead.model.errors import Bug
from fairlead.model.frozen import dataclass

EQUAL, GREATER, AT_LEAST = 0x15, 0x25, 0x35  # jump if the accumulator is so
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_FARTHEST = 255  # a conditional jump's reach
_INSTRUCTION = Struct("<HBBI")  # struct sock_filter


@dataclass(frozen=True, slots=True)
class _Line:
    code: int
    value: int
    target: str = ""


class Program:
    """Written from top to bottom; jumps only lead forward, as the kernel demands."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._labels: dict[str, int] = {}
        self._fresh = 0

    def load(self, offset: int) -> None:
        """A word of the data into the accumulator."""
        self._lines.append(_Line(_LOAD, offset))

    def mask(self, bits: int) -> None:
        """Keep these bits of the accumulator."""
        self._lines.append(_Line(_AND, bits))

    def jump_if(self, comparison: int, value: int, label: str) -> None:
        """Go on at `label` if the accumulator compares so, else with the next line."""
        self._lines.append(_Line(comparison, value, label))

    def give_back(self, value: int) -> None:
        """End with this value."""
        self._lines.append(_Line(_RETURN, value))

    def label(self, name: str) -> None:
        """The next line is called so."""
        if self._labels.setdefault(name, len(self._lines)) != len(self._lines):
            raise Bug(f"two lines are called {name}")

    def fresh_label(self) -> str:
        self._fresh += 1
        return f"line {self._fresh}"

    def assembled(self) -> bytes:
        return b"".join(self._encoded(at, line) for at, line in enumerate(self._lines))

    def _encoded(self, at: int, line: _Line) -> bytes:
        if line.target and line.target not in self._labels:
            raise Bug(f"no line is called {line.target}")
        distance = self._labels[line.target] - at - 1 if line.target else 0
        if not 0 <= distance <= _FARTHEST:
            raise Bug(f"{line.target} is {distance} lines away; a jump reaches {_FARTHEST}")
        return _INSTRUCTION.pack(line.code, distance, 0, line.value)
