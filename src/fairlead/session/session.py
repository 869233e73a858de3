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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from fairlead.model.access import Denial
from fairlead.model.env import ExecEnv
from fairlead.model.errors import BadRequest, Bug
from fairlead.model.frozen import replace
from fairlead.model.output import TIMEOUT_EXIT_CODE, Ending, StreamOutput
from fairlead.model.params import ExecParams, Size, Stdin
from fairlead.model.process import SpawnedProcess, Whom
from fairlead.session.endings import GRACE, Signalled, describe
from fairlead.session.log import OutputLog
from fairlead.session.utf8 import incomplete_tail

UNREAD_LIMIT = 1 << 20
REMEMBERED_CHUNKS = 64
REMEMBERED_DENIALS = 32


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
        self._on_finish: list[Callable[[], None]] = []
        self._on_tree_gone: list[Callable[[], None]] = []
        self.process_start = 0  # where in the log the output of this process begins
        self._calls = 0
        self._began = time.monotonic()
        self._wall_time: float | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._done = asyncio.Event()
        self._waiters: list[asyncio.Future[None]] = []
        self._pinged = False
        self._awaited = 0
        self._cursor = 0
        self._killed_by: str | None = None
        self._signalled: Signalled | None = None
        self._timed_out = False
        self._tree_gone = False
        self.env: ExecEnv | None = None  # what its last process was started from
        self._denials: dict[Denial, None] = {}
        self._end_task: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    # --- what the process tells us ---------------------------------------------------------

    def feed(self, data: memoryview) -> None:
        self.log.append(data)
        self.last_output = time.monotonic()
        if self._waiters or self.on_change:
            self._ping()

    def exited(self, ending: Ending, held_open: bool) -> None:
        if self.ending is None:  # else it was given up as a survivor, and reported so
            self.ending = self._judge_ending(ending)
        self.held_open = held_open
        self.tree_alive = ending.descendants_alive
        self._stop_clock()
        if self._end_task is None:  # else the call returns once the whole tree is gone
            self._finish()

    def tree_gone(self) -> None:
        self._tree_gone = True
        self.tree_alive = False
        self.held_open = False
        self.process = None  # an ended session is its log and its ending, nothing more
        callbacks, self._on_tree_gone = self._on_tree_gone, []
        for callback in callbacks:
            callback()
        self._changed()

    def denied(self, denial: Denial) -> None:
        if denial not in self._denials and len(self._denials) < REMEMBERED_DENIALS:
            self._denials[denial] = None

    def take_denials(self) -> tuple[Denial, ...]:
        """What was denied since somebody was told."""
        found = tuple(self._denials)
        self._denials.clear()
        return found

    # --- life ------------------------------------------------------------------------------

    def attach(self, process: SpawnedProcess) -> None:
        """The process runs; from now on this session answers for it."""
        if self._tree_gone:  # it was quicker than we were
            return
        self.process = process
        if self.params.timeout is not None and self.ending is None:
            self._deadline = self._loop.call_later(self.params.timeout, self._time_is_up)

    @property
    def running(self) -> bool:
        return not self._done.is_set()

    @property
    def takes_input(self) -> bool:
        return self.params.tty or self.params.stdin is Stdin.OPEN

    @property
    def wall_time(self) -> float:
        """Seconds that the process has lived."""
        return time.monotonic() - self._began if self._wall_time is None else self._wall_time

    @property
    def cursor(self) -> int:
        return self._cursor

    @property
    def busy(self) -> bool:
        """A call works with it at this moment."""
        return self._calls > 0 or self.interaction.locked()

    @contextmanager
    def in_call(self) -> Iterator[None]:
        """While inside, a call works with it."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    def on_finish(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once, when the command has ended; at once, if it has. Returns the way to
        take that back."""
        self._on_finish.append(callback)
        if self._done.is_set():
            self._tell_finish()

        def take_back() -> None:
            with suppress(ValueError):
                self._on_finish.remove(callback)

        return take_back

    def on_tree_gone(self, callback: Callable[[], None]) -> None:
        """Call back once, when nothing of this process's tree is left."""
        self._on_tree_gone.append(callback)

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
        process = self._living()
        self._signalled = Signalled(by=by, signum=signum, at=time.monotonic())
        process.signal(signum, whom)

    async def end(self, *, by: str, timed_out: bool = False) -> None:
        """Ask, wait, insist. Returns when every process of the session is gone, also if the
        caller is cancelled meanwhile: the task goes on and is awaited by whoever comes next."""
        if self._end_task is None:
            if self.process is None or not (self.running or self.tree_alive):
                return
            if self.ending is None:
                self._killed_by, self._timed_out = by, timed_out
            self._end_task = self._loop.create_task(self._end(self.process))
        await asyncio.shield(self._end_task)

    def revive(self, params: ExecParams) -> Callable[[], None]:
        """The command ended and another takes its place: same id, same log. Returns the way
        back, for when that one does not start."""
        if self.running:
            raise Bug("a session was started anew while its process runs")
        former = (self.params, self.ending, self.ended_at, self.started_at, self._wall_time)
        self.params = params
        self.process = self.ending = self.ended_at = self._wall_time = None
        self._killed_by = self._signalled = self._end_task = self._deadline = None
        self.held_open = self.tree_alive = self._tree_gone = self._timed_out = False
        self.started_at, self._began = time.time(), time.monotonic()
        self.process_start = self.log.size
        self._done.clear()

        def undo() -> None:
            self.params, self.ending, self.ended_at, self.started_at, self._wall_time = former
            self._tree_gone = True
            self._finish()

        return undo

    def forget_killer(self) -> None:
        """A signal was survived: it is not what will end the command."""
        self._signalled = None

    def forget(self) -> None:
        """Drop the log. The session must have ended."""
        self.log.close()

    # --- waiting and reading ---------------------------------------------------------------

    async def wait_done(self, seconds: float | None) -> bool:
        """Wait for the exit, at most so long. True if it has ended."""
        if self._done.is_set():
            return True
        try:
            with self.attention():
                if seconds is None:
                    await self._done.wait()
                else:
                    async with asyncio.timeout(seconds):
                        await self._done.wait()
        except TimeoutError:
            return False
        return True

    @contextmanager
    def attention(self) -> Iterator[None]:
        """While inside, the output is read on the event loop, before that of all others."""
        self._await(1)
        try:
            yield
        finally:
            self._await(-1)

    async def change(self, seen: int) -> None:
        """Wait until there is more output than the `seen` bytes, or the state changed. Returns
        at once when the command has ended.

        The reader thread may append between the caller's look and this wait: so the waiter is
        registered first, and then the log is looked at once more.
        """
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            if self.running and self.log.size == seen:
                await waiter
        finally:
            with suppress(ValueError):
                self._waiters.remove(waiter)

    def take_unread(self, limit: int = UNREAD_LIMIT) -> StreamOutput:
        """What came since the last look: its head and tail, and how much fell out between."""
        # One look: the reader thread may append between a look at the size and one at the bytes.
        last = self.log.tail(4)
        end = last.end
        if self.running or self.held_open:  # a character on its way belongs to the next look
            end -= incomplete_tail(last.data)
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
        if self.ending is not None:
            raise BadRequest(f"session {self.id} has ended ({describe(self.ending)})")
        if self.process is None:
            raise Bug("a session without a process was used")
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
        by = self._killed_by
        if by is None and self._signalled is not None:
            by = self._signalled.responsible_for(ending)
        return replace(ending, code=code, timed_out=self._timed_out, killed_by=by)

    def _time_is_up(self) -> None:
        self._deadline = None
        by = f"timeout after {self.params.timeout:g} s"
        # `end` keeps its own task: this one only starts it.
        self._timeout_task = self._loop.create_task(self.end(by=by, timed_out=True))

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self.ended_at is None:
            self.ended_at = time.time()
            self._wall_time = time.monotonic() - self._began

    def _finish(self) -> None:
        self._stop_clock()
        self._done.set()
        self._changed()
        self._tell_finish()

    def _tell_finish(self) -> None:
        callbacks, self._on_finish = self._on_finish, []
        for callback in callbacks:
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
