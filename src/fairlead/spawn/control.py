"""The engine's end of a launcher's socket: what it reports, and who said so.

Inside a pid namespace a process knows only its number in there. The kernel knows ours: it adds
the sender of each message, as we see it, if we ask for that before anything is sent.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from struct import Struct

from fairlead.spawn import plan

_REPORTS = 4096
_SENDER = Struct("3i")  # struct ucred
_ROOM = socket.CMSG_SPACE(_SENDER.size) + socket.CMSG_SPACE(8 * Struct("i").size)
_SCM_CREDENTIALS = 2

Heard = list[tuple[plan.Report, int]]


class Control:
    """One socket. With `senders` each report comes with the pid of the process that sent it."""

    def __init__(self, ours: socket.socket, *, senders: bool) -> None:
        self.socket = ours
        self.fds: list[int] = []  # that came with reports; whoever wants one takes it
        self._senders = senders
        self._begun = bytearray()

    def fileno(self) -> int:
        return self.socket.fileno()

    def hear(self) -> tuple[Heard, bool]:
        """What has been reported, and whether more may come. Waits only if the socket blocks."""
        if not self._senders:
            data = self._receive()
            return self._reports(data, 0), data != b""
        heard: Heard = []
        flags = socket.MSG_CMSG_CLOEXEC
        while True:  # messages of several senders are never given as one
            data, sender = self._receive_with_sender(flags)
            heard += self._reports(data, sender)
            if not data:
                return heard, data is None
            flags |= socket.MSG_DONTWAIT

    def is_silent(self) -> bool:
        """Nothing has been said, and something still may be."""
        try:
            self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def all_known(self) -> None:
        """From now on only one sends, and we know who: that spares a call for each report."""
        self._senders = False

    def tell(self, command: bytes) -> None:
        with suppress(OSError):  # the guard is gone, and so is everything that it guarded
            self.socket.send(command, socket.MSG_NOSIGNAL)

    def let_go(self) -> None:
        """Say nothing any more: the guard ends its tree then."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.socket.close()
        while self.fds:
            os.close(self.fds.pop())

    def _reports(self, data: bytes | None, sender: int) -> Heard:
        self._begun += data or b""
        return [(report, sender) for report in plan.parse_reports(self._begun)]

    def _receive(self) -> bytes | None:
        """None where there is nothing yet, nothing where nothing comes any more."""
        try:
            return self.socket.recv(_REPORTS)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _receive_with_sender(self, flags: int) -> tuple[bytes | None, int]:
        try:
            data, extras, _, _ = self.socket.recvmsg(_REPORTS, _ROOM, flags)
        except BlockingIOError:
            return None, 0
        except OSError:
            return b"", 0
        sender = 0
        for level, kind, content in extras:
            if level == socket.SOL_SOCKET and kind == _SCM_CREDENTIALS:
                sender = _SENDER.unpack(content[: _SENDER.size])[0]
            elif level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self.fds += (fd for (fd,) in Struct("i").iter_unpack(content))
        return data, sender


def pair(*, senders: bool) -> tuple[Control, socket.socket]:
    """(ours, the launcher's)."""
    ours, theirs = socket.socketpair()
    if senders:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return Control(ours, senders=senders), theirs
