"""Staying until something is done, however often the caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def in_spite_of_cancelling(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, for those who are on their way out already: that they are cancelled
    meanwhile is nothing new to them."""
    task = asyncio.ensure_future(work)
    await _stay(task)
    return task.result()


async def wait_in_spite_of_cancelling(task: asyncio.Task[T]) -> T:
    """The same for anybody: a caller who was cancelled meanwhile is cancelled afterwards."""
    cancelled = await _stay(task)
    if cancelled is not None:
        raise cancelled
    return task.result()


async def _stay(task: asyncio.Task[Any]) -> asyncio.CancelledError | None:
    """`asyncio.shield` alone would let a cancelled caller walk away from the work."""
    cancelled = None
    while not task.done():
        try:
            await asyncio.wait((task,))  # never raises what the task raises
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled
