"""From an `ExecEnv` to the launcher's steps. Pure: descriptors are numbers, nothing is opened."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from functools import lru_cache

from fairlead.model.env import ExecEnv
from fairlead.model.frozen import dataclass
from fairlead.spawn import plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """The descriptors that a command is born with, as its parent holds them."""

    stdin: int
    stdout: int
    stderr: int
    directory: int
    attached: tuple[tuple[int, int], ...] = ()  # (ours, the command's)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        return ((self.stdin, 0), (self.stdout, 1), (self.stderr, 2), *self.attached)

    def sent(self) -> tuple[Wiring, list[int]]:
        """The same for a launcher that gets the descriptors with its plan, and the list of them."""
        fds: list[int] = []

        def place(fd: int) -> int:
            if fd not in fds:
                fds.append(fd)
            return plan.PASSED | fds.index(fd)

        wiring = Wiring(
            stdin=place(self.stdin),
            stdout=place(self.stdout),
            stderr=place(self.stderr),
            directory=place(self.directory),
            attached=tuple((place(ours), number) for ours, number in self.attached),
        )
        return wiring, fds


def session_steps(env: ExecEnv, wiring: Wiring) -> Sequence[plan.Step]:
    """For a command that we own: its own guard, session and process group, dead when we die."""
    head: list[plan.Step] = [
        # Not a session: the kernel makes a scheduling group for each, a tenth of the start's cost.
        plan.Guard(own_session=False, own_group=True),
        plan.Session(),
        plan.ParentDeathSignal(signal.SIGKILL),
        plan.Descriptors(wiring.pairs),
    ]
    if env.tty:
        head.append(plan.ControllingTty(0))
    return [*head, *_command_steps(env, wiring)]


def foreground_steps(env: ExecEnv, wiring: Wiring) -> Sequence[plan.Step]:
    """For a command in the caller's own terminal: it stays in the caller's session and group."""
    return [
        plan.Guard(own_session=False),
        plan.ParentDeathSignal(signal.SIGKILL),
        plan.Descriptors(wiring.pairs),
        *_command_steps(env, wiring),
    ]


def _command_steps(env: ExecEnv, wiring: Wiring) -> list[plan.Step]:
    return [
        *(plan.Limit(one.resource, one.soft, one.hard) for one in env.limits),
        plan.ResetSignals(),
        plan.WorkingDirectoryFd(wiring.directory),
        plan.Argv(tuple(map(os.fsencode, env.argv))),
        plan.Environment(_encoded(tuple(env.env.items()))),
        plan.Exec(os.fsencode(env.executable or env.argv[0])),
    ]


@lru_cache(maxsize=64)
def _encoded(variables: tuple[tuple[str, str], ...]) -> tuple[bytes, ...]:
    """Most commands of an engine get the same environment."""
    return tuple(os.fsencode(name) + b"=" + os.fsencode(value) for name, value in variables)
