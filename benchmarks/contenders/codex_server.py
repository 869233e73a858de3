"""`codex exec-server`: one server process, spoken to in JSON lines over its stdin and stdout."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from shutil import which
from typing import Any

from benchmarks.contenders.common import (
    BASH,
    PLAIN_ENV,
    Memory,
    lines,
    raise_open_files,
    require,
)
from benchmarks.operation import Once

LACKS: Mapping[str, str] = {"session_command": "its shells give no exit code of a command"}
LINE_LIMIT = 1 << 24


class _Server:
    """A client of one server: requests by id, output and ends by process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.pid = process.pid
        self._process = process
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._takers: dict[str, Callable[[bytes | None], None]] = {}
        self._codes: dict[str, int] = {}
        self._number = 0
        self.reading = asyncio.create_task(self._read())

    async def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        answer = self._answers[self._number] = asyncio.get_running_loop().create_future()
        self.tell({"id": self._number, "method": method, "params": params})
        return await answer

    def tell(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def start(
        self, argv: Sequence[str], tty: bool, take: Callable[[bytes | None], None]
    ) -> str:
        """Start a process; `take` gets its output and, at its end, None."""
        name = f"p{self._number}"
        self._takers[name] = take
        await self.ask(
            "process/start",
            processId=name,
            argv=list(argv),
            cwd="file:///tmp",
            env=PLAIN_ENV,
            tty=tty,
            pipeStdin=False,
            arg0=None,
        )
        return name

    async def write(self, name: str, data: bytes) -> None:
        chunk, write = base64.b64encode(data).decode(), f"w{self._number}"
        await self.ask("process/write", processId=name, chunk=chunk, writeId=write)

    async def run(self, argv: Sequence[str], tty: bool) -> int:
        """A process to its end; says how many bytes it wrote."""
        total, closed = 0, asyncio.Event()

        def take(data: bytes | None) -> None:
            nonlocal total
            total += len(data or b"")
            if data is None:
                closed.set()

        name = await self.start(argv, tty, take)
        await closed.wait()
        require(self._codes.pop(name) == 0, "did not end well")
        return total

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            if "id" in message:
                self._answered(message)
            else:
                self._notified(message["method"], message["params"])

    def _answered(self, message: Mapping[str, Any]) -> None:
        answer = self._answers.pop(message["id"])
        if "error" in message:
            answer.set_exception(RuntimeError(str(message["error"])))
        else:
            answer.set_result(message["result"])

    def _notified(self, method: str, params: Mapping[str, Any]) -> None:
        name = params["processId"]
        if method == "process/output":
            self._takers[name](base64.b64decode(params["chunk"]))
        elif method == "process/exited":
            self._codes[name] = params["exitCode"]
        elif method == "process/closed":
            self._takers.pop(name)(None)


@asynccontextmanager
async def _server() -> AsyncIterator[_Server]:
    binary = os.environ.get("BENCH_CODEX") or which("codex")
    if binary is None:
        raise ModuleNotFoundError(name="@openai/codex")
    process = await asyncio.create_subprocess_exec(
        binary,
        *("exec-server", "--listen", "stdio"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        limit=LINE_LIMIT,
    )
    server = _Server(process)
    await server.ask("initialize", clientName="benchmark")
    server.tell({"method": "initialized", "params": {}})
    yield server
    server.reading.cancel()
    process.kill()
    await process.wait()


@asynccontextmanager
async def spawn(argv: Sequence[str]) -> AsyncIterator[Once]:
    async with _server() as server:

        async def once() -> None:
            await server.run(argv, tty=False)

        yield once


async def _live_bash(server: _Server) -> Once:
    seen, arrived, typed = bytearray(), asyncio.Event(), lines()

    def take(data: bytes | None) -> None:
        seen.extend(data or b"")
        arrived.set()

    bash = await server.start(BASH, True, take)

    async def once() -> None:
        line, answer = next(typed)
        seen.clear()
        await server.write(bash, line.encode())
        while answer.encode() not in seen:
            arrived.clear()
            await arrived.wait()

    await once()
    return once


@asynccontextmanager
async def echo() -> AsyncIterator[Once]:
    async with _server() as server:
        yield await _live_bash(server)


@asynccontextmanager
async def flood(count: int, producer: str, gate: str) -> AsyncIterator[Once]:
    raise_open_files()
    async with _server() as server:
        for slot in range(count):
            await server.start((producer, gate, str(slot)), True, lambda data: None)
        yield await _live_bash(server)


@asynccontextmanager
async def drain(argv: Sequence[str], tty: bool, size: int) -> AsyncIterator[Once]:
    async with _server() as server:

        async def once() -> dict[str, float]:
            memory = Memory(os.getpid(), server.pid)
            started = time.perf_counter_ns()
            total = await server.run(argv, tty)
            took = time.perf_counter_ns() - started
            require(total >= size, f"{size} bytes were written, {total} arrived")
            return {"ns": took, "bytes": size, "grown_kib": memory.peak_growth()}

        yield once


@asynccontextmanager
async def idle(count: int, argv: Sequence[str]) -> AsyncIterator[Once]:
    raise_open_files()
    async with _server() as server:
        await server.start(argv, True, lambda data: None)

        async def once() -> dict[str, float]:
            memory = Memory(os.getpid(), server.pid)
            started = time.perf_counter_ns()
            for _ in range(count):
                await server.start(argv, True, lambda data: None)
            took = time.perf_counter_ns() - started
            return {"ns": took, "rss_kib": memory.grown(), "sessions": count}

        yield once
