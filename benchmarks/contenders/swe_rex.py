"""SWE-ReX: its local runtime, called in-process (its usual HTTP hop is left out)."""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.contenders.common import Memory, load, require
from benchmarks.operation import Once

LACKS: Mapping[str, str] = {
    "echo": "its sessions take whole commands only",
    "flood": "reads only the session it is asked to",
    "idle": "a session is a started bash, half a second each",
}
REQUESTS = "swerex.runtime.abstract"
TIMEOUT = 60.0


def _runtime() -> Any:
    return load("swerex.runtime.local").LocalRuntime(logger=logging.getLogger("quiet"))


@asynccontextmanager
async def spawn(argv: Sequence[str]) -> AsyncIterator[Once]:
    runtime, requests = _runtime(), load(REQUESTS)

    async def once() -> None:
        done = await runtime.execute(requests.Command(command=list(argv), shell=False))
        require(done.exit_code == 0, f"ended with {done.exit_code}")

    yield once


@asynccontextmanager
async def _session() -> AsyncIterator[Any]:
    runtime, requests = _runtime(), load(REQUESTS)
    await runtime.create_session(requests.CreateBashSessionRequest())

    async def run(command: str) -> Any:
        return await runtime.run_in_session(requests.BashAction(command=command, timeout=TIMEOUT))

    yield run
    await runtime.close()


@asynccontextmanager
async def session_command() -> AsyncIterator[Once]:
    async with _session() as run:

        async def once() -> None:
            done = await run("echo hi")
            right = done.exit_code == 0 and done.output.strip() == "hi"
            require(right, f"wrong answer: {done}")

        await once()
        yield once


@asynccontextmanager
async def drain(argv: Sequence[str], tty: bool, size: int) -> AsyncIterator[Once]:
    async with _session() as run:

        async def once() -> dict[str, float]:
            memory = Memory()
            started = time.perf_counter_ns()
            if tty:
                done = await run(shlex.join(argv))
            else:
                command = load(REQUESTS).Command(command=list(argv), shell=False)
                done = await _runtime().execute(command)
            took = time.perf_counter_ns() - started
            require(done.exit_code == 0, f"ended with {done.exit_code}")
            return {"ns": took, "bytes": size, "grown_kib": memory.peak_growth()}

        yield once
