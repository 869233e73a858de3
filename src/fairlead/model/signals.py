"""Signals by name, real-time ones too, which Python gives no names."""

from __future__ import annotations

from signal import Signals


def signal_name(number: int) -> str:
    """SIGKILL for 9; real-time signals count from SIGRTMIN."""
    try:
        return Signals(number).name
    except ValueError:
        first = getattr(Signals, "SIGRTMIN", None)
        return f"SIGRTMIN+{number - first}" if first and number > first else f"signal {number}"
