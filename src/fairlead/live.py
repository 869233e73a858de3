"""Commands in live shells: what `run_in_session` does.

A live shell is an ordinary session whose program is a shell at its prompt, ours or one that the
agent started. The command is put into memory of ours, the shell is made to read it from there
(shells/integration.py), and marks in the output tell where its own output lies in the log.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from fairlead.model.errors import BadRequest, Rejected
from fairlead.model.params import Shell
from fairlead.model.process import Whom
from fairlead.session.endings import GRACE
from fairlead.session.session import Session
from fairlead.session.stay import in_spite_of_cancelling, wait_in_spite_of_cancelling
from fairlead.shells import integration
from fairlead.shells.integration import Marks, Place

READY_WITHIN = 5.0  # seconds for a shell to come to its prompt and read the bootstrap
_OVERLAP = 4096
_BLOCK = 256 * 1024

Restart = Callable[["LiveShell"], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOutput:
    """What one command in a live shell came to."""

    start: int  # its output is this range of the session's log
    end: int
    code: int
    cwd: str | None
    wall_time: float
    timed_out: bool = False
    exited: bool = False  # the command ended the shell; there is a fresh one
    descendants_alive: bool = False
    survivors: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """A mark that says that the command is over."""

    start: int
    end: int
    after: int
    code: int
    cwd: str | None
    exited: bool = False


class LiveShell:
    """The driver of one shell session."""

    def __init__(self, session: Session, shell: Shell, restart: Restart) -> None:
        self.session = session
        self.shell = shell
        self.cwd: str | None = None
        self.lock = asyncio.Lock()
        self._restart = restart
        self._nonce = secrets.token_hex(8)
        self._number = 0
        self._command = os.memfd_create("fairlead-command")
        self._state = os.memfd_create("fairlead-state")
        self._ready = False

    @property
    def place(self) -> Place:
        """Where the shell finds the two files: by our own descriptors, never on a disk."""
        ours = f"/proc/{os.getpid()}/fd"
        return Place(f"{ours}/{self._command}", f"{ours}/{self._state}")

    def close(self) -> None:
        for fd in (self._command, self._state):
            with suppress(OSError):
                os.close(fd)

    async def prepare(self, before: str = "") -> None:
        """Make the shell read the bootstrap, `before` first. Raises if it does not answer."""
        if self._ready:
            return
        self._put(integration.bootstrap(self.shell.kind, self._nonce, self.place, before))
        start = self.session.log.size
        self.session.write(integration.load_line(self.place))
        marks = integration.marks(self._nonce, 0)
        if await self._find(marks.ready, start, time.monotonic() + READY_WITHIN) is None:
            raise Rejected(
                f"session {self.session.id} did not answer like a shell at its prompt; "
                "it may be busy or run another program (look with read_output)"
            )
        self._ready = True

    async def run(self, command: str, timeout: float, *, open_stdin: bool) -> LiveOutput:
        """Run one command and return when it is over, or when its time is."""
        with self.session.attention():
            return await self._run(command, timeout, open_stdin=open_stdin)

    async def _run(self, command: str, timeout: float, *, open_stdin: bool) -> LiveOutput:
        began = time.monotonic()
        await self.prepare()
        self._number += 1
        marks = integration.marks(self._nonce, self._number)
        before = self._processes()
        self._put(command)
        start = self.session.log.size
        line = integration.run_line(
            self.shell.kind, self.place, self._number, open_stdin=open_stdin
        )
        self.session.write(line)
        try:
            end = await self._wait_end(marks, start, began + timeout)
        except asyncio.CancelledError:
            await in_spite_of_cancelling(self._stop_command(marks, start, before))
            raise
        if end is not None:
            return await self._finished(end, began)
        timed_out = asyncio.create_task(self._timed_out(marks, start, before, began))
        return await wait_in_spite_of_cancelling(timed_out)

    # --- the end ---------------------------------------------------------------------------

    async def _finished(self, end: _End, began: float) -> LiveOutput:
        self.cwd = end.cwd or self.cwd
        self.session.skip_unread()
        output = LiveOutput(
            start=end.start,
            end=end.end,
            code=end.code,
            cwd=self.cwd,
            wall_time=time.monotonic() - began,
            exited=end.exited,
            descendants_alive=len(self._processes() - {self._shell_pid()}) > 0,
        )
        if end.exited and not await self._ended_by_somebody():
            await self._renew()
        return output

    async def _ended_by_somebody(self) -> bool:
        """Not the command ended the shell, but kill_session or an eviction: that is meant."""
        await self.session.wait_done(GRACE)
        return self.session.ending is not None and self.session.ending.killed_by is not None

    async def _timed_out(
        self, marks: Marks, start: int, before: set[int], began: float
    ) -> LiveOutput:
        """End what the command started; keep what it wrote; make the shell usable again."""
        cut = self.session.log.size
        survivors = await self._stop_command(marks, start, before)
        begin = self._search(marks.begin, start)
        self.session.skip_unread()
        return LiveOutput(
            start=begin[1] if begin else start,
            end=max(cut, begin[1] if begin else start),
            code=124,
            cwd=self.cwd,
            wall_time=time.monotonic() - began,
            timed_out=True,
            survivors=survivors,
        )

    async def _stop_command(self, marks: Marks, start: int, before: set[int]) -> tuple[int, ...]:
        """TERM, two seconds, KILL for all that this command started. The shell itself stays, if
        it comes back to its prompt; otherwise it is replaced."""
        import signal

        self._signal_new(before, signal.SIGTERM)
        end = await self._wait_end(marks, start, time.monotonic() + GRACE / 10)
        if end is None:  # it ignores that, or loops in the shell itself
            self.session.signal(signal.SIGINT, by="timeout of a command", whom=Whom.GROUP)
            self._signal_shell(signal.SIGINT)
            end = await self._wait_end(marks, start, time.monotonic() + GRACE)
        await self._insist(before)
        if end is None:
            end = await self._wait_end(marks, start, time.monotonic() + GRACE / 4)
        survivors = tuple(self._processes() - before)
        self.session.forget_killer()
        if end is None or end.exited:
            await self.session.end(by="a command that did not stop at its timeout")
            await self._renew()
        else:
            self.cwd = end.cwd or self.cwd
        return survivors

    async def _insist(self, before: set[int]) -> None:
        import signal

        deadline = time.monotonic() + GRACE
        while self._signal_new(before, 0) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)  # the kernel has no event for "all of these are gone"
        for _ in range(50):
            if not self._signal_new(before, signal.SIGKILL):
                return
            await asyncio.sleep(0.01)

    async def _renew(self) -> None:
        """A fresh shell in the same directory and with the same exported variables."""
        if not await self.session.wait_done(GRACE):
            await self.session.end(by="the shell was replaced")
        state = self._read_state()
        self._ready = False
        await self._restart(self)
        await self.prepare(state)

    # --- marks -----------------------------------------------------------------------------

    async def _wait_end(self, marks: Marks, start: int, deadline: float) -> _End | None:
        """The end of the command, or None when the deadline comes first."""
        scanned = start
        while True:
            seen = self.session.log.size
            if (found := self._end(marks, start, scanned)) is not None:
                return found
            scanned = max(start, seen - _OVERLAP)
            if not self.session.running:
                return self._end_by_exit(marks, start)
            if not await self._change_before(seen, deadline):
                return None

    def _end(self, marks: Marks, start: int, scanned: int) -> _End | None:
        for pattern, exited in ((marks.end, False), (marks.exit, True)):
            if (found := self._search(pattern, scanned)) is not None:
                match, at = found[2], found[0]
                cwd = os.fsdecode(match.group(2))
                return self._made(marks, start, at, found[1], int(match.group(1)), cwd, exited)
        begin = self._search(marks.begin, start)
        prompt = self._search(marks.prompt, max(begin[1], scanned)) if begin else None
        if prompt is None:
            return None
        # A prompt without an end mark: the command was interrupted, or the shell refused it.
        return self._made(
            marks, start, prompt[0], prompt[1], int(prompt[2].group(1)), None, exited=False
        )

    def _end_by_exit(self, marks: Marks, start: int) -> _End:
        """The shell is gone without a word (`exec`, a signal): its ending is the answer."""
        size = self.session.log.size
        ending = self.session.ending
        code = ending.code if ending is not None else 1
        return self._made(marks, start, size, size, code, None, exited=True)

    def _made(
        self,
        marks: Marks,
        start: int,
        at: int,
        after: int,
        code: int,
        cwd: str | None,
        exited: bool,
    ) -> _End:
        begin = self._search(marks.begin, start)
        first = begin[1] if begin else start
        return _End(start=first, end=max(first, at), after=after, code=code, cwd=cwd, exited=exited)

    async def _find(
        self, pattern: re.Pattern[bytes], start: int, deadline: float
    ) -> tuple[int, int, re.Match[bytes]] | None:
        scanned = start
        while True:
            seen = self.session.log.size
            if (found := self._search(pattern, scanned)) is not None:
                return found
            scanned = max(start, seen - _OVERLAP)
            if not self.session.running or not await self._change_before(seen, deadline):
                return None

    def _search(
        self, pattern: re.Pattern[bytes], start: int
    ) -> tuple[int, int, re.Match[bytes]] | None:
        """(begin, end, match) of the first match at or after `start`, in bounded memory."""
        log = self.session.log
        position = start
        while position < log.size:
            data = log.range_bytes(position, min(log.size, position + _BLOCK))
            match = pattern.search(data)
            if match is not None:
                return position + match.start(), position + match.end(), match
            if len(data) < _BLOCK:
                return None
            position += _BLOCK - _OVERLAP
        return None

    async def _change_before(self, seen: int, deadline: float) -> bool:
        try:
            async with asyncio.timeout_at(_loop_time(deadline)):
                await self.session.change(seen)
        except TimeoutError:
            return False
        return True

    # --- processes and memory --------------------------------------------------------------

    def _processes(self) -> set[int]:
        process = self.session.process
        return set(process.descendants()) if process is not None else set()

    def _signal_new(self, before: set[int], signum: int) -> int:
        """Signal every process that the command started; says how many there are."""
        count = 0
        for pid in self._processes() - before - {self._shell_pid()}:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signum)
                count += 1
        return count

    def _signal_shell(self, signum: int) -> None:
        if pid := self._shell_pid():  # 0 would be ourselves
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signum)

    def _shell_pid(self) -> int:
        return self.session.process.pid if self.session.process is not None else 0

    def _put(self, text: str) -> None:
        content = os.fsencode(text)
        os.ftruncate(self._command, 0)
        written = 0
        while written < len(content):
            written += os.pwrite(self._command, content[written:], written)

    def _read_state(self) -> str:
        size = os.fstat(self._state).st_size
        text = os.fsdecode(os.pread(self._state, size, 0))
        os.ftruncate(self._state, 0)
        return text


def shell_of(session: Session) -> Shell:
    """The shell that a session runs in the foreground. Raises if it runs none."""
    if not session.running or session.process is None:
        raise BadRequest(f"session {session.id} has ended")
    program = session.process.foreground_program()
    kind = integration.kind_of(program) if program else None
    if program is None or kind is None:
        raise BadRequest(
            f"session {session.id} is not a shell at its prompt: {program or 'a program'} is in "
            "the foreground (run_in_session drives bash, zsh and sh)"
        )
    return Shell(kind=kind, path=program.lstrip("-"))


def _loop_time(monotonic: float) -> float:
    return asyncio.get_running_loop().time() + (monotonic - time.monotonic())
