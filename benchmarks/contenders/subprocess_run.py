"""`subprocess.run(capture_output=True)`, as most tools do it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from benchmarks.contenders.common import Memory, require
from benchmarks.operation import Lacking, Once

LACKS: Mapping[str, str] = dict.fromkeys(
    ("echo", "session_command", "flood", "idle"), "has no sessions"
)


@asynccontextmanager
async def spawn(argv: Sequence[str]) -> AsyncIterator[Once]:
    async def once() -> None:
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    yield once


@asynccontextmanager
async def drain(argv: Sequence[str], tty: bool, size: int) -> AsyncIterator[Once]:
    if tty:
        raise Lacking("has no PTY")

    async def once() -> dict[str, float]:
        memory = Memory()
        started = time.perf_counter_ns()
        done = subprocess.run(argv, capture_output=True, check=True)
        took = time.perf_counter_ns() - started
        require(len(done.stdout) == size, f"{size} bytes were written, {len(done.stdout)} read")
        return {"ns": took, "bytes": size, "grown_kib": memory.peak_growth()}

    yield once
