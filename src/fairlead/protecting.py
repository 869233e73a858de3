"""A `Protection` over every command that may write, for as long as anything of it lives.

The kernel says that something was made, but not by whom: what appears while commands run is
taken to be theirs, all of those that run are told, and what appears while none does is a
person's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairlead.model.access import Access, Denial
from fairlead.protect.aside import recover
from fairlead.protect.guard import Protection, repositories_of
from fairlead.protect.repositories import Repositories, Repository
from fairlead.session.session import Session


class Protector:
    """One for each engine. `changed` is called when what commands may touch is to be looked at
    anew: they made a repository, which has to be protected from the next one on."""

    def __init__(self, state_directory: str, changed: Callable[[], None]) -> None:
        self._state = state_directory
        self._changed = changed
        self._watches: list[_Watch] = []  # the last one is the current one
        self._repositories: Repositories | None = None
        self._told: frozenset[Repository] = frozenset()

    def over(self, session: Session, access: Access | None) -> Callable[[], None]:
        """From now on until its last process has gone. Call it before that begins; what is returned
        takes it back, if nothing was started."""
        if access is None or not access.writable:
            return _nothing
        watch = self._watch(access)
        if not self._living:
            watch.protection.disregard()
        watch.living.add(session)

        def leave() -> None:
            self._catch_up()
            watch.living.discard(session)
            self._drop_unused()

        session.on_finish(self.settle)
        session.on_tree_gone(leave)
        return leave

    def look(self) -> None:
        """Before a command is planned: have repositories of others been made since the last one?"""
        if self._watches and not self._living:
            self._watches[-1].protection.look()
            self._announce_repositories(self._watches[-1])

    def settle(self) -> None:
        """A command has ended: whatever was made until now is found now, and those that run learn
        of it before their results are told."""
        for watch in list(self._watches):
            if watch.living:
                watch.tell(watch.protection.settle())
                self._announce_repositories(watch)

    def _catch_up(self) -> None:
        """The last process of a command has gone, some time after the command itself."""
        for watch in list(self._watches):
            if watch.living:
                watch.tell(watch.protection.catch_up())
                self._announce_repositories(watch)

    def close(self) -> None:
        for watch in self._watches:
            watch.close()
        self._watches.clear()
        if self._repositories is not None:
            self._repositories.close()

    @property
    def _living(self) -> bool:
        return any(watch.living for watch in self._watches)

    def _watch(self, access: Access) -> _Watch:
        if not self._watches:
            recover(self._state)
            self._repositories = repositories_of(access)
        for watch in self._watches:
            if watch.access is access:
                return watch
        watch = _Watch(access, Protection(access, self._state, self._repositories))
        self._told = frozenset()
        self._watches.append(watch)
        self._drop_unused()
        return watch

    def _drop_unused(self) -> None:
        for watch in self._watches[:-1]:
            if not watch.living:
                self._watches.remove(watch)
                watch.close()

    def _announce_repositories(self, watch: _Watch) -> None:
        alone = sum(len(one.living) for one in self._watches) <= 1
        unknown = watch.protection.unknown(in_the_making=alone)
        if not unknown <= self._told:
            self._told = unknown
            self._changed()


class _Watch:
    """One protection on the event loop, and the sessions that it is over."""

    def __init__(self, access: Access, protection: Protection) -> None:
        self.access = access
        self.protection = protection
        self.living: set[Session] = set()
        self._loop = asyncio.get_running_loop()
        if protection.fileno() >= 0:
            self._loop.add_reader(protection.fileno(), self._on_readable)

    def tell(self, denials: tuple[Denial, ...]) -> None:
        for denial in denials:
            for session in self.living:
                session.denied(denial)

    def close(self) -> None:
        if self.protection.fileno() >= 0:
            self._loop.remove_reader(self.protection.fileno())
        self.protection.close()

    def _on_readable(self) -> None:
        if self.living:
            self.tell(self.protection.on_readable())
        else:
            self.protection.disregard()


def _nothing() -> None:
    return None
