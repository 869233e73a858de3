"""Ending what one command in a live shell started, and nothing that was there before."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from fairlead.live.family import Family
from fairlead.session.endings import GRACE

_ROUND = 0.1  # seconds; the kernel has no event for "all of these are gone"
_INSIST_FOR = 1.0  # seconds; who is alive then can't be ended by us

Over = Callable[[float], Awaitable[bool]]


@dataclass(slots=True, kw_only=True)
class Stop:
    """The end of one command, as far as it has come."""

    family: Family
    before: frozenset[int]  # who was there when the command began
    since: int
    interrupt: int  # the signal that makes the shell give up what it does
    _asked: set[int] = field(default_factory=set)

    async def carry_out(self, over: Over) -> tuple[int, ...]:
        """Ask, insist. Returns when the shell is done (`over(seconds)` waits for that) and all that
        the command started is gone, or with those who stayed.

        The shell is interrupted before its children are asked to end: else it would go on with
        the next command of the script. It may be between two of them, so it is told again.
        """
        insist_at = time.monotonic() + GRACE
        give_up_at = insist_at + _INSIST_FOR
        back = False
        while time.monotonic() < give_up_at:
            if not back:
                _send(self.family.shell, self.interrupt)
            left = self._newcomers()
            self._tell(left, insist=time.monotonic() >= insist_at)
            if back and not left:
                return ()
            began = time.monotonic()
            back = back or await over(_ROUND)
            if left:
                await self._gone_or(began + _ROUND)
        return tuple(self._newcomers())

    def _newcomers(self) -> list[int]:
        return self.family.newcomers(self.before, self.since)

    def _tell(self, pids: list[int], *, insist: bool) -> None:
        for pid in pids:
            if insist:
                _send(pid, signal.SIGKILL)
            elif pid not in self._asked:  # a second SIGTERM means something else to some
                self._asked.add(pid)
                _send(pid, signal.SIGTERM)
                _send(pid, signal.SIGCONT)  # one that is stopped acts on nothing else

    async def _gone_or(self, deadline: float) -> None:
        while time.monotonic() < deadline and self._newcomers():
            await asyncio.sleep(0.01)


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
