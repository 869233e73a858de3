"""Stopping in order: a signal, or the end of the work, whichever comes first."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` when the process is asked to end; asking again does not cut the clean-up short."""
    loop = asyncio.get_running_loop()
    caught = [signum for signum in _listened_to() if _catch(loop, signum, stop)]
    try:
        yield
    finally:
        for signum in caught:
            loop.remove_signal_handler(signum)


def _listened_to() -> list[signal.Signals]:
    known = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    # What the starter of this process ignored (nohup, a background job) stays ignored.
    return [signum for signum in known if signal.getsignal(signum) is not signal.SIG_IGN]


def _catch(loop: asyncio.AbstractEventLoop, signum: signal.Signals, stop: asyncio.Event) -> bool:
    try:
        loop.add_signal_handler(signum, stop.set)
    except (NotImplementedError, RuntimeError, ValueError):
        return False  # Windows, or not the main thread: whoever runs us sets `stop`
    return True


async def until(stop: asyncio.Event, work: Awaitable[Any]) -> None:
    """Await `work`, but cancel it and wait for its end once `stop` is set."""
    task = asyncio.ensure_future(work)
    waiting = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    if not task.cancelled():
        task.result()
