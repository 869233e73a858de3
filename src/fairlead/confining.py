"""From options to what keeps commands confined. Shared by the engine and by `fairlead run`."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from fairlead.config.options import Options
from fairlead.config.paths import home, state_directory
from fairlead.model.access import Denial, SandboxPolicy
from fairlead.model.container import ContainerHost
from fairlead.model.sandbox import Host
from fairlead.sandbox import seccomp
from fairlead.sandbox.confiner import Confiner
from fairlead.sandbox.host import Machine, assumed
from fairlead.sandbox.survey import Guarded, Surroundings
from fairlead.spawn import installed, launcher


def confiner_for(options: Options, *, answers: bool = True) -> Confiner:
    """What plans of these options are made with. Without `answers` the filter asks nobody: what it
    denies is an errno to the command, and no news to us."""
    state = str(state_directory())
    if options.sandbox_policy is SandboxPolicy.WORKSPACE_WRITE:
        # Made before anything looks: were it missing in a writable home, a command could make it.
        with suppress(OSError):
            os.makedirs(state, 0o700, exist_ok=True)
    around = Surroundings(home=home(), environment=os.environ, own=(state,))
    return Confiner(
        options.sandbox_settings,
        around,
        machine(),
        _guarded,
        state,
        answers=answers,
        find_containers=_containers(options),
    )


@cache
def machine() -> Machine:
    """This machine, as far as it is known. One for the process: it does not change."""
    if launcher.find() is not None:
        return Machine(assumed(launcher=True), _probe)
    return Machine(assumed(launcher=False, bubblewrap=installed.bubblewrap()), _probe)


def call_denied(
    number: int, arguments: tuple[int, ...], architecture: int
) -> tuple[int, Denial | None]:
    """The answer to a system call that the filter asks about, and what a person is told of it."""
    name, errno, what = seccomp.denial_of(number, arguments, architecture)
    return errno, Denial(what=what, syscall=name, by="seccomp")


def _probe(host: Host) -> Host:
    from fairlead.spawn.probe import probe

    return probe(host)


def _containers(options: Options) -> Callable[[], ContainerHost] | None:
    settings = options.container_settings
    if settings is None:
        return None

    def find() -> ContainerHost:
        from fairlead.spawn.container_host import find

        return find(settings)

    return find


def _guarded(root: str, git_commit: bool) -> Guarded:
    from fairlead.protect.gitdirs import protected

    found = protected(root, git_commit=git_commit)
    return Guarded(
        read_only=found.read_only,
        absent=found.absent,
        links=found.links,
        pinned=found.writable_mountpoints,
        repositories=found.repositories,
    )
