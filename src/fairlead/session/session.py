"""One session: a process, everything it ever wrote, and whoever waits for it.

The log is the truth. What a call hands back is a range of it (`take_unread`), a watcher is a
cursor into it, and so nobody who is slow can make the process or another watcher slow.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from fairlead.model.errors import BadRequest, Bug
from fairlead.model.output import TIMEOUT_EXIT_CODE, Ending, StreamOutput
from fairlead.model.params import ExecParams, Size, Stdin
from fairlead.model.process import SpawnedProcess, Whom
from fairlead.session.log import OutputLog
from fairlead.session.utf8 import incomplete_tail

GRACE = 2.0  # seconds between asking and insisting
UNREAD_LIMIT = 1 << 20
REMEMBERED_CHUNKS = 64


class Session:
    """A child with an id, a log and watchers. Satisfies `OutputSink`."""

    def __init__(self, session_id: int, params: ExecParams, log: OutputLog) -> None:
        self.id = session_id
        self.params = params
        self.log = log
        self.process: SpawnedProcess | None = None
        self.ending: Ending | None = None
        self.held_open = False
        self.tree_alive = False
        self.size = params.size
        self.started_at = time.time()
        self.ended_at: float | None = None
        self.last_used = time.monotonic()
        self.last_output = time.monotonic()
        self.interaction = asyncio.Lock()  # one writer or poller at a time
        self.chunks: dict[str, tuple[int, int]] = {}  # by chunk id, the range of each answer
        self.on_change: list[Callable[[Session], None]] = []
        self._on_finish: Callable[[], None] | None = None
        self._began = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._done = asyncio.Event()
        self._waiters: list[asyncio.Future[None]] = []
        self._pinged = False
        self._awaited = 0
        self._cursor = 0
        self._killed_by: str | None = None
        self._timed_out = False
        self._end_task: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    # --- what the process tells us ---------------------------------------------------------

    def feed(self, data: memoryview) -> None:
        self.log.append(data)
        self.last_output = time.monotonic()
        if self._waiters or self.on_change:
            self._ping()

    def exited(self, ending: Ending, held_open: bool) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.ending = self._judge_ending(ending)
        self.held_open = held_open
        self.tree_alive = ending.descendants_alive
        self.ended_at = time.time()
        if self._end_task is None:  # else the call returns once the whole tree is gone
            self._finish()

    def tree_gone(self) -> None:
        self.tree_alive = False
        self.held_open = False
        self._changed()

    # --- life ------------------------------------------------------------------------------

    def attach(self, process: SpawnedProcess) -> None:
        """The process runs; from now on this session answers for it."""
        self.process = process
        if self.params.timeout is not None:
            self._deadline = self._loop.call_later(self.params.timeout, self._time_is_up)
        if not self._awaited:
            process.awaited(False)

    @property
    def running(self) -> bool:
        return not self._done.is_set()

    @property
    def takes_input(self) -> bool:
        return self.params.tty or self.params.stdin is Stdin.OPEN

    @property
    def wall_time(self) -> float:
        if self.ended_at is not None:
            return max(0.0, self.ended_at - self.started_at)
        return time.monotonic() - self._began

    @property
    def cursor(self) -> int:
        return self._cursor

    def on_finish(self, callback: Callable[[], None]) -> None:
        """Call back once, when the command has ended. At once, if it has."""
        self._on_finish = callback
        if self._done.is_set():
            self._tell_finish()

    def touch(self) -> None:
        self.last_used = time.monotonic()

    def write(self, data: bytes) -> None:
        self._living().write(data)

    def close_stdin(self) -> None:
        self._living().close_stdin()

    def resize(self, size: Size) -> None:
        self._living().resize(size)
        self.size = size

    def signal(self, signum: int, *, by: str, whom: Whom = Whom.GROUP) -> None:
        """Send a signal. If it ends the command, the record says who sent it."""
        self._killed_by = f"{by} ({signal.Signals(signum).name})"
        self._living().signal(signum, whom)

    async def end(self, *, by: str, timed_out: bool = False) -> None:
        """Ask, wait, insist. Returns when every process of the session is gone, also if the
        caller is cancelled meanwhile: the task goes on and is awaited by whoever comes next."""
        if self._end_task is None:
            if self.process is None or (not self.running and not self.tree_alive):
                return
            if self.ending is None:
                self._killed_by, self._timed_out = by, timed_out
            self._end_task = self._loop.create_task(self._end(self.process))
        await asyncio.shield(self._end_task)

    def revive(self, params: ExecParams) -> None:
        """The command ended and another takes its place: same id, same log."""
        self.params = params
        self.ending = self.ended_at = self._killed_by = self._end_task = self._deadline = None
        self.held_open = self.tree_alive = self._timed_out = False
        self._done.clear()

    def forget_killer(self) -> None:
        """A signal was survived: it is not what will end the command."""
        self._killed_by = None

    def forget(self) -> None:
        """Drop the log. The session must have ended."""
        self.log.close()

    # --- waiting and reading ---------------------------------------------------------------

    async def wait_done(self, seconds: float | None) -> bool:
        """Wait for the exit, at most so long. True if it has ended."""
        if self._done.is_set():
            return True
        self._await(1)
        try:
            async with asyncio.timeout(seconds):
                await self._done.wait()
        except TimeoutError:
            return False
        finally:
            self._await(-1)
        return True

    async def change(self) -> None:
        """Wait until there is new output or the state changed."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        self._await(1)
        try:
            await waiter
        finally:
            self._await(-1)

    def take_unread(self, limit: int = UNREAD_LIMIT) -> StreamOutput:
        """What came since the last look: its head and tail, and how much fell out between."""
        end = self.log.size
        if self.running:  # a character that is still on its way belongs to the next look
            end -= incomplete_tail(self.log.tail(4).data)
        start, self._cursor = self._cursor, max(end, self._cursor)
        return self.log.collect(start, self._cursor, limit).stream()

    def remember_chunk(self, start: int, end: int) -> str:
        """An id by which this stretch of output can be asked for again."""
        chunk_id = secrets.token_hex(3)
        self.chunks[chunk_id] = (start, end)
        if len(self.chunks) > REMEMBERED_CHUNKS:
            del self.chunks[next(iter(self.chunks))]
        return chunk_id

    def skip_unread(self) -> None:
        self._cursor = self.log.size

    # --- inside ----------------------------------------------------------------------------

    def _living(self) -> SpawnedProcess:
        if self.process is None:
            raise Bug("a session without a process was used")
        if self.ending is not None:
            raise BadRequest(f"session {self.id} has ended ({describe(self.ending)})")
        return self.process

    async def _end(self, process: SpawnedProcess) -> None:
        survivors = await process.end_tree(GRACE)
        if self.ending is None and not survivors:
            await process.wait()
        if survivors:
            base = self.ending or self._judge_ending(Ending(code=137, signal=signal.SIGKILL))
            self.ending = replace(base, survivors=survivors)
        if self.ending is not None:
            self.ending = replace(self.ending, descendants_alive=bool(survivors))
        self._finish()

    def _judge_ending(self, ending: Ending) -> Ending:
        code = TIMEOUT_EXIT_CODE if self._timed_out else ending.code
        return replace(ending, code=code, timed_out=self._timed_out, killed_by=self._killed_by)

    def _time_is_up(self) -> None:
        self._deadline = None
        by = f"timeout after {self.params.timeout:g} s"
        self._timeout_task = self._loop.create_task(self.end(by=by, timed_out=True))

    def _finish(self) -> None:
        if self.ended_at is None:
            self.ended_at = time.time()
        self._done.set()
        self._changed()
        self._tell_finish()

    def _tell_finish(self) -> None:
        callback, self._on_finish = self._on_finish, None
        if callback is not None:
            callback()

    def _await(self, step: int) -> None:
        before, self._awaited = self._awaited, self._awaited + step
        if self.process is not None and (before == 0) != (self._awaited == 0):
            self.process.awaited(self._awaited > 0)

    def _ping(self) -> None:
        """Wake those who wait. From the reader thread, one wake-up at a time is on its way."""
        if threading.get_ident() == self._thread:
            self._changed()
        elif not self._pinged:
            self._pinged = True
            self._loop.call_soon_threadsafe(self._changed)

    def _changed(self) -> None:
        self._pinged = False
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        for callback in list(self.on_change):
            callback(self)


def describe(ending: Ending) -> str:
    """An ending in words: how, and by whom."""
    how = f"exit code {ending.code}"
    if ending.signal is not None:
        how = f"signal {signal.Signals(ending.signal).name}"
    if ending.timed_out:
        how = f"timed out, exit code {ending.code}"
    return f"{how}, ended by {ending.killed_by}" if ending.killed_by else how
