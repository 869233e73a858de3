"""asyncio alone: `create_subprocess_exec` for pipes, `add_reader` for PTYs, all on one loop."""

from __future__ import annotations

import asyncio
import os
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager

from benchmarks.contenders.common import (
    BASH,
    READ_SIZE,
    Memory,
    end,
    lines,
    raise_open_files,
    require,
    start_on_pty,
)
from benchmarks.operation import Once

LACKS: Mapping[str, str] = {}
MARK = b"\x1e"


@asynccontextmanager
async def spawn(argv: Sequence[str]) -> AsyncIterator[Once]:
    async def once() -> None:
        child = await asyncio.create_subprocess_exec(*argv, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        await child.communicate()
        require(child.returncode == 0, f"ended with {child.returncode}")

    yield once


class _Pty:
    """A child on a PTY whose output is read whenever the loop finds some."""

    def __init__(self, argv: Sequence[str], stack: ExitStack, take: Callable[[bytes], None]):
        self.child, self.master = start_on_pty(argv)
        self._take = take
        self.ended = asyncio.Event()
        stack.callback(os.close, self.master)
        stack.callback(end, self.child)
        asyncio.get_running_loop().add_reader(self.master, self._readable)
        stack.callback(asyncio.get_running_loop().remove_reader, self.master)

    def _readable(self) -> None:
        try:
            data = os.read(self.master, READ_SIZE)
        except OSError:  # EIO: the last writer is gone
            data = b""
        if data:
            self._take(data)
        else:
            asyncio.get_running_loop().remove_reader(self.master)
            self.ended.set()


def _live_bash(stack: ExitStack) -> Once:
    seen = bytearray()
    arrived = asyncio.Event()
    typed = lines()

    def take(data: bytes) -> None:
        seen.extend(data)
        arrived.set()

    bash = _Pty(BASH, stack, take)

    async def once() -> None:
        line, answer = next(typed)
        seen.clear()
        os.write(bash.master, line.encode())
        while answer.encode() not in seen:
            arrived.clear()
            await arrived.wait()

    return once


@asynccontextmanager
async def echo() -> AsyncIterator[Once]:
    with ExitStack() as stack:
        once = _live_bash(stack)
        await once()
        yield once


@asynccontextmanager
async def flood(count: int, producer: str, gate: str) -> AsyncIterator[Once]:
    with ExitStack() as stack:
        for slot in range(count):
            _Pty((producer, gate, str(slot)), stack, lambda data: None)
        once = _live_bash(stack)
        await once()
        yield once


@asynccontextmanager
async def session_command() -> AsyncIterator[Once]:
    shell = await asyncio.create_subprocess_exec("bash", "--norc", stdin=PIPE, stdout=PIPE)
    writer, reader = shell.stdin, shell.stdout
    assert writer is not None
    assert reader is not None

    async def once() -> None:
        writer.write(b'echo hi\nprintf \'%d %s\\036\' "$?" "$PWD"\n')
        answer = await reader.readuntil(MARK)
        require(answer.startswith(b"hi\n0 /"), f"wrong answer: {answer!r}")

    yield once
    shell.kill()
    await shell.wait()


@asynccontextmanager
async def drain(argv: Sequence[str], tty: bool, size: int) -> AsyncIterator[Once]:
    async def once() -> dict[str, float]:
        memory = Memory()
        started = time.perf_counter_ns()
        total = await (_drain_pty(argv) if tty else _drain_pipe(argv))
        took = time.perf_counter_ns() - started
        require(total >= size, f"{size} bytes were written, {total} read")
        return {"ns": took, "bytes": size, "grown_kib": memory.peak_growth()}

    yield once


async def _drain_pipe(argv: Sequence[str]) -> int:
    child = await asyncio.create_subprocess_exec(*argv, stdout=PIPE)
    assert child.stdout is not None
    total = 0
    while data := await child.stdout.read(READ_SIZE):
        total += len(data)
    await child.wait()
    return total


async def _drain_pty(argv: Sequence[str]) -> int:
    total = 0

    def take(data: bytes) -> None:
        nonlocal total
        total += len(data)

    with ExitStack() as stack:
        await _Pty(argv, stack, take).ended.wait()
    return total


@asynccontextmanager
async def idle(count: int, argv: Sequence[str]) -> AsyncIterator[Once]:
    raise_open_files()

    async def once() -> dict[str, float]:
        with ExitStack() as stack:
            memory = Memory()
            started = time.perf_counter_ns()
            opened = [_Pty(argv, stack, lambda data: None) for _ in range(count)]
            took = time.perf_counter_ns() - started
            return {"ns": took, "rss_kib": memory.grown(), "sessions": len(opened)}

    yield once
