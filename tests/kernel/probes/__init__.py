"""What a confined command tries: things that must be denied, and things that must work.

Each probe is a small program that exits 0 if it got what it tried. It finds its surroundings in
variables: OUTSIDE (a directory that is not ours to write), HOME (with secrets), HOST_PID (a
process of the same user), SOCKET and ABSTRACT (listeners outside), PORT (a TCP server outside).
"""

from __future__ import annotations

from tests.kernel.probes.files import FILES
from tests.kernel.probes.model import Probe
from tests.kernel.probes.network import NETWORK
from tests.kernel.probes.processes import PROCESSES, USED_UP
from tests.kernel.probes.working import WORKING

ALL: tuple[Probe, ...] = (*FILES, *PROCESSES, *USED_UP, *NETWORK, *WORKING)
