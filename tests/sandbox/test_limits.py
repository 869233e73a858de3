"""Limits of a process, and what a group of processes is limited to instead."""

from __future__ import annotations

import resource

import pytest

from fairlead.model.access import Limits
from fairlead.model.env import Rlimit
from fairlead.sandbox.limits import beside_group, held_together, rlimits

NO_CORE = Rlimit(resource.RLIMIT_CORE, 0, 0)
ROWS = [
    (Limits(cpu_seconds=9), resource.RLIMIT_CPU, 9),
    (Limits(file_bytes=0), resource.RLIMIT_FSIZE, 0),
    (Limits(open_files=64), resource.RLIMIT_NOFILE, 64),
    (Limits(processes=10), resource.RLIMIT_NPROC, 10),
    (Limits(memory=1 << 30), resource.RLIMIT_DATA, 1 << 30),
]


@pytest.mark.parametrize(("limits", "kind", "value"), ROWS)
def test_each_limit_is_one_of_the_process(limits: Limits, kind: int, value: int) -> None:
    """Soft and hard alike, so that nothing inside can raise it; zero is a limit, too."""
    assert rlimits(limits) == (NO_CORE, Rlimit(kind, value, value))


def test_without_limits_there_are_only_no_core_dumps() -> None:
    """They would hold what a command had in memory, in a file that stays."""
    assert rlimits(Limits()) == (NO_CORE,)


@pytest.mark.parametrize(
    ("limits", "together"),
    [
        (Limits(memory=1), True),
        (Limits(processes=1), True),
        (Limits(cpu_seconds=1, file_bytes=1, open_files=1), False),
        (Limits(), False),
    ],
)
def test_what_counts_for_many_processes(limits: Limits, together: bool) -> None:
    """Memory and processes; the others are each process's own."""
    assert held_together(limits) is together


def test_beside_a_group_processes_are_not_counted_twice() -> None:
    """By the process, everything else of the same user on this machine would count. Memory stays
    as a net for each."""
    limits = Limits(memory=5, processes=6, cpu_seconds=7)
    assert beside_group(limits) == Limits(memory=5, cpu_seconds=7)
