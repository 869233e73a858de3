"""Pseudo-terminals: opening, sizing, and asking who is in the foreground."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import struct
import termios
from contextlib import suppress

from fairlead.model.params import Size

LONGEST_LINE = 4095  # that the kernel assembles; it drops what is typed beyond
LINE_ENDS = re.compile(rb"[\n\r\x04]")

_IFLAG, _OFLAG, _LFLAG, _CC = 0, 1, 3, 6


_PTY_LOCK = 0x40045431  # TIOCSPTLCK
_PTY_PEER = 0x5441  # TIOCGPTPEER


def open_pty(size: Size, *, plain: bool, terminals: int = -1) -> tuple[int, int]:
    """(master, slave). `plain` turns echo and newline translation off: for shells we drive.
    `terminals` is the directory of a devpts that is not our own."""
    master, slave = _open(terminals)
    try:
        resize(master, size)
        if plain:
            _make_plain(slave)
    except BaseException:
        os.close(master)
        os.close(slave)
        raise
    return master, slave


def _open(terminals: int) -> tuple[int, int]:
    try:
        return os.openpty() if terminals < 0 else _opened_in(terminals)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        text = "no terminal is left on this machine (/proc/sys/kernel/pty/max)"
        raise OSError(error.errno, text) from None


def _opened_in(terminals: int) -> tuple[int, int]:
    """No path inside is ever looked up: the terminal's other end is asked of the kernel."""
    flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC
    master = os.open("ptmx", flags, dir_fd=terminals)
    try:
        fcntl.ioctl(master, _PTY_LOCK, struct.pack("i", 0))
        return master, fcntl.ioctl(master, _PTY_PEER, flags)
    except BaseException:
        os.close(master)
        raise


def resize(master: int, size: Size) -> None:
    """The kernel tells the foreground group with SIGWINCH."""
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.cols, 0, 0))


def foreground_group(master: int) -> int | None:
    """The process group that owns the terminal now."""
    with suppress(OSError):
        group = os.tcgetpgrp(master)
        if group > 0:
            return group
    return None


def end_of_file(master: int) -> bytes:
    """What the user would type to end the input, as the program set it."""
    character = termios.tcgetattr(master)[_CC][termios.VEOF]
    return character if isinstance(character, bytes) else bytes([character])


def is_line_mode(master: int) -> bool:
    """True while the kernel assembles lines; a line editor or a screen program turns it off."""
    with suppress(termios.error):
        return bool(termios.tcgetattr(master)[_LFLAG] & termios.ICANON)
    return True


def translates_newlines(master: int) -> bool:
    """The kernel writes CR LF for LF."""
    with suppress(termios.error):
        flags = int(termios.tcgetattr(master)[_OFLAG])
        return bool(flags & termios.OPOST and flags & termios.ONLCR)
    return False


def _make_plain(slave: int) -> None:
    modes = termios.tcgetattr(slave)
    modes[_OFLAG] &= ~termios.ONLCR
    modes[_LFLAG] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, modes)
