"""Our own standard streams: always there, able to carry any text, and honest about a failure."""

from __future__ import annotations

import os
import sys


def speak_utf8() -> None:
    """Start anew where Python took another encoding from the locale: what we are told is JSON,
    and what we hand on to commands are its bytes. (An empty or `C` locale is UTF-8 to Python.)"""
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def prepare() -> None:
    """Open what the caller has closed, and let no character be one that can't be printed.

    A closed 0, 1 or 2 would be taken by the next file that is opened, and what is meant for a
    person would land in it.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
            os.set_inheritable(fd, True)
    # Python has no object for a stream that was closed at its start.
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # File names can hold what UTF-8 can't; in JSON, `\udcff` even is the right way to say it.
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def flush() -> None:
    """Write out what was printed, here, where a failure can still be told."""
    sys.stdout.flush()


def abandon() -> None:
    """Nobody reads any more: let what is still buffered go nowhere when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
