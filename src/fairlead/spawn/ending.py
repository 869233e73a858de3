"""How a command ended, and what is to be done when nobody reports it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from fairlead.model.output import Ending
from fairlead.spawn import tree


def ending_of(status: int, others_alive: bool) -> Ending:
    """From the status that the kernel gave it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Ending(code=128 + number, signal=number, descendants_alive=others_alive)
    return Ending(code=os.WEXITSTATUS(status), descendants_alive=others_alive)


def was_killed(guard: int) -> bool:
    """Whether a signal ended it. Its socket is closed already, so it is all but gone."""
    with suppress(ChildProcessError):
        return os.WIFSIGNALED(os.waitpid(guard, 0)[1])
    return False


def kill_session(leader: int) -> None:
    """With its guard the command dies too. Of its descendants we find who stayed in its session."""
    for pid in tree.in_session(leader):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
