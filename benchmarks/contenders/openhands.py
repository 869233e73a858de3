"""OpenHands: its terminal session, on tmux where that is installed, else on a PTY of its own."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from benchmarks.contenders.common import Memory, load, require
from benchmarks.operation import Lacking, Once

LACKS: Mapping[str, str] = {
    "spawn": "runs every command in its session: see that table",
    "echo": "its sessions take whole commands only",
    "flood": "one session per terminal",
    "idle": "one session per terminal",
}


@asynccontextmanager
async def _session(kind: str | None) -> AsyncIterator[Any]:
    with suppress(RuntimeError):  # it imports a module from two threads: the second try finds it
        load("openhands.tools.terminal.definition")
    action = load("openhands.tools.terminal.definition").TerminalAction
    factory = load("openhands.tools.terminal.terminal.factory")
    terminal = factory.create_terminal_session(work_dir="/tmp", terminal_type=kind)
    await asyncio.to_thread(terminal.initialize)

    async def run(command: str) -> Any:
        done = terminal.execute(action(command=command, timeout=60))
        require(done.metadata.exit_code == 0, f"wrong answer: {done}")
        return done

    yield run
    terminal.close()


@asynccontextmanager
async def session_command(kind: str | None = None) -> AsyncIterator[Once]:
    async with _session(kind) as run:

        async def once() -> None:
            await run("echo hi")

        await once()
        yield once


@asynccontextmanager
async def drain(argv: Sequence[str], tty: bool, size: int) -> AsyncIterator[Once]:
    if not tty:
        raise Lacking("has no pipes")
    async with _session("subprocess") as run:

        async def once() -> dict[str, float]:
            memory = Memory()
            started = time.perf_counter_ns()
            await run(shlex.join(argv))
            took = time.perf_counter_ns() - started
            return {"ns": took, "bytes": size, "grown_kib": memory.peak_growth()}

        yield once
