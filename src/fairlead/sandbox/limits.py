"""What a command may use up, as limits of the process. What counts for many processes together
(memory, processes) is held by a cgroup where there is one; these are the net below."""

from __future__ import annotations

import resource

from fairlead.model.access import Limits
from fairlead.model.env import Rlimit
from fairlead.model.frozen import replace


def rlimits(limits: Limits) -> tuple[Rlimit, ...]:
    """Each limit that is set, soft and hard alike: nothing inside can raise it."""
    wanted = (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_DATA, limits.memory),
    )
    return (
        Rlimit(resource.RLIMIT_CORE, 0, 0),
        *(Rlimit(kind, value, value) for kind, value in wanted if value is not None),
    )


def held_together(limits: Limits) -> bool:
    """Whether something is to be limited for many processes together."""
    return limits.memory is not None or limits.processes is not None


def beside_group(limits: Limits) -> Limits:
    """What is left to limit for each process where a group counts them. By the process, all others
    of the same user would count as well."""
    return replace(limits, processes=None)
