"""Who ended a command and how, in words and for the record."""

from __future__ import annotations

import signal
import time

from fairlead.model.frozen import dataclass
from fairlead.model.output import Ending

GRACE = 2.0  # seconds between asking and insisting

_ASKS_TO_END = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signalled:
    """Somebody sent a signal. Whether it ended the command shows when that ends."""

    by: str
    signum: int
    at: float  # by the monotonic clock

    def responsible_for(self, ending: Ending) -> str | None:
        """Who and with what, if the command died of it or ended soon after being asked to."""
        died = self.signum in (ending.signal, ending.code - 128)
        obeyed = self.signum in _ASKS_TO_END and time.monotonic() - self.at < GRACE
        return f"{self.by} ({signal_name(self.signum)})" if died or obeyed else None


def signal_name(number: int) -> str:
    """SIGKILL for 9; real-time signals count from SIGRTMIN."""
    try:
        return signal.Signals(number).name
    except ValueError:
        first = getattr(signal.Signals, "SIGRTMIN", None)
        return f"SIGRTMIN+{number - first}" if first and number > first else f"signal {number}"


def describe(ending: Ending) -> str:
    """An ending in words: how, and by whom."""
    how = f"exit code {ending.code}"
    if ending.signal is not None:
        how = f"signal {signal_name(ending.signal)}"
    if ending.timed_out:
        how = f"timed out, exit code {ending.code}"
    return f"{how}, ended by {ending.killed_by}" if ending.killed_by else how
