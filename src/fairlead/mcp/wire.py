"""Standard input and output as the streams of an MCP connection.

The descriptors are read and written on daemon threads of our own. The SDK's transport does that
on pooled threads, which Python joins at exit: a process blocked in a read could then not be
ended by a signal. Waiting for readiness instead would need descriptors that are not blocking,
and that flag is shared with whoever else holds the same terminal or pipe.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCMessage, jsonrpc_message_adapter

from fairlead.tools.untrusted_json import decoded

READ_SIZE = 65536
LAST_WORDS = 1.0  # seconds for a client to take what was said before the end
LONGEST_LINE = 64 << 20  # the largest arguments, even with each character escaped
PARSE_ERROR = {"code": -32700, "message": "Parse error"}

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@contextmanager
def claimed_descriptors() -> Iterator[tuple[int, int]]:
    """Private copies of descriptors 0 and 1, which meanwhile lead nowhere and to stderr.

    So no stray print, and no child that inherits them, can reach the protocol.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        yield wire_in, wire_out
    finally:
        # The copies stay open: a thread may still be blocked on them.
        os.dup2(wire_in, 0)
        os.dup2(wire_out, 1)


@asynccontextmanager
async def connected(
    wire_in: int, wire_out: int, on_lost: Callable[[], object]
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """The two message streams of a connection; `on_lost` is called when nobody reads any more."""
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    writer = Writer(wire_out, on_lost)
    drained = anyio.Event()
    async with anyio.create_task_group() as pumps:
        pumps.start_soon(_pump_in, wire_in, to_server, writer)
        pumps.start_soon(_pump_out, from_server, writer, drained)
        try:
            yield incoming, outgoing
        finally:
            await outgoing.aclose()
            with anyio.move_on_after(LAST_WORDS, shield=True):
                await drained.wait()
            pumps.cancel_scope.cancel()


async def _pump_in(
    fd: int, to_server: MemoryObjectSendStream[SessionMessage | Exception], writer: Writer
) -> None:
    async with to_server:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line in read_lines(fd):
                message = _parse(line)
                if message is None:
                    await writer.write(_parse_error(line))
                else:
                    await to_server.send(SessionMessage(message))


async def _pump_out(
    from_server: MemoryObjectReceiveStream[SessionMessage], writer: Writer, drained: anyio.Event
) -> None:
    async with from_server:
        async for item in from_server:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await writer.write(text.encode())
    drained.set()


def _parse(untrusted_line: bytes) -> JSONRPCMessage | None:
    if len(untrusted_line) > LONGEST_LINE:
        return None
    with suppress(ValueError):
        return jsonrpc_message_adapter.validate_json(untrusted_line, by_name=False)
    # What is in there may be for a tool to refuse, by the name of the field: bytes that are not
    # UTF-8, half a character. The protocol's own reader says no more than that it can't be read.
    with suppress(ValueError):
        found = decoded(untrusted_line.decode("utf-8", "surrogateescape"))
        return jsonrpc_message_adapter.validate_python(found, by_name=False)
    return None


def _parse_error(untrusted_line: bytes) -> bytes:
    """The answer, to whom it may concern: a client waits for ever for one without its id."""
    answer = {"jsonrpc": "2.0", "id": _id_of(untrusted_line), "error": PARSE_ERROR}
    return json.dumps(answer).encode()


def _id_of(untrusted_line: bytes) -> int | str | None:
    """The id of a request with something in it that the protocol's own reader refuses."""
    if len(untrusted_line) > LONGEST_LINE:
        return None
    try:
        request = decoded(untrusted_line.decode("utf-8", "replace"))
    except ValueError:
        return None
    found = request.get("id") if isinstance(request, dict) and "method" in request else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


async def read_lines(fd: int) -> AsyncIterator[bytes]:
    """Each line that is not blank, without its end. The reader never runs ahead of its user. Of a
    line that is too long only so much comes that this shows."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    room = threading.Semaphore(1)

    def deliver(line: bytes | None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(lines.put_nowait, line)

    threading.Thread(target=_read, args=(fd, deliver), name="mcp-in", daemon=True).start()
    while (line := await lines.get()) is not None:
        room.release()
        yield line


def _read(fd: int, deliver: Callable[[bytes | None], None]) -> None:
    with suppress(RuntimeError):  # the loop is gone, and nobody wants the line
        for line in _split(fd):
            deliver(line)
        deliver(None)


def _split(fd: int) -> Iterator[bytes]:
    # os.read and no file object: its lock, held by a daemon thread, would abort the interpreter
    # on exit.
    rest = bytearray()
    while chunk := _read_chunk(fd):
        seen = len(rest)
        rest += chunk
        while (end := rest.find(b"\n", seen)) >= 0:
            line = bytes(rest[:end])
            del rest[: end + 1]
            seen = 0
            # One that is too long has to stay so.
            if line := line if end > LONGEST_LINE else line.strip():
                yield line
        del rest[LONGEST_LINE + 1 :]
    if rest.strip():
        yield bytes(rest)


def _read_chunk(fd: int) -> bytes:
    try:
        return os.read(fd, READ_SIZE)
    except OSError:
        return b""  # a terminal that hung up says EIO


class Writer:
    """Writes lines on a thread, so that a client that does not read stalls nobody else."""

    def __init__(self, fd: int, on_lost: Callable[[], object]) -> None:
        self._fd = fd
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[tuple[bytes, asyncio.Future[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="mcp-out", daemon=True).start()

    async def write(self, line: bytes) -> None:
        """Write one line, and return when it is written or can't be."""
        done = self._loop.create_future()
        self._lines.put((line + b"\n", done))
        await done

    def _run(self) -> None:
        with suppress(RuntimeError):  # the loop is gone
            while True:
                line, done = self._lines.get()
                lost = not _write_all(self._fd, line)
                self._loop.call_soon_threadsafe(self._settle, done, lost)

    def _settle(self, done: asyncio.Future[Any], lost: bool) -> None:
        if lost:
            self._on_lost()
        if not done.done():
            done.set_result(None)


def _write_all(fd: int, data: bytes) -> bool:
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        return False
    return True
