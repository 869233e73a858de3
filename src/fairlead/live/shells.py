"""Which live shell a command goes to: the one it names, or one of the agent's own."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.live.shell import LiveShell, shell_of
from fairlead.live.task import LiveOutput, Task
from fairlead.model.errors import BadRequest
from fairlead.model.params import Shell, ShellKind, Stdin
from fairlead.session.session import Session
from fairlead.session.stay import in_spite_of_cancelling
from fairlead.shells import integration

if TYPE_CHECKING:
    from fairlead.orchestrator import ToolOrchestrator


@dataclass(eq=False, slots=True)
class _Place:
    """One of an agent's own shells, from the moment that somebody wants it."""

    driver: LiveShell | None = None
    taken: bool = False


class LiveShells:
    """The drivers of all live shells of an engine."""

    def __init__(self, orchestrator: ToolOrchestrator) -> None:
        self._orchestrator = orchestrator
        self._drivers: dict[int, LiveShell] = {}
        self._own: dict[tuple[str, ShellKind], list[_Place]] = {}

    async def run_in(self, session: Session, task: Task) -> tuple[Session, LiveOutput]:
        """Run in a session that the agent named. Calls on one shell follow each other."""
        shell = shell_of(session) if not self._is_busy(session) else self._drivers[session.id].shell
        await self._refuse_incomplete(shell, task)
        driver = self._driver(session)
        with session.in_call():
            async with driver.lock:
                shell_of(session)  # it may have ended, or another program come to the foreground
                return session, await self._run(driver, task)

    async def run_in_own(self, agent: str, shell: Shell, task: Task) -> tuple[Session, LiveOutput]:
        """Run in the agent's own shell: an idle one, else a new one, so that calls made at the
        same time run at the same time."""
        if integration.own_shell(shell) is None:
            raise BadRequest(f"run_in_session drives bash, zsh and sh, not {shell.kind}")
        await self._refuse_incomplete(shell, task)
        self.forget_ended()
        mine = self._own.setdefault((agent, shell.kind), [])
        place = self._idle(mine)
        extra = place is None and bool(mine)
        if place is None:
            place = _Place()
            mine.append(place)
        place.taken = True
        try:
            news: tuple[str, ...] = ()
            driver = place.driver
            if driver is None:
                driver, news = await self._start(place, shell, task, mine)
            with driver.session.in_call():
                async with driver.lock:
                    output = await self._run(driver, task)
        finally:
            place.taken = False
            if place.driver is None:
                mine.remove(place)
        if extra:
            news = (*news, _extra(driver))
        return driver.session, replace(output, warnings=(*output.warnings, *news))

    def forget_ended(self) -> None:
        """Let go of drivers whose shell is gone for good."""
        for number, driver in list(self._drivers.items()):
            if not driver.session.running and not driver.lock.locked():
                driver.close()
                del self._drivers[number]
        for mine in self._own.values():
            mine[:] = [place for place in mine if place.taken or _is_known(place, self._drivers)]

    def close(self) -> None:
        for driver in self._drivers.values():
            driver.close()
        self._drivers.clear()
        self._own.clear()

    async def _run(self, driver: LiveShell, task: Task) -> LiveOutput:
        if task.open_stdin:  # others may type into it meanwhile
            return await driver.run(task)
        async with driver.session.interaction:
            return await driver.run(task)

    def _is_busy(self, session: Session) -> bool:
        driver = self._drivers.get(session.id)
        return driver is not None and driver.session is session and driver.lock.locked()

    def _driver(self, session: Session) -> LiveShell:
        self.forget_ended()
        known = self._drivers.get(session.id)
        if known is None:
            known = LiveShell(session, shell_of(session), self._restart)
            self._drivers[session.id] = known
        return known

    def _idle(self, mine: list[_Place]) -> _Place | None:
        """The first that is at its prompt: an agent may have typed something else into it."""
        for place in mine:
            driver = place.driver
            if driver is None or place.taken or driver.lock.locked() or not driver.ready:
                continue
            process = driver.session.process
            program = process.foreground_program() if process is not None else None
            if program is not None and integration.kind_of(program) is driver.shell.kind:
                return place
        return None

    async def _start(
        self, place: _Place, shell: Shell, task: Task, mine: list[_Place]
    ) -> tuple[LiveShell, tuple[str, ...]]:
        """One more shell of the agent's own, in the directory of its first one, and what the
        agent has to know of its start."""
        params = replace(
            task.request,
            argv=integration.INTEGRATIONS[shell.kind].interactive(shell.path),
            shell=shell,
            login=True,
            tty=True,
            plain_tty=True,
            stdin=Stdin.OPEN,
            timeout=None,
        )
        first = mine[0].driver
        if first is not None and first.cwd and os.path.isdir(first.cwd):
            params = replace(params, cwd=Path(first.cwd))
        run = await self._orchestrator.start(params)
        ours = integration.INTEGRATIONS[shell.kind].ours
        opening = self._orchestrator.login_prelude(shell) + ours
        driver = LiveShell(run.session, shell, self._restart, opening)
        try:
            await driver.prepare()
        except BaseException:
            driver.close()
            await in_spite_of_cancelling(run.session.end(by="it did not become a live shell"))
            raise
        place.driver = self._drivers[run.session.id] = driver
        return driver, run.warnings

    async def _restart(self, driver: LiveShell) -> None:
        """The shell of this session ended with a command: start another one where that one was."""
        session, params = driver.session, driver.session.params
        # `Path.is_dir` raises for a path that is too long, and a shell can be in such a directory.
        there = driver.cwd is not None and os.path.isdir(driver.cwd)
        directory = Path(driver.cwd) if driver.cwd and there else params.cwd
        params = replace(
            params,
            argv=driver.argv or params.argv,
            script=None,
            cwd=directory,
            size=session.size,
            timeout=None,
        )
        await self._orchestrator.restart(session, params)

    async def _refuse_incomplete(self, shell: Shell, task: Task) -> None:
        """An open quote or heredoc would make the shell wait for its end, so it is not typed."""
        from fairlead.shells import complete

        if complete.ends_in_backslash(task.command):
            raise BadRequest(f"run_in_session.command: {complete.CONTINUED}; nothing was typed")
        if complete.looks_complete(task.command):
            return
        check = self._orchestrator.syntax_problem
        problem = await check(shell, task.command, task.request)
        swallowed = complete.swallowed(task.command) if problem is None else None
        if swallowed is not None and await check(shell, swallowed, task.request) is None:
            problem = complete.OPEN_HEREDOC
        if problem is not None:
            raise BadRequest(f"run_in_session.command: {problem}; nothing was typed")


def _extra(driver: LiveShell) -> str:
    return (
        f"your own shell was busy; this ran in a new one, session {driver.session.id}, with its "
        "own directory and variables"
    )


def _is_known(place: _Place, drivers: dict[int, LiveShell]) -> bool:
    driver = place.driver
    return driver is not None and drivers.get(driver.session.id) is driver
