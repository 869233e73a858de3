"""From an `ExecEnv` to the launcher's steps. Pure: descriptors are numbers, nothing is opened."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from functools import lru_cache

from fairlead.model.confine import CheckedDirectory, Identify
from fairlead.model.env import ExecEnv
from fairlead.model.frozen import dataclass
from fairlead.spawn import plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """The descriptors that a command is born with, as its parent holds them. The directory is a
    descriptor too, unless the command sees other mounts than we: ours would lead out of them."""

    stdin: int
    stdout: int
    stderr: int
    directory: int | CheckedDirectory
    attached: tuple[tuple[int, int], ...] = ()  # (ours, the command's)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        return ((self.stdin, 0), (self.stdout, 1), (self.stderr, 2), *self.attached)

    @property
    def fds(self) -> set[int]:
        """All of them."""
        named = {fd for fd, _ in self.pairs}
        return named | {self.directory} if isinstance(self.directory, int) else named

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
            directory=place(self.directory) if isinstance(self.directory, int) else self.directory,
            attached=tuple((place(ours), number) for ours, number in self.attached),
        )
        return wiring, fds


def session_steps(
    env: ExecEnv, wiring: Wiring, *, inside: bool = False, own_group: bool = True
) -> Sequence[plan.Step]:
    """For a command that we own: its own guard, session and process group, dead when we die.
    `inside`: for a launcher that already stands in the command's confinement. Without `own_group`
    for one that leads a session, as a container's first process does: it has a group already."""
    tty = (plan.ControllingTty(0),) if env.tty else ()
    return [
        *(() if inside else _setup(env)),
        # Not a session: the kernel makes a scheduling group for each, a tenth of the start's cost.
        plan.Guard(own_session=False, own_group=own_group),
        plan.Session(),
        plan.ParentDeathSignal(signal.SIGKILL),
        plan.Descriptors(wiring.pairs),
        *tty,
        *_command_steps(env, wiring, inside=inside),
    ]


def steps_inside(env: ExecEnv, wiring: Wiring) -> Sequence[plan.Step]:
    """The same for a guard of a zygote."""
    return session_steps(env, wiring, inside=True)


def foreground_steps(env: ExecEnv, wiring: Wiring) -> Sequence[plan.Step]:
    """For a command in the caller's own terminal: it stays in the caller's session and group."""
    return [
        *_setup(env),
        plan.Guard(own_session=False),
        plan.ParentDeathSignal(signal.SIGKILL),
        plan.Descriptors(wiring.pairs),
        *_command_steps(env, wiring),
    ]


def _setup(env: ExecEnv) -> Sequence[plan.Step]:
    return env.confinement.setup if env.confinement is not None else ()


def _command_steps(env: ExecEnv, wiring: Wiring, *, inside: bool = False) -> list[plan.Step]:
    directory = wiring.directory
    return [
        *(plan.Limit(one.resource, one.soft, one.hard) for one in env.limits),
        *(() if inside else (plan.ResetSignals(),)),  # a launcher that serves has done that
        plan.WorkingDirectoryFd(directory) if isinstance(directory, int) else directory,
        *_confined(env),
        plan.Argv(tuple(map(os.fsencode, env.argv))),
        plan.Environment(_encoded(tuple(env.env.items()))),
        plan.Exec(os.fsencode(env.executable or env.argv[0])),
    ]


def _confined(env: ExecEnv) -> Sequence[plan.Step]:
    """What each command does for itself; and it says which process it is, as it can't know."""
    if env.confinement is None:
        return ()
    return (*env.confinement.each, Identify())


@lru_cache(maxsize=64)
def _encoded(variables: tuple[tuple[str, str], ...]) -> tuple[bytes, ...]:
    """Most commands of an engine get the same environment."""
    return tuple(os.fsencode(name) + b"=" + os.fsencode(value) for name, value in variables)
