"""Watches what no mount can hold: names that do not exist, and repositories that commands make."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType

from fairlead.model.access import Access, Denial, PathMode
from fairlead.protect.aside import Store
from fairlead.protect.inspect import Finding, findings
from fairlead.protect.names import reason
from fairlead.protect.repositories import Repositories, Repository
from fairlead.protect.watched import WatchedNames

MOVED, STILL_THERE = "moved aside: ", "can't be moved aside: "
NAME = "protected name"
_ROOTS = ("workspace", "writable root")
_NONE: frozenset[Repository] = frozenset()
_ROUNDS = 3  # something may be put back while we look: what stays after that is reported as such


def repositories_of(access: Access, *, watching: bool = True) -> Repositories:
    """What is looked through for new repositories. Temporary files are not."""
    roots = [rule.path for rule in access.rules if rule.because in _ROOTS]
    return Repositories(roots, watching=watching)


class Protection:
    """One for each `Access`, while commands run under it. `repositories` may be shared."""

    def __init__(
        self,
        access: Access,
        state_directory: str | os.PathLike[str],
        repositories: Repositories | None = None,
    ) -> None:
        self._access = access
        self._store = Store(state_directory)
        self._names = WatchedNames(_foreign(access.absent, os.fspath(state_directory)))
        self._own = repositories is None
        self._repositories = repositories or repositories_of(access, watching=False)
        self._version = -1
        self._known = frozenset(access.repositories)
        self._new: list[Repository] = []

    def __enter__(self) -> Protection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def fileno(self) -> int:
        """Readable when something was made where a watched name could be. -1 where the machine
        tells nobody any more: then names are looked at when a command ends."""
        return self._names.fileno()

    def on_readable(self) -> tuple[Denial, ...]:
        """Moves away the names that appeared, and says which."""
        return tuple(self._move_all(self._names.appeared()))

    def disregard(self) -> None:
        """What has appeared so far was not made by a command."""
        self._names.appeared()

    def settle(self) -> tuple[Denial, ...]:
        """A command has ended: everything denied since the last time."""
        self._names.appeared()
        return (*self._move_all(self._names.there()), *self._inspect())

    def catch_up(self) -> tuple[Denial, ...]:
        """The same, as far as the kernel said that anything was made."""
        return (*self.on_readable(), *self._inspect())

    def look(self) -> None:
        """Find repositories that were made, and do nothing about them."""
        self._refresh()

    def unknown(self, *, in_the_making: bool) -> frozenset[Repository]:
        """Repositories that the survey did not see. Those that a command may be making right now
        are best left out: what is still missing there would be taken for protected."""
        if not self._new:
            return _NONE
        there = (one for one in self._new if os.path.lexists(one[0]))
        return frozenset(one for one in there if in_the_making or _is_complete(one))

    def close(self) -> None:
        """Stop watching."""
        self._names.close()
        if self._own:
            self._repositories.close()

    def _move_all(self, paths: list[str]) -> Iterator[Denial]:
        for path in paths:
            real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
            if self._is_writable(os.path.dirname(real)):
                yield from self._move(path, real)

    def _move(self, path: str, real: str) -> Iterator[Denial]:
        try:
            moved = self._store.move(real, f"{NAME}: {reason(path)}")
        except OSError:
            if os.path.lexists(path):
                yield Denial(what="create", path=path, by=STILL_THERE + NAME)
            return
        if moved is not None:
            yield Denial(what="create", path=path, by=MOVED + NAME)

    def _refresh(self) -> None:
        self._repositories.look()
        if self._version != self._repositories.version:
            self._version = self._repositories.version
            self._new = [one for one in self._repositories.all if one not in self._known]

    def _inspect(self) -> Iterator[Denial]:
        self._refresh()
        for path, _ in self._new:
            yield from self._clean(path)

    def _clean(self, path: str) -> Iterator[Denial]:
        told: set[str] = set()
        for _ in range(_ROUNDS):
            found = list(self._findings(path))
            if not found:
                return
            for one in found:
                denial = Denial(what="create", path=one.path, by=MOVED + one.because)
                if self._take_away(one) and one.path not in told:
                    told.add(one.path)
                    yield denial
        for one in self._findings(path):
            yield Denial(what="create", path=one.path, by=STILL_THERE + one.because)

    def _findings(self, path: str) -> Iterator[Finding]:
        found = findings(path, inside=self._is_writable, known=self._is_known)
        return filter(self._was_changed, found)

    def _was_changed(self, one: Finding) -> bool:
        """Since we began. Where a survey can't have seen everything, what is older is somebody's
        own: no command can set the time of an inode's last change back."""
        if self._repositories.complete:
            return True
        try:
            return os.lstat(one.path).st_ctime_ns >= self._repositories.since
        except OSError:
            return True

    def _take_away(self, one: Finding) -> bool:
        with suppress(OSError):  # it is found again
            if one.instead is None:
                return self._store.move(one.path, one.because) is not None
            return self._store.replace(one.path, one.instead, one.because) is not None
        return False

    def _is_known(self, git_directory: str) -> bool:
        return (git_directory, git_directory) in self._known

    def _is_writable(self, path: str) -> bool:
        """For a command, and not as temporary files, in which nothing is protected."""
        rule = self._access.rule_for(path)
        return (
            rule is not None
            and rule.mode is PathMode.WRITE
            and rule.because != "temporary files"
            and path != ""
        )


def _foreign(paths: tuple[str, ...], state_directory: str) -> Iterator[str]:
    """All but where the things are kept that are moved aside."""
    own = os.path.realpath(state_directory)
    return (path for path in paths if own != path and not own.startswith(path + "/"))


def _is_complete(one: Repository) -> bool:
    """Whether git is done with making it."""
    _, leads = one
    if not os.path.lexists(f"{leads}/HEAD"):
        return False
    if os.path.lexists(f"{leads}/commondir"):
        return os.path.lexists(f"{leads}/gitdir")
    return os.path.lexists(f"{leads}/config")
