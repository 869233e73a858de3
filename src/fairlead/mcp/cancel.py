"""Cancelling work that must clean up after itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from anyio import CancelScope

T = TypeVar("T")

logger = logging.getLogger(__name__)


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; when cancelled, cancel it once and return only after it has cleaned up.

    A cancelled scope of anyio interrupts every later await too, the ones of a clean-up
    included. So the work gets a task of its own, which no scope reaches.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        await _cancel_and_wait(task)
        raise
    return task.result()


async def _cancel_and_wait(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with CancelScope(shield=True):
        while not task.done():
            # The shield holds off scopes; a plain second cancel() still arrives here.
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a cancelled call failed to clean up", exc_info=error)
