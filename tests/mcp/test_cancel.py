"""Cancelling work that cleans up after itself."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from fairlead.mcp.cancel import to_the_end


class Work:
    """Waits for ever, and needs some turns of the loop to clean up."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cleaned = False

    async def __call__(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(10):
                await asyncio.sleep(0)
            self.cleaned = True


async def test_a_result_and_an_error_pass_through() -> None:
    """Work that is not cancelled is simply awaited."""

    async def good() -> int:
        return 7

    async def bad() -> int:
        raise ValueError("no")

    assert await to_the_end(good()) == 7
    with pytest.raises(ValueError, match="no"):
        await to_the_end(bad())


async def test_a_cancelled_scope_does_not_cut_the_clean_up() -> None:
    """A scope, which cancels every await again, is left only after the work has cleaned up."""
    work = Work()
    async with anyio.create_task_group() as group:
        group.start_soon(to_the_end, work())
        await work.begun.wait()
        group.cancel_scope.cancel()
    assert work.cleaned


async def test_cancelling_twice_does_not_cut_the_clean_up() -> None:
    """A second cancel of the waiting task changes nothing."""
    work = Work()
    task = asyncio.create_task(to_the_end(work()))
    await work.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.cleaned
