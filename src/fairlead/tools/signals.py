"""Signals by name, as people write them."""

from __future__ import annotations

from signal import Signals, valid_signals

from fairlead.tools.kinds import DIGITS, Kind, expected, whole_number


def signal_number() -> Kind:
    """A signal that can be sent, by number or by name with or without SIG."""

    def check(value: object, where: str) -> int:
        number = _number(value, where)
        if number not in valid_signals():
            raise expected("the name or number of a signal, as in TERM or 15", value, where)
        return number

    return Kind({"type": ["string", "integer"]}, check)


def _number(value: object, where: str) -> int:
    if not isinstance(value, str):
        return whole_number(value, where)
    if DIGITS.fullmatch(value):
        return int(value)
    name = value.upper()
    found = Signals.__members__.get(name if name.startswith("SIG") else f"SIG{name}")
    return 0 if found is None else int(found)
