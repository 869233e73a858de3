"""Which process listens on a TCP port, as the kernel's tables say."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_LISTEN = "0A"  # TCP_LISTEN in /proc/net/tcp


def any_listens(pids: Iterable[int], port: int) -> bool:
    """Does one of these processes listen on the port, on any address?"""
    found = list(pids)
    if not found:
        return False
    sockets = listening_sockets(found[0], port)
    return bool(sockets) and any(sockets & _sockets_of(pid) for pid in found)


def listening_sockets(pid: int, port: int) -> set[str]:
    """Inodes of the sockets that listen on the port, in the network namespace of `pid`."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
            inodes |= {
                fields[9]
                for line in lines
                if (fields := line.split())[3] == _LISTEN
                and int(fields[1].rpartition(":")[2], 16) == port
            }
    return inodes


def _sockets_of(pid: int) -> set[str]:
    inodes = set()
    with suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{fd}")
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
    return inodes
