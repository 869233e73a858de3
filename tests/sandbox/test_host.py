"""What a machine is taken for, and that a failed plan makes us look closely, once."""

from __future__ import annotations

import os

import pytest

from fairlead.model.errors import SandboxFailed
from fairlead.model.frozen import replace
from fairlead.model.sandbox import Host
from fairlead.sandbox.host import Machine, assumed, landlock_abi, version

FAILED = SandboxFailed("no", step="mounts", errno=1)

RELEASES = [
    # release, version, Landlock ABI
    ("4.19.0-27-amd64", (4, 19), 0),
    ("5.12.19", (5, 12), 0),
    ("5.13.0", (5, 13), 1),
    ("5.18.1", (5, 18), 1),
    ("5.19", (5, 19), 2),
    ("6.1.0-28-amd64", (6, 1), 2),
    ("6.2.0", (6, 2), 3),
    ("6.6.87.2-microsoft-standard-WSL2", (6, 6), 3),
    ("6.7.0-rc1", (6, 7), 4),
    ("6.8.0-51-generic", (6, 8), 4),
    ("6.10.3", (6, 10), 5),
    ("6.11.0", (6, 11), 5),
    ("6.12.0", (6, 12), 6),
    ("6.15.0", (6, 15), 7),
    ("7.0.1", (7, 0), 7),
    ("10.2", (10, 2), 7),
    ("strange", (0, 0), 0),
    ("", (0, 0), 0),
]


@pytest.mark.parametrize(("release", "numbers", "abi"), RELEASES)
def test_a_kernel_s_version(release: str, numbers: tuple[int, int], abi: int) -> None:
    """Read as numbers, and what Landlock it can have at most."""
    assert version(release) == numbers
    assert landlock_abi(release) == abi


def test_this_machine_is_taken_for_a_usual_one() -> None:
    """Whoever we are is known; the rest is taken for granted until a plan fails."""
    host = assumed(launcher=True)
    assert (host.uid, host.gid, host.root) == (os.geteuid(), os.getegid(), os.geteuid() == 0)
    assert host.machine == os.uname().machine
    assert host.namespaces
    assert not replace(host, seccomp=False).namespaces
    assert not replace(host, mount_namespaces=False).namespaces
    assert not assumed(launcher=False, bubblewrap="/usr/bin/bwrap").namespaces


class Counting:
    """A probe that always finds the same."""

    def __init__(self, found: Host) -> None:
        self.found = found
        self.times = 0

    def __call__(self, _host: Host) -> Host:
        self.times += 1
        return self.found


def test_a_failed_plan_makes_it_look_once() -> None:
    """The first failure is news if the machine is another than it was taken for; then it is
    known."""
    less = Host(mount_namespaces=False)
    probe = Counting(less)
    machine = Machine(Host(), probe)
    assert probe.times == 0
    assert machine.learn(FAILED)
    assert machine.host == less
    assert not machine.learn(FAILED)
    assert probe.times == 1


def test_a_failure_on_a_machine_that_is_as_assumed_is_no_news() -> None:
    """Nothing else is planned for, so nothing is tried again."""
    assert not Machine(Host(), Counting(Host())).learn(FAILED)


def test_a_probe_can_be_asked_for() -> None:
    """As `fairlead doctor` does; a later failure does not look again."""
    probe = Counting(Host(net_namespaces=False))
    machine = Machine(Host(), probe)
    assert machine.probe()
    assert not machine.probe()
    assert not machine.learn(FAILED)
    assert probe.times == 2
