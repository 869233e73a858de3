"""pexpect, as its manual shows it, with its sleeps before a line and after a close turned off."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.contenders.common import (
    BASH,
    PLAIN_ENV,
    Memory,
    lines,
    load,
    raise_open_files,
    require,
)
from benchmarks.operation import Lacking, Once

LACKS: Mapping[str, str] = {
    "session_command": "its shells give no exit code",
    "flood": "reads only the session it is asked to",
}


def _start(argv: Sequence[str], **options: Any) -> Any:
    child = load("pexpect").spawn(argv[0], list(argv[1:]), env=PLAIN_ENV, **options)
    child.delaybeforesend = None
    child.ptyproc.delayafterclose = 0
    return child


def _kill(child: Any) -> None:
    os.kill(child.pid, signal.SIGKILL)
    child.wait()


@asynccontextmanager
async def spawn(argv: Sequence[str]) -> AsyncIterator[Once]:
    end = load("pexpect").EOF

    async def once() -> None:
        child = _start(argv)
        child.expect(end)
        child.close()
        require(child.exitstatus == 0, f"ended with {child.exitstatus}")

    yield once


@asynccontextmanager
async def echo() -> AsyncIterator[Once]:
    bash, typed = _start(BASH), lines()

    async def once() -> None:
        line, answer = next(typed)
        bash.send(line)
        bash.expect_exact(answer)

    await once()
    yield once
    _kill(bash)


@asynccontextmanager
async def drain(argv: Sequence[str], tty: bool, size: int) -> AsyncIterator[Once]:
    if not tty:
        raise Lacking("has no pipes")
    end = load("pexpect").EOF

    async def once() -> dict[str, float]:
        memory = Memory()
        started = time.perf_counter_ns()
        child, total = _start(argv, maxread=65536), 0
        while True:
            try:
                total += len(child.read_nonblocking(65536, timeout=30))
            except end:
                break
        child.close()
        took = time.perf_counter_ns() - started
        require(total >= size, f"{size} bytes were written, {total} read")
        return {"ns": took, "bytes": size, "grown_kib": memory.peak_growth()}

    yield once


@asynccontextmanager
async def idle(count: int, argv: Sequence[str]) -> AsyncIterator[Once]:
    raise_open_files()
    _kill(_start(argv))  # what the first one loads is not a session's cost

    async def once() -> dict[str, float]:
        memory = Memory()
        started = time.perf_counter_ns()
        opened = [_start(argv) for _ in range(count)]
        took = time.perf_counter_ns() - started
        facts = {"ns": took, "rss_kib": memory.grown(), "sessions": count}
        for child in opened:
            _kill(child)
        return facts

    yield once
