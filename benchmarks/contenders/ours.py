"""Fairlead itself, through its Python API."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.contenders.common import BASH, Memory, lines, load, raise_open_files, require
from benchmarks.operation import Once

LACKS: Mapping[str, str] = {}
AT_ONCE = 64  # sessions opened together: each call waits out its yield time
LONG_YIELD_MS = 30_000
SHORT_YIELD_MS = 250


def _engine(sessions: int = 64) -> Any:
    fairlead = load("fairlead")
    capacity = load("fairlead.session.store").Capacity(live=sessions, warn_at=sessions)
    # No rival of these cases confines anything; what that costs is in the case `confined`.
    options = fairlead.Options(cwd=Path("/"), preset="full-access", capacity=capacity)
    return fairlead.Engine(options)


@asynccontextmanager
async def spawn(argv: Sequence[str]) -> AsyncIterator[Once]:
    async with _engine() as engine:

        async def once() -> None:
            out = await engine.call("shell", {"command": list(argv)})
            require(out.success, f"failed: {out.content}")

        yield once


@asynccontextmanager
async def shell_command(login: bool) -> AsyncIterator[Once]:
    """A command line through the user's shell, in an engine that has run one before."""
    async with _engine() as engine:

        async def once() -> None:
            out = await engine.call("shell_command", {"command": "true", "login": login})
            require(out.success, f"failed: {out.content}")

        await once()
        yield once


@asynccontextmanager
async def first_login() -> AsyncIterator[Once]:
    """The first login command of an engine, which pays for the user's profile."""

    async def once() -> dict[str, float]:
        async with _engine() as engine:
            started = time.perf_counter_ns()
            out = await engine.call("shell_command", {"command": "true", "login": True})
            took = time.perf_counter_ns() - started
            require(out.success, f"failed: {out.content}")
            return {"ns": took}

    yield once


async def _open(engine: Any, argv: Sequence[str]) -> int:
    call = {"cmd": "exec " + shlex.join(argv), "tty": True, "login": False}
    out = await engine.call("exec_command", {**call, "yield_time_ms": SHORT_YIELD_MS})
    require("session_id" in out.structured, f"did not stay: {out.content}")
    return int(out.structured["session_id"])


def _typed_into(session: Any) -> Once:
    typed, waiting = lines(), load("fairlead.session.wait")

    async def once() -> None:
        line, answer = next(typed)
        regex = re.compile(re.escape(answer.encode()))
        until = waiting.Until(regex=regex, since=session.log.size)
        session.write(line.encode())
        met = await waiting.wait_until(session, until, 10.0)
        require(met.reason == "pattern", f"no answer: {met}")

    return once


@asynccontextmanager
async def echo() -> AsyncIterator[Once]:
    async with _engine() as engine:
        once = _typed_into(engine.session(await _open(engine, BASH)))
        await once()
        yield once


@asynccontextmanager
async def flood(count: int, producer: str, gate: str) -> AsyncIterator[Once]:
    raise_open_files()
    async with _engine(count + 8) as engine:
        floods = [_open(engine, (producer, gate, str(slot))) for slot in range(count)]
        await asyncio.gather(*floods)
        once = _typed_into(engine.session(await _open(engine, BASH)))
        await once()
        yield once


@asynccontextmanager
async def session_command() -> AsyncIterator[Once]:
    async with _engine() as engine:

        async def once() -> None:
            out = await engine.call("run_in_session", {"command": "echo hi"})
            facts = out.structured
            right = facts["exit_code"] == 0 and facts["output"].strip() == "hi" and facts["cwd"]
            require(bool(right), f"wrong answer: {facts}")

        await once()
        yield once


@asynccontextmanager
async def drain(argv: Sequence[str], tty: bool, size: int) -> AsyncIterator[Once]:
    async with _engine() as engine:
        call = {"cmd": "exec " + shlex.join(argv), "tty": tty, "login": False}

        async def once() -> dict[str, float]:
            memory = Memory()
            started = time.perf_counter_ns()
            out = await engine.call("exec_command", {**call, "yield_time_ms": LONG_YIELD_MS})
            took = time.perf_counter_ns() - started
            require(out.structured.get("exit_code") == 0, f"did not end well: {out.content[:80]}")
            counted = out.structured["original_token_count"] * 4
            require(counted >= size, f"{size} bytes were written, {counted} counted")
            return {"ns": took, "bytes": size, "grown_kib": memory.peak_growth()}

        yield once


@asynccontextmanager
async def idle(count: int, argv: Sequence[str]) -> AsyncIterator[Once]:
    raise_open_files()

    async def once() -> dict[str, float]:
        async with AsyncExitStack() as stack:
            engine = await stack.enter_async_context(_engine(count + 8))
            await _open(engine, argv)  # what the first one loads is not a session's cost
            memory = Memory()
            started = time.perf_counter_ns()
            for first in range(0, count, AT_ONCE):
                opening = [_open(engine, argv) for _ in range(min(AT_ONCE, count - first))]
                await asyncio.gather(*opening)
            took = time.perf_counter_ns() - started
            return {"ns": took, "rss_kib": memory.grown(), "sessions": count}

    yield once
