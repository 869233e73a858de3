"""All sessions: ids, capacity, eviction, and the memory of those that ended.

An agent sees only its own. What counts against its capacity is live or unreported: a session
that runs, whose descendants run, or of whose end the agent has not been told yet. After that it
is only remembered: its ending and its output stay readable until newer ones push it out.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fairlead.model.errors import BadRequest, Rejected, UnknownSession
from fairlead.model.limits import Capacity
from fairlead.session.session import Session

FIRST_ID, LAST_ID = 1000, 99_999


@dataclass(slots=True)
class Shelf:
    """One agent's sessions, oldest first."""

    active: OrderedDict[int, Session] = field(default_factory=OrderedDict)
    remembered: OrderedDict[int, Session] = field(default_factory=OrderedDict)
    sizes: dict[int, int] = field(default_factory=dict)  # of remembered logs, when they were added
    total: int = 0  # of `sizes`: counted along, because this is asked after every command
    told: set[int] = field(default_factory=set)  # ended, and kept active by their descendants
    leaving: set[int] = field(default_factory=set)  # are being evicted at this moment
    starting: int = 0  # places that are taken by sessions still to come

    def remember(self, session: Session) -> None:
        self.remembered[session.id] = session
        self.sizes[session.id] = session.log.kept_bytes
        self.total += self.sizes[session.id]

    def drop(self, session: Session) -> None:
        del self.remembered[session.id]
        self.total -= self.sizes.pop(session.id)


class SessionStore:
    """Every session of every agent."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._shelves: dict[str, Shelf] = {}
        self._ids: set[int] = set()

    def reserve_id(self, wanted: int | None = None) -> int:
        """A number that no living or remembered session has; the wanted one, if that is so."""
        if wanted is not None:
            if wanted in self._ids:
                raise BadRequest(f"session {wanted} exists already; let a number be chosen")
            self._ids.add(wanted)
            return wanted
        if len(self._ids) > (LAST_ID - FIRST_ID) // 2:  # finding a free one would take ever longer
            raise Rejected("too many sessions are remembered, of all agents together")
        while True:
            number = FIRST_ID + secrets.randbelow(LAST_ID - FIRST_ID + 1)
            if number not in self._ids:
                self._ids.add(number)
                return number

    def release_id(self, session_id: int) -> None:
        """Nothing came of it."""
        self._ids.discard(session_id)

    def add(self, session: Session) -> None:
        self._shelf(session.params.agent).active[session.id] = session

    def get(self, agent: str, session_id: int) -> Session:
        """A living or remembered session of this agent, now the last used one."""
        shelf = self._shelf(agent)
        session = shelf.active.get(session_id) or shelf.remembered.get(session_id)
        if session is None:
            raise UnknownSession(self._unknown(agent, session_id))
        session.touch()
        if session_id in shelf.active:
            shelf.active.move_to_end(session_id)
        return session

    def by_chunk(self, agent: str, chunk_id: str) -> Session:
        """The session that a call's chunk id belongs to."""
        for session in reversed(list(self.of(agent))):
            if chunk_id in session.chunks:
                session.touch()
                return session
        raise UnknownSession(f"unknown chunk_id {chunk_id}: no call of this agent is remembered")

    def of(self, agent: str) -> Iterator[Session]:
        """This agent's sessions: remembered ones first, then active ones, oldest first."""
        shelf = self._shelf(agent)
        yield from [*shelf.remembered.values(), *shelf.active.values()]

    def everyone(self) -> list[Session]:
        """Every session of every agent."""
        return [one for agent in self._shelves for one in self.of(agent)]

    def forget_agent(self, agent: str) -> None:
        """Its sessions have ended; nobody will ask for them again."""
        for session in self.of(agent):
            self._ids.discard(session.id)
            session.forget()
        self._shelves.pop(agent, None)

    def candidate(self, agent: str) -> Session | None:
        """Whom to evict before one more session may start; None while there is room.

        The least recently used one that has ended, outside the last used ones; else the least
        recently used one that lives; never one that a call works with. Raises `Rejected` if
        calls work with all of them.
        """
        shelf = self._shelf(agent)
        self._sweep(shelf)
        if len(shelf.active) + shelf.starting < self._capacity.live:
            return None
        staying = [one for one in shelf.active.values() if one.id not in shelf.leaving]
        cut = max(0, len(staying) - self._capacity.protected)
        found = _best(staying[:cut]) or _best(staying[cut:])
        if found is None:
            raise Rejected(
                f"{self._capacity.live} sessions are in use by calls that have not returned; wait "
                "for one of them, or end one with kill_session"
            )
        return found

    def moving(self, agent: str) -> bool:
        """Some of its sessions are on their way in or out."""
        shelf = self._shelf(agent)
        return shelf.starting > 0 or bool(shelf.leaving)

    @contextmanager
    def leaving(self, session: Session) -> Iterator[None]:
        """While inside, the session is being evicted: nobody else evicts it too."""
        leaving = self._shelf(session.params.agent).leaving
        leaving.add(session.id)
        try:
            yield
        finally:
            leaving.discard(session.id)

    @contextmanager
    def place(self, agent: str) -> Iterator[None]:
        """While inside, a place is kept for a session that is starting."""
        shelf = self._shelf(agent)
        shelf.starting += 1
        try:
            yield
        finally:
            shelf.starting -= 1

    def crowded(self, agent: str) -> str | None:
        """A warning when few places are left."""
        count = len(self._shelf(agent).active)
        if count < self._capacity.warn_at:
            return None
        return (
            f"{count} of {self._capacity.live} sessions are in use; "
            "end those you no longer need with kill_session"
        )

    def retire(self, session: Session) -> None:
        """The agent knows that it ended: from now on it is only remembered, as soon as its
        descendants have ended too."""
        shelf = self._shelf(session.params.agent)
        if session.id in shelf.active:
            shelf.told.add(session.id)
            self._sweep(shelf)

    def is_retired(self, session: Session) -> bool:
        """The agent knows that it ended."""
        shelf = self._shelf(session.params.agent)
        return session.id in shelf.remembered or session.id in shelf.told

    def _sweep(self, shelf: Shelf) -> None:
        for number in list(shelf.told):
            session = shelf.active.get(number)
            if session is None or session.running:  # forgotten, or started anew
                shelf.told.discard(number)
            elif not session.tree_alive:
                shelf.told.discard(number)
                shelf.remember(shelf.active.pop(number))
                self._shrink(shelf)

    def _shrink(self, shelf: Shelf) -> None:
        for session in list(shelf.remembered.values()):
            over = len(shelf.remembered) - self._capacity.remembered
            if over <= 0 and shelf.total <= self._capacity.remembered_bytes:
                return
            shelf.drop(session)
            self._ids.discard(session.id)
            session.forget()

    def _shelf(self, agent: str) -> Shelf:
        return self._shelves.setdefault(agent, Shelf())

    def _unknown(self, agent: str, session_id: int) -> str:
        active = self._shelf(agent).active.items()
        living = [str(number) for number, one in active if one.running]
        known = f"living sessions: {', '.join(living)}" if living else "there is no living session"
        return f"unknown session_id {session_id}: it never existed or is forgotten; {known}"


def _best(oldest_first: list[Session]) -> Session | None:
    """Whom of these to evict."""
    idle = [one for one in oldest_first if not one.busy]
    ended = (one for one in idle if not one.running and not one.tree_alive)
    return next(ended, None) or next(iter(idle), None)
