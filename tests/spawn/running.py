"""Running a command through a spawner and collecting what comes of it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead.model.access import Denial
from fairlead.model.env import ExecEnv
from fairlead.model.output import Ending
from fairlead.model.params import Stdin
from fairlead.model.process import SpawnedProcess, Spawner
from fairlead.sandbox import none
from fairlead.spawn import launcher, tree
from fairlead.spawn.bare import BareProcess, BareSpawner
from fairlead.spawn.local import LocalSpawner
from fairlead.spawn.local_process import LocalProcess

AnySpawner = LocalSpawner | BareSpawner

PATIENCE = 60.0  # a hang would be seen
PATH = "/usr/local/bin:/usr/bin:/bin"


def protocols_hold(
    local: LocalSpawner, bare: BareSpawner, one: LocalProcess, other: BareProcess
) -> tuple[Spawner, Spawner, SpawnedProcess, SpawnedProcess]:
    """Never called: the type checker proves with it that both fit."""
    return local, bare, one, other


class Output:
    """Collects bytes. Satisfies `OutputSink`, and notes a breach of its rules."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ending: Ending | None = None
        self.held_open = False
        self.gone = False
        self.size_at_exit = -1
        self.threads: set[int] = set()
        self.breaches: list[str] = []
        self.denials: list[Denial] = []
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._feeding = threading.Lock()

    def feed(self, data: memoryview) -> None:
        if not self._feeding.acquire(blocking=False):
            self.breaches.append("fed by two threads at once")
            return
        self.threads.add(threading.get_ident())
        self.data += data
        self._feeding.release()
        self._loop.call_soon_threadsafe(self._changed.set)

    def exited(self, ending: Ending, held_open: bool) -> None:
        if self.ending is not None:
            self.breaches.append("exited twice")
        self.ending, self.held_open = ending, held_open
        self.size_at_exit = len(self.data)
        self._changed.set()

    def denied(self, denial: Denial) -> None:
        self.denials.append(denial)

    def tree_gone(self) -> None:
        if self.gone or self.ending is None:
            self.breaches.append("tree_gone twice, or before exited")
        self.gone = True
        self._changed.set()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something that output or an end brings about."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def shows(self, text: bytes) -> None:
        await self.until(lambda: text in self.data)


@dataclass
class Running:
    """A process and its output."""

    process: LocalProcess | BareProcess
    output: Output

    async def ended(self) -> Ending:
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()

    async def all_gone(self) -> None:
        await self.output.until(lambda: self.output.gone)
        assert self.output.breaches == []


def command(*argv: str, cwd: Path = Path("/"), **fields: Any) -> ExecEnv:
    fields.setdefault("env", {"PATH": PATH, "LANG": "C.UTF-8"})
    return ExecEnv(argv=argv, cwd=cwd, sandbox=none.REPORT, **fields)


def script(text: str, **fields: Any) -> ExecEnv:
    """Shell text, run by the plainest shell."""
    return command("sh", "-c", text, **fields)


def python(code: str, **fields: Any) -> ExecEnv:
    """Python code, started as lightly as it goes."""
    return command(sys.executable, "-ISc", code, **fields)


OPEN: Mapping[str, Any] = {"stdin": Stdin.OPEN}
TTY: Mapping[str, Any] = {"tty": True}


async def start(spawner: AnySpawner, env: ExecEnv) -> Running:
    output = Output()
    return Running(await spawner.spawn(env, output), output)


async def run(spawner: AnySpawner, env: ExecEnv) -> Output:
    """From start to the end of the command."""
    running = await start(spawner, env)
    await running.ended()
    assert running.output.breaches == []
    return running.output


def launcher_path() -> str:
    found = launcher.find()
    assert found, launcher.why_missing()
    return os.fspath(found)


def outside(pid: int) -> int:
    """Our number of a process that told its own: in a pid namespace that is another one."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            numbers = _numbers(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue
        if numbers[-1] == pid and os.getpid() in _ancestors(int(name)):
            return int(name)
    raise ProcessLookupError(pid)


def _numbers(pid: int) -> list[int]:
    """From the outermost pid namespace to its own."""
    text = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in text.splitlines() if line.startswith("NSpid:"))
    return [int(number) for number in line.split()[1:]]


def _ancestors(pid: int) -> Iterator[int]:
    at: int | None = pid
    while at:
        at = tree.parent(at)
        if at:
            yield at


async def eventually(condition: Callable[[], object]) -> None:
    """For what the kernel has no event for that we could wait on."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


def eventually_sync(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text[text.rindex(")") + 2] != "Z"


def open_descriptors() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            pass  # the listing's own
    return found
