"""A spawner that starts nothing: each command is a coroutine that plays it."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import Awaitable, Callable

from fairlead.model.env import ExecEnv
from fairlead.model.errors import BadRequest
from fairlead.model.output import Ending
from fairlead.model.params import Size, Stdin
from fairlead.model.process import OutputSink, Whom

_ENDS = frozenset(
    (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGTERM, signal.SIGPIPE)
)
_FIRST_PID = 4_200_000  # beyond what a kernel gives out: a mistake hits nobody


class FakeProcess:
    """A command that is played. Satisfies `SpawnedProcess`.

    The play writes with `say`, takes its input with `read`, and returns the exit code. A signal
    that ends programs ends it, unless it is among those it `ignores`.
    """

    def __init__(self, env: ExecEnv, sink: OutputSink, pid: int) -> None:
        self.env = env
        self.pid = self.inner_pid = pid
        self.size = env.size
        self.signals: list[int] = []
        self.ignores: frozenset[int] = frozenset()
        self.ports: set[int] = set()
        self._sink = sink
        self._input = bytearray()
        self._input_ended = env.stdin is Stdin.NULL and not env.tty
        self._more_input = asyncio.Event()
        self._reading = False
        self._killed_by: int | None = None
        self._task: asyncio.Task[int] | None = None
        self._ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    # --- for the play ----------------------------------------------------------------------

    def say(self, data: bytes | str) -> None:
        """Write output."""
        encoded = data.encode() if isinstance(data, str) else data
        if encoded and not self._ended.done():
            self._sink.feed(memoryview(encoded))

    async def read(self) -> bytes:
        """All input that is there, or the next that comes; nothing at its end."""
        self._reading = True
        try:
            while not self._input and not self._input_ended:
                self._more_input.clear()
                await self._more_input.wait()
        finally:
            self._reading = False
        found = bytes(self._input)
        self._input.clear()
        return found

    # --- for the engine --------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if self._input_ended:
            raise BadRequest("stdin is closed for this session")
        self._input += data
        self._more_input.set()

    def close_stdin(self) -> None:
        self._input_ended = True
        self._more_input.set()

    def shared_directory(self) -> tuple[int, str] | None:
        return None

    def resize(self, size: Size) -> None:
        if not self.env.tty:
            raise BadRequest("the session has no terminal to resize; start it with tty=true")
        self.size = size

    def signal(self, signum: int, whom: Whom = Whom.GROUP) -> None:
        self.signals.append(signum)
        ignored = signum in self.ignores and signum != signal.SIGKILL
        if signum in _ENDS and not ignored and self._task is not None and not self._task.done():
            self._killed_by = signum
            self._task.cancel()

    async def end_tree(self, grace: float) -> tuple[int, ...]:
        self.signal(signal.SIGTERM)
        if not await self._ended_within(grace):
            self.signal(signal.SIGKILL)
            await self.wait()
        return ()

    async def wait(self) -> Ending:
        return await asyncio.shield(self._ended)

    def awaited(self, yes: bool) -> None:
        """Nothing here is read sooner or later."""

    def descendants(self) -> list[int]:
        return [] if self._ended.done() else [self.pid]

    def foreground_program(self) -> str | None:
        return None if self._ended.done() else self.env.argv[0].rpartition("/")[2]

    def listens_on(self, port: int) -> bool:
        return port in self.ports and not self._ended.done()

    def translates_newlines(self) -> bool:
        return False

    def waiting_for_input(self) -> bool:
        return self._reading and not self._input and not self._ended.done()

    # --- for the spawner -------------------------------------------------------------------

    def start(self, play: Play) -> None:
        self._task = asyncio.create_task(self._played(play))
        self._task.add_done_callback(self._over)

    async def _played(self, play: Play) -> int:
        return await play(self)

    def _over(self, task: asyncio.Task[int]) -> None:
        number = self._killed_by if task.cancelled() else None
        if not task.cancelled() and (error := task.exception()) is not None:
            self.say(f"{type(error).__name__}: {error}\n")
            code = 1
        else:
            code = 128 + (number or signal.SIGKILL) if task.cancelled() else task.result()
        ending = Ending(code=code, signal=number)
        self._ended.set_result(ending)
        self._sink.exited(ending, False)
        self._sink.tree_gone()

    async def _ended_within(self, seconds: float) -> bool:
        done, _ = await asyncio.wait((self._ended,), timeout=seconds)
        return bool(done)


Play = Callable[[FakeProcess], Awaitable[int]]


async def says_its_argv(process: FakeProcess) -> int:
    """The play of a spawner that was told none: it prints its arguments."""
    process.say(" ".join(process.env.argv) + "\n")
    return 0


class FakeSpawner:
    """Plays commands in memory. Satisfies `Spawner`. `spawned` has what was asked of it."""

    def __init__(self, play: Play = says_its_argv) -> None:
        self.spawned: list[ExecEnv] = []
        self.processes: list[FakeProcess] = []
        self.released: list[str] = []  # agents
        self.closed = False
        self._play = play
        self._pids = itertools.count(_FIRST_PID)

    async def spawn(self, env: ExecEnv, sink: OutputSink) -> FakeProcess:
        process = FakeProcess(env, sink, next(self._pids))
        self.spawned.append(env)
        self.processes.append(process)
        process.start(self._play)
        return process

    def release(self, agent: str) -> None:
        self.released.append(agent)

    async def close(self) -> None:
        """End every play that still runs."""
        self.closed = True
        await asyncio.gather(*(one.end_tree(0.0) for one in self.processes if one.descendants()))
