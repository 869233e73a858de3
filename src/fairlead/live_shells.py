"""Which live shell a command goes to: the one it names, or one of the agent's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.live import LiveOutput, LiveShell, shell_of
from fairlead.model.errors import BadRequest
from fairlead.model.params import ExecParams, Shell, ShellKind, Stdin
from fairlead.session.session import Session
from fairlead.shells import integration

if TYPE_CHECKING:
    from fairlead.orchestrator import ToolOrchestrator


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One command for a live shell."""

    command: str
    timeout: float
    open_stdin: bool
    request: ExecParams  # how to start a shell of our own, should it take one


class LiveShells:
    """The drivers of all live shells of an engine."""

    def __init__(self, orchestrator: ToolOrchestrator) -> None:
        self._orchestrator = orchestrator
        self._drivers: dict[int, LiveShell] = {}
        self._own: dict[tuple[str, ShellKind], list[int]] = {}

    async def run_in(self, session: Session, task: Task) -> tuple[Session, LiveOutput]:
        """Run in a session that the agent named. Calls on one shell follow each other."""
        driver = self._driver(session)
        await self._refuse_incomplete(driver.shell, task)
        async with driver.lock, session.interaction:
            return session, await self._run(driver, task)

    async def run_in_own(self, agent: str, shell: Shell, task: Task) -> tuple[Session, LiveOutput]:
        """Run in the agent's own shell: an idle one, else a new one, so that calls made at the
        same time run at the same time."""
        if integration.own_shell(shell) is None:
            raise BadRequest(f"run_in_session drives bash, zsh and sh, not {shell.kind}")
        await self._refuse_incomplete(shell, task)
        mine = self._own.setdefault((agent, shell.kind), [])
        driver = self._idle(mine)
        extra = driver is None and any(self._alive(number) for number in mine)
        if driver is None:
            driver = await self._start(shell, task.request)
            mine.append(driver.session.id)
        async with driver.lock, driver.session.interaction:
            output = await self._run(driver, task)
        if extra:
            note = f"your own shell was busy; this ran in a new one, session {driver.session.id}"
            output = replace(output, warnings=(*output.warnings, note))
        return driver.session, output

    def forget_ended(self) -> None:
        """Let go of drivers whose shell is gone for good."""
        for number in [one for one in self._drivers if not self._alive(one)]:
            if not self._drivers[number].lock.locked():
                self._drivers.pop(number).close()
                for mine in self._own.values():  # the number may be given to another session
                    if number in mine:
                        mine.remove(number)

    def close(self) -> None:
        for driver in self._drivers.values():
            driver.close()
        self._drivers.clear()

    async def _run(self, driver: LiveShell, task: Task) -> LiveOutput:
        return await driver.run(task.command, task.timeout, open_stdin=task.open_stdin)

    def _driver(self, session: Session) -> LiveShell:
        known = self._drivers.get(session.id)
        if known is None or not session.running:
            self.forget_ended()
            shell = shell_of(session)
            known = self._drivers[session.id] = LiveShell(session, shell, self._restart)
        elif not known.lock.locked():
            shell_of(session)  # another program may have come to the foreground
        return known

    def _idle(self, mine: list[int]) -> LiveShell | None:
        for number in mine:
            driver = self._drivers.get(number)
            if driver is not None and driver.session.running and not driver.lock.locked():
                return driver
        return None

    def _alive(self, number: int) -> bool:
        driver = self._drivers.get(number)
        return driver is not None and driver.session.running

    async def _start(self, shell: Shell, request: ExecParams) -> LiveShell:
        self.forget_ended()
        params = replace(
            request,
            argv=self._interactive(shell),
            shell=shell,
            login=True,
            tty=True,
            plain_tty=True,
            stdin=Stdin.OPEN,
            timeout=None,
        )
        run = await self._orchestrator.start(params)
        driver = LiveShell(run.session, shell, self._restart)
        self._drivers[run.session.id] = driver
        hooks = integration.INTEGRATIONS[shell.kind].no_hooks
        await driver.prepare(self._orchestrator.login_prelude(shell) + hooks)
        return driver

    async def _restart(self, driver: LiveShell) -> None:
        """The shell of this session ended with a command: start it anew, where that one was."""
        session, params = driver.session, driver.session.params
        if params.argv != self._interactive(driver.shell):  # the agent's own shell, not ours
            params = replace(params, argv=self._interactive(driver.shell), script=None)
        directory = Path(driver.cwd) if driver.cwd else params.cwd
        if not directory.is_dir():
            directory = params.cwd
        params = replace(params, cwd=directory, size=session.size, timeout=None)
        await self._orchestrator.restart(session, params)

    @staticmethod
    def _interactive(shell: Shell) -> tuple[str, ...]:
        return integration.INTEGRATIONS[shell.kind].interactive(shell.path)

    async def _refuse_incomplete(self, shell: Shell, task: Task) -> None:
        """An open quote or heredoc would make the shell wait for its end, so it is not typed."""
        from fairlead.shells.complete import looks_complete

        if looks_complete(task.command):
            return
        problem = await self._orchestrator.syntax_problem(shell, task.command, task.request)
        if problem is not None:
            raise BadRequest(f"run_in_session.command: {problem}; nothing was typed")
