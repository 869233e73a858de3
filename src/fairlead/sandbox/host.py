"""What this machine lets us do: taken for granted first, looked at closely once it says no.

A machine that offers everything is the usual case, and a command there should not wait for
probes. A plan that fails is the probe; what then can be had is found out by doing it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

from fairlead.model.errors import SandboxFailed
from fairlead.model.sandbox import Host

Probe = Callable[[Host], Host]

# Linux version -> Landlock ABI that it came with.
_ABI_SINCE = (
    ((6, 15), 7),
    ((6, 12), 6),
    ((6, 10), 5),
    ((6, 7), 4),
    ((6, 2), 3),
    ((5, 19), 2),
    ((5, 13), 1),
)


def assumed(*, launcher: bool, bubblewrap: str | None = None) -> Host:
    """What such a machine usually offers."""
    system = os.uname()
    release = system.release
    return Host(
        platform=sys.platform,
        machine=system.machine,
        root=os.geteuid() == 0,
        uid=os.geteuid(),
        gid=os.getegid(),
        landlock_abi=landlock_abi(release),
        notify=version(release) >= (5, 5),
        launcher=launcher,
        bubblewrap=bubblewrap,
    )


def landlock_abi(release: str) -> int:
    """The newest that a kernel of this version can have; 0 if none."""
    return next((abi for since, abi in _ABI_SINCE if version(release) >= since), 0)


def version(release: str) -> tuple[int, int]:
    """Its first two numbers."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


class Machine:
    """The host as far as it is known. Shared by all engines of a process."""

    def __init__(self, host: Host, probe: Probe) -> None:
        self.host = host
        self._probe = probe
        self._probed = False

    def learn(self, error: SandboxFailed) -> bool:
        """Look closely, once. Whether it is another machine than it was taken for."""
        return self.probe() if not self._probed else False

    def probe(self) -> bool:
        """Do each thing and see. Whether anything is new."""
        before, self.host = self.host, self._probe(self.host)
        self._probed = True
        return self.host != before
