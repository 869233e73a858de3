"""All sessions: ids, capacity, eviction, and the memory of those that ended.

An agent sees only its own. Live and ended-but-unreported sessions count against its capacity;
once the agent has been told of the end, a session is only remembered: its ending and its output
stay readable until newer ones push it out.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fairlead.model.errors import UnknownSession
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

    def reserve_id(self) -> int:
        """A number that no living or remembered session has."""
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
        """Whom to evict before one more session may start; None while there is room."""
        active = list(self._shelf(agent).active.values())
        if len(active) < self._capacity.live:
            return None
        outside = active[: max(0, len(active) - self._capacity.protected)] or active
        idle = [one for one in outside if not one.interaction.locked()]
        return _first(one for one in idle if not one.running) or _first(idle) or outside[0]

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
        """The agent knows that it ended: from now on it is only remembered."""
        shelf = self._shelf(session.params.agent)
        if shelf.active.pop(session.id, None) is not None:
            shelf.remember(session)
            self._shrink(shelf)

    def _shrink(self, shelf: Shelf) -> None:
        for session in list(shelf.remembered.values()):
            over = len(shelf.remembered) - self._capacity.remembered
            if over <= 0 and shelf.total <= self._capacity.remembered_bytes:
                return
            if session.tree_alive:
                continue  # a background child still writes into it
            shelf.drop(session)
            self._ids.discard(session.id)
            session.forget()

    def _shelf(self, agent: str) -> Shelf:
        return self._shelves.setdefault(agent, Shelf())

    def _unknown(self, agent: str, session_id: int) -> str:
        living = [str(one) for one in self._shelf(agent).active]
        known = f"living sessions: {', '.join(living)}" if living else "there is no living session"
        return f"unknown session_id {session_id}: it never existed or is forgotten; {known}"


def _first(sessions: Iterable[Session]) -> Session | None:
    return next(iter(sessions), None)
