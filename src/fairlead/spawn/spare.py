"""A launcher that runs already and waits for its plan.

Starting the launcher is the dearest part of starting a command that is ours to make cheaper. So
an engine that starts commands one after the other keeps one launcher ahead: it is made while a
command runs, and gets the next plan and its descriptors over its socket.
"""

from __future__ import annotations

import os
from contextlib import suppress

from fairlead.spawn.start import Launched, StepsFor, send_plan, start_waiting
from fairlead.spawn.steps import Wiring

WORTH_IT_AFTER = 2  # starts: a program that runs one command needs no spare


class Spare:
    """At most one waiting launcher."""

    def __init__(self, launcher: str) -> None:
        self._launcher = launcher
        self._waiting: Launched | None = None
        self._starts = 0

    def take(self, steps: StepsFor, wiring: Wiring) -> Launched | None:
        """Give the waiting launcher its plan. None if there is none, or it can't have it."""
        waiting = self._waiting
        if waiting is None:
            return None
        try:
            if not send_plan(waiting, steps, wiring):
                return None
        except OSError:  # somebody ended it
            self._waiting = None
            _discard(waiting)
            return None
        self._waiting = None
        return waiting

    def due(self) -> bool:
        """Whether it is time to make one."""
        self._starts += 1
        return self._waiting is None and self._starts >= WORTH_IT_AFTER

    def make(self) -> None:
        """Start one, if there is none. A failure shows when a command is started."""
        if self._waiting is None:
            with suppress(OSError):
                self._waiting = start_waiting(self._launcher)

    def close(self) -> None:
        """End the waiting launcher; it leaves when its socket closes."""
        waiting, self._waiting = self._waiting, None
        self._starts = 0
        if waiting is not None:
            _discard(waiting)


def _discard(waiting: Launched) -> None:
    waiting.control.close()
    with suppress(ChildProcessError):
        os.waitpid(waiting.guard, 0)
