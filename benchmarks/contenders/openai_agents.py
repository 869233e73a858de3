"""openai-agents: its local sandbox session, which on Linux confines nothing."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.contenders.common import BASH, Memory, lines, load, require
from benchmarks.operation import Once

LACKS: Mapping[str, str] = {
    "session_command": "its shells give no exit code",
    "flood": "reads a PTY in the default thread pool: with more sessions than threads, not at all",
    "idle": "keeps at most 64 sessions",
}
YIELD = 0.25
LONG_YIELD = 30.0


@asynccontextmanager
async def _session() -> AsyncIterator[Any]:
    client = load("agents.sandbox.sandboxes.unix_local").UnixLocalSandboxClient()
    session = await client.create()
    await session.start()
    yield session
    await session.pty_terminate_all()
    await client.delete(session)


@asynccontextmanager
async def spawn(argv: Sequence[str]) -> AsyncIterator[Once]:
    async with _session() as session:

        async def once() -> None:
            done = await session.exec(*argv, shell=False)
            require(done.exit_code == 0, f"ended with {done.exit_code}")

        yield once


@asynccontextmanager
async def echo() -> AsyncIterator[Once]:
    async with _session() as session:
        bash = await session.pty_exec_start(*BASH, shell=False, tty=True, yield_time_s=YIELD)
        typed = lines()

        async def once() -> None:
            line, answer = next(typed)
            done = await session.pty_write_stdin(
                session_id=bash.process_id, chars=line, yield_time_s=YIELD
            )
            require(answer.encode() in done.output, f"wrong answer: {done.output!r}")

        await once()
        yield once


@asynccontextmanager
async def drain(argv: Sequence[str], tty: bool, size: int) -> AsyncIterator[Once]:
    async with _session() as session:

        async def once() -> dict[str, float]:
            memory = Memory()
            started = time.perf_counter_ns()
            done = await session.pty_exec_start(
                *argv, shell=False, tty=tty, yield_time_s=LONG_YIELD
            )
            took = time.perf_counter_ns() - started
            require(done.exit_code == 0, f"ended with {done.exit_code} after {took / 1e9:.0f} s")
            return {"ns": took, "bytes": size, "grown_kib": memory.peak_growth()}

        yield once
