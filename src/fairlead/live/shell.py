"""The driver of one live shell."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from fairlead.live.family import Family, now
from fairlead.live.marks import CommandMarks, MarkReader, Over
from fairlead.live.memory import SharedMemory
from fairlead.live.stopping import Stop
from fairlead.live.task import LiveOutput, Task
from fairlead.model.errors import BadRequest, Rejected
from fairlead.model.frozen import dataclass, replace
from fairlead.model.output import TIMEOUT_EXIT_CODE
from fairlead.model.params import Shell
from fairlead.session.endings import GRACE, describe
from fairlead.session.session import Session
from fairlead.session.stay import in_spite_of_cancelling, wait_in_spite_of_cancelling
from fairlead.shells import integration
from fairlead.shells.integration import Saved
from fairlead.spawn import tree

READY_WITHIN = 5.0  # seconds for a shell to come to its prompt and to read the bootstrap
_LOOK = 0.02  # the kernel has no event for "it waits for input"
_SETTLED_WITHIN = 0.3  # seconds for a prompt hook to end, before it is taken for a background job

_OURS = "its shell was replaced"

_REPLACED = "the shell did not stop and was replaced: what was not exported is lost"
_UNSAVED = "the shell ended without leaving its state; a fresh one took its place"
_JOBS_ENDED = "background processes of the shell that ended were ended too"

Restart = Callable[["LiveShell"], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """One command that was typed."""

    marks: CommandMarks
    before: frozenset[int]
    began: float
    since: int  # the same moment, as the kernel dates processes


class LiveShell:
    """Runs commands in one shell session, one at a time."""

    def __init__(self, session: Session, shell: Shell, restart: Restart, opening: str = "") -> None:
        self.session = session
        self.shell = shell
        self.opening = opening  # what each shell of this session is told first
        self.cwd: str | None = None
        self.argv: tuple[str, ...] = ()  # how the shell was started, to start another one so
        self.lock = asyncio.Lock()
        self._restart = restart
        self._nonce = secrets.token_hex(8)
        self._pattern = integration.marks(self._nonce)
        self._memory = SharedMemory()
        self._number = 0
        self._family: Family | None = None  # once the shell is ready
        self._interactive = True

    @property
    def ready(self) -> bool:
        return self._family is not None

    def close(self) -> None:
        self._forget_family()
        self._memory.close()

    # --- getting ready ---------------------------------------------------------------------

    async def wait_prompt(self) -> None:
        """Return when the shell waits for input. Raises if it does something else."""
        deadline = time.monotonic() + READY_WITHIN
        process = self.session.process
        while process is not None and not process.waiting_for_input():
            if time.monotonic() > deadline:
                raise BadRequest(
                    f"session {self.session.id} is busy: its shell runs something; nothing was "
                    "typed (look with read_output, or wait with wait_for)"
                )
            await asyncio.sleep(_LOOK)

    async def prepare(self, before: str = "") -> None:
        """Make the shell read the bootstrap, `before` (a state) first. Raises if it does not
        answer."""
        process = self.session.process
        try:
            if process is not None:
                self._memory.meet(process)
        except OSError:
            raise Rejected(f"session {self.session.id} has ended") from None
        self._memory.put(
            integration.bootstrap(
                self.shell.kind, self._nonce, self._memory.place, self.opening + before
            )
        )
        reader = MarkReader(self.session.log, self._pattern, self.session.log.size)
        self.session.write(integration.load_line(self._memory.place))
        said = await self._ready_mark(reader)
        if said is None:
            raise Rejected(
                f"session {self.session.id} did not answer like a shell at its prompt; "
                "it may be busy or run another program (look with read_output)"
            )
        self._interactive = b"i" in said["flags"]
        self.cwd = os.fsdecode(said["place"])
        self._meet(int(said["pid"]))

    async def _ready_mark(self, reader: MarkReader) -> dict[str, bytes] | None:
        with suppress(TimeoutError), self.session.attention():
            async with asyncio.timeout(READY_WITHIN):
                while self.session.running:
                    seen = self.session.log.size
                    while (mark := reader.next()) is not None:
                        if mark.said["ready"]:
                            return mark.said.groupdict()
                    await self.session.change(seen)
        return None

    def _meet(self, pid: int) -> None:
        """The shell may run below the program that the session was started with."""
        process = self.session.process
        if process is None:
            raise Rejected(f"session {self.session.id} has ended")
        alive = process.descendants()  # under other numbers than the shell's, if it is confined
        pid = next((one for one in alive if tree.number_inside(one) == pid), process.pid)
        self._forget_family()
        self._family = Family(process, pid)
        self.argv = self.argv or self._family.argv()

    def _forget_family(self) -> None:
        if self._family is not None:
            self._family.close()
        self._family = None

    # --- one command -----------------------------------------------------------------------

    async def run(self, task: Task) -> LiveOutput:
        """Run one command and return when it is over, or when its time is."""
        with self.session.attention():
            if self._family is None:
                await self.wait_prompt()
                await self.prepare()
            command, family = self._type(task), self._here()
            try:
                over = await self._wait_over(command.marks, task.timeout)
            except asyncio.CancelledError:
                await in_spite_of_cancelling(self._stop(command, family))
                raise
            if over is None:
                timed_out = asyncio.create_task(self._timed_out(command, family))
                return await wait_in_spite_of_cancelling(timed_out)
            return await self._finished(command, family, over)

    def _here(self) -> Family:
        assert self._family is not None
        return self._family

    def _type(self, task: Task) -> _Running:
        self._number += 1
        self._memory.put(integration.run_text(self.shell.kind, task.command))
        start = self.session.log.size
        reader = MarkReader(self.session.log, self._pattern, start)
        running = _Running(
            marks=CommandMarks(reader, self._number, start),
            before=self._here().roots(),
            began=time.monotonic(),
            since=now(),
        )
        self.session.write(
            integration.run_line(
                self.shell.kind, self._memory.place, self._number, open_stdin=task.open_stdin
            )
        )
        return running

    async def _wait_over(self, marks: CommandMarks, seconds: float) -> Over | None:
        """The end of the command, or None when the time is up first."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    seen = self.session.log.size
                    if (over := marks.look()) is not None:
                        return over
                    if not self.session.running:
                        return self._over_by_exit(marks)
                    await self.session.change(seen)
        except TimeoutError:
            return None

    def _over_by_exit(self, marks: CommandMarks) -> Over:
        """The shell is gone without a word (`exec`, a signal): its ending is the answer."""
        ending = self.session.ending
        code = ending.code if ending is not None else 1
        end = self.session.log.size if marks.begun else marks.start
        return Over(start=marks.start, end=end, code=code, exited=True)

    async def _finished(self, command: _Running, family: Family, over: Over) -> LiveOutput:
        self.cwd = over.cwd or self.cwd
        self.session.skip_unread()
        output = LiveOutput(
            start=over.start,
            end=over.end,
            code=over.code,
            cwd=self.cwd,
            wall_time=time.monotonic() - command.began,
            translated=self._translated(),
        )
        if over.exited:
            return await self._shell_ended(output)
        if family.roots() <= command.before:
            return output
        return replace(output, descendants_alive=await self._someone_stays(command, family))

    async def _someone_stays(self, command: _Running, family: Family) -> bool:
        """Somebody new is there, who may be a background process or a hook of the prompt."""
        deadline = time.monotonic() + _SETTLED_WITHIN
        while family.newcomers(command.before, command.since):
            process = self.session.process
            if process is None or process.waiting_for_input() or time.monotonic() > deadline:
                return bool(family.newcomers(command.before, command.since))
            await asyncio.sleep(_LOOK / 10)
        return False

    def _translated(self) -> bool:
        params, process = self.session.params, self.session.process
        if process is None:
            return params.tty and not params.plain_tty
        return process.translates_newlines()

    # --- the end, by force -----------------------------------------------------------------

    async def _timed_out(self, command: _Running, family: Family) -> LiveOutput:
        """End what the command started; keep what it wrote; make the shell usable again."""
        cut = self.session.log.size
        survivors, warnings = await self._stop(command, family)
        self.session.skip_unread()
        start = command.marks.start
        return LiveOutput(
            start=start,
            end=max(cut, start),
            code=TIMEOUT_EXIT_CODE,
            cwd=self.cwd,
            wall_time=time.monotonic() - command.began,
            translated=self._translated(),
            timed_out=True,
            survivors=survivors,
            warnings=warnings,
        )

    async def _stop(
        self, command: _Running, family: Family
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Survivors, and what the agent has to know. The shell stays if it can."""
        over: Over | None = None

        async def wait(seconds: float) -> bool:
            nonlocal over
            over = await self._wait_over(command.marks, seconds)
            return over is not None

        # A shell that reads a script can't give up a part of it: it leaves its state and ends.
        interrupt = signal.SIGINT if self._interactive else signal.SIGTERM
        stop = Stop(family=family, before=command.before, since=command.since, interrupt=interrupt)
        survivors = tuple(map(tree.number_inside, await stop.carry_out(wait)))
        if over is not None and not over.exited:
            self.cwd = over.cwd or self.cwd
            return survivors, ()
        if over is None:
            self.cwd = family.cwd() or self.cwd
            await self.session.end(by="a command that did not stop")
            survivors = ending.survivors if (ending := self.session.ending) is not None else ()
        return survivors, await self._renew(everything=True)

    # --- another shell ---------------------------------------------------------------------

    async def _shell_ended(self, output: LiveOutput) -> LiveOutput:
        """The command ended the shell: a fresh one takes its place, unless somebody wanted that."""
        if not await self.session.wait_done(GRACE):
            await self.session.end(by=_OURS)
        ending = self.session.ending
        by_others = ending is not None and ending.killed_by != _OURS
        if ending is not None and by_others and ending.signal is not None:
            # What the shell says as it dies is the status of whatever ran before.
            output = replace(output, code=ending.code)
        if ending is not None and by_others and ending.killed_by is not None:
            self._forget_family()
            note = f"session {self.session.id} has ended ({describe(ending)})"
            return replace(output, killed_by=ending.killed_by, warnings=(note,))
        renewed = asyncio.create_task(self._renew(everything=False))
        warnings = await wait_in_spite_of_cancelling(renewed)
        return replace(output, cwd=self.cwd, warnings=warnings)

    async def _renew(self, *, everything: bool) -> tuple[str, ...]:
        """A fresh shell in the same directory, with the same exported variables, or with
        `everything` that the old one could save. Says what the agent has to know."""
        warnings = []
        if self.session.tree_alive:
            warnings.append(_JOBS_ENDED)
        await self.session.end(by=_OURS)
        saved = self._memory.take_state()
        self.cwd = saved.cwd or self.cwd
        self._forget_family()
        await self._restart(self)
        await self.prepare(_restored(saved, everything=everything))
        if not saved.exports:
            warnings.append(_UNSAVED)
        elif everything and not saved.everything:
            warnings.append(_REPLACED)
        return tuple(warnings)


def _restored(saved: Saved, *, everything: bool) -> str:
    return saved.everything if everything and saved.everything else saved.exports


def shell_of(session: Session) -> Shell:
    """The shell that a session runs in the foreground. Raises if it runs none."""
    if session.ending is not None:
        raise BadRequest(f"session {session.id} has ended ({describe(session.ending)})")
    program = session.process.foreground_program() if session.process is not None else None
    kind = integration.kind_of(program) if program else None
    if program is None or kind is None:
        raise BadRequest(
            f"session {session.id} is not a shell at its prompt: {program or 'a program'} is in "
            "the foreground (run_in_session drives bash, zsh and sh)"
        )
    return Shell(kind=kind, path=program.lstrip("-"))
