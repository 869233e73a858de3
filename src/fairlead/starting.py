"""From a plan to a session: room is made, an id is given, the process starts, events begin."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fairlead.model.env import ExecEnv
from fairlead.model.errors import Bug, Rejected
from fairlead.model.frozen import dataclass
from fairlead.model.output import Ending
from fairlead.model.params import ExecParams
from fairlead.model.process import SpawnedProcess, Spawner
from fairlead.protecting import Protector
from fairlead.session.budget import MemoryBudget
from fairlead.session.hub import EventHub
from fairlead.session.log import OutputLog
from fairlead.session.session import Session
from fairlead.session.stay import in_spite_of_cancelling
from fairlead.session.store import SessionStore

_HIDDEN_BYTES = 4 << 20
_SOON = 0.01
_EVICTION = "eviction: too many sessions, and this was the least recently used"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLimits:
    """How much of a session's output is kept, and where."""

    max_bytes: int
    budget: MemoryBudget
    directory: Path | None = None


class SessionStarter:
    """Starts sessions. Whoever gets one owns its end."""

    def __init__(
        self,
        spawner: Spawner,
        store: SessionStore,
        hub: EventHub,
        limits: LogLimits,
        protector: Protector,
    ) -> None:
        self._spawner = spawner
        self._store = store
        self._hub = hub
        self._limits = limits
        self._protector = protector

    async def start(self, params: ExecParams, env: ExecEnv) -> tuple[Session, tuple[str, ...]]:
        """A running session and what the agent has to be told about it."""
        number = self._store.reserve_id(params.session_id)
        try:
            evicted = await self._make_room(params.agent)
            with self._store.place(params.agent):
                session = await self._started(number, params, env)
        except BaseException:
            self._store.release_id(number)
            raise
        self._store.add(session)
        crowded = self._store.crowded(params.agent)
        return session, (*env.warnings, *evicted, *((crowded,) if crowded else ()))

    async def restart(self, session: Session, params: ExecParams, env: ExecEnv) -> None:
        """Another process for a session whose own has ended."""
        undo = session.revive(params)
        try:
            await self._spawn(session, env)
        except BaseException:
            undo()
            raise

    async def run_hidden(self, params: ExecParams, env: ExecEnv) -> tuple[Ending, bytes]:
        """Run something of our own to its end. It has no place in the store and no events."""
        session = Session(0, params, self._log(_HIDDEN_BYTES))
        try:
            session.attach(await self._protected(session, env))
            await session.wait_done(None)
            await session.end(by="it had done its work")
            if session.ending is None:
                raise Bug("a process ended without an ending")
            return session.ending, session.log.range_bytes(0, session.log.size)
        finally:
            await in_spite_of_cancelling(session.end(by="the call was cancelled"))
            session.forget()

    async def _started(self, number: int, params: ExecParams, env: ExecEnv) -> Session:
        session = Session(number, params, self._log(self._limits.max_bytes))
        try:
            await self._spawn(session, env)
        except BaseException:
            session.forget()
            raise
        return session

    async def _spawn(self, session: Session, env: ExecEnv) -> None:
        process = await self._protected(session, env)
        session.attach(process)
        session.env = env
        self._hub.announce(session, process.pid)  # no await between these lines: nothing is missed

    async def _protected(self, session: Session, env: ExecEnv) -> SpawnedProcess:
        """Its process, with a watch over what it may not make: first the watch, then the start."""
        leave = self._protector.over(session, env.access)
        try:
            return await self._spawner.spawn(env, session)
        except BaseException:
            leave()
            raise

    def _log(self, max_bytes: int) -> OutputLog:
        limits = self._limits
        return OutputLog(max_bytes=max_bytes, budget=limits.budget, directory=limits.directory)

    async def _make_room(self, agent: str) -> tuple[str, ...]:
        """Evict until the agent has a place for one more; says whom."""
        told = list[str]()
        while (session := await self._candidate(agent)) is not None:
            was = _state(session)
            with self._store.leaving(session):
                await session.end(by=_EVICTION)
            self._store.retire(session)
            told.append(
                f"session {session.id} was evicted to make room; it {was}: {session.params.shown}"
            )
        return tuple(told)

    async def _candidate(self, agent: str) -> Session | None:
        """Whom to evict. Where all places are changing hands, that is seen a moment later."""
        while True:
            try:
                return self._store.candidate(agent)
            except Rejected:
                if not self._store.moving(agent):
                    raise
            await asyncio.sleep(_SOON)


def _state(session: Session) -> str:
    if session.running:
        return "was running and has been ended"
    return "had ended, and its descendants have been ended" if session.tree_alive else "had ended"
