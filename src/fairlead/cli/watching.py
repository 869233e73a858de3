"""Moving names away while a command has the terminal. No event loop runs, so a thread does it."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fairlead.model.access import Denial
from fairlead.protect.guard import Protection


@contextmanager
def at_once(protection: Protection) -> Iterator[list[Denial]]:
    """While inside, names that appear are moved away. What was denied is complete afterwards."""
    seen: list[Denial] = []
    stop = os.eventfd(0, os.EFD_CLOEXEC)
    thread = threading.Thread(target=_watch, args=(protection, stop, seen), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    thread.start()  # it inherits the mask: signals are for the thread that waits for the command
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield seen
    finally:
        os.eventfd_write(stop, 1)
        thread.join()
        os.close(stop)


def _watch(protection: Protection, stop: int, seen: list[Denial]) -> None:
    poll = select.poll()
    poll.register(stop, select.POLLIN)
    if protection.fileno() >= 0:
        poll.register(protection.fileno(), select.POLLIN)
    while True:
        ready = [fd for fd, _ in poll.poll()]
        if protection.fileno() in ready:
            seen.extend(protection.on_readable())
        if stop in ready:
            return
