"""The second tier: Landlock says what may be read and written, the filter does the rest.

For hosts that allow no mounts. Landlock only ever allows, for a path and all beneath it: nothing
below a writable root can be closed again. What is hidden elsewhere is left out, by allowing all
that stands beside the way to it. What can't be had is named in words of `model.sandbox.MISSING`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from fairlead.model.access import Access, Network, PathMode, PathRule
from fairlead.model.confine import (
    Confinement,
    ConfineStep,
    DropCapabilities,
    Landlock,
    LandlockApply,
    LandlockPath,
    NoNewPrivileges,
    Seccomp,
)
from fairlead.model.sandbox import Host
from fairlead.sandbox.limits import held_together

Listing = Callable[[str], Iterable[str]]  # the names in a directory that are no symbolic links

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
BIND_TCP, CONNECT_TCP = 1 << 0, 1 << 1
SCOPE_ABSTRACT_UNIX, SCOPE_SIGNAL = 1 << 0, 1 << 1

# The ABI that brought them: rights on files, on TCP ports, scopes.
_FILES_SINCE = ((1, (1 << 13) - 1), (2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
_NETWORK_SINCE = ((4, BIND_TCP | CONNECT_TCP),)
_SCOPES_SINCE = ((6, SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL),)

_OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # the others need a directory
_READ = EXECUTE | READ_FILE
_USE = READ_FILE | WRITE_FILE | IOCTL_DEV

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
_MOST_SIBLINGS = 4000


def tier_steps(
    access: Access, abi: int, listing: Listing | None = None, *, groups: bool = True
) -> tuple[tuple[ConfineStep, ...], tuple[str, ...]]:
    """The steps that put a ruleset in force, and what it can't do."""
    listing = listing or names_in
    files = handled(_FILES_SINCE, abi)
    readable, hides = _readable(access, listing)
    offline = access.network is Network.OFF
    steps = (
        Landlock(
            files=files,
            network=handled(_NETWORK_SINCE, abi) if offline else 0,
            scopes=handled(_SCOPES_SINCE, abi),
        ),
        LandlockPath(READ_DIR, "/"),
        *(LandlockPath(_READ, path) for path in readable),
        *_devices(access, files, listing),
        *_roots(access, files),
        LandlockApply(),
    )
    return steps, tuple(_missing(access, abi, hides, groups))


def confinement(
    access: Access, steps: Sequence[ConfineStep], program: bytes, host: Host, agent: str
) -> Confinement:
    """What stands around the commands of `agent`: no namespace, so all of it is walls."""
    return Confinement(
        agent=agent,
        setup=(
            NoNewPrivileges(),
            *steps,
            DropCapabilities(),
            Seccomp(program, listener=host.notify),
        ),
        each=_own_domain(host.landlock_abi),
        mount_namespace=False,
        memory=access.limits.memory if host.groups else None,
        processes=access.limits.processes if host.groups else None,
    )


def handled(since: Iterable[tuple[int, int]], abi: int) -> int:
    """All rights that this ABI knows: what is handled and not allowed is denied."""
    return sum(rights for first, rights in since if first <= abi)


def names_in(directory: str) -> list[str]:
    """Without symbolic links: what they lead to is allowed, or not, under its own name. Empty
    where nobody may look: what is beside the way then stays closed."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if not entry.is_symlink())
    except OSError:
        return []


def _own_domain(abi: int) -> tuple[ConfineStep, ...]:
    """Each command in a domain of its own can't signal its guard, nor its neighbours.

    A layer that says nothing of moving files between directories forbids it where another layer
    has a say in files.
    """
    if not handled(_SCOPES_SINCE, abi):
        return ()
    return (
        Landlock(files=REFER, scopes=SCOPE_SIGNAL),
        LandlockPath(REFER, "/"),
        LandlockApply(),
    )


# --- What may be read ---------------------------------------------------------------------------


def _readable(access: Access, listing: Listing) -> tuple[list[str], bool]:
    """Paths that together are everything but /dev and what is hidden, and whether they hide it.

    Every directory can be listed all the same, hidden ones too: the right to list `/` would be one
    for all beneath it, and a shell that can't list `/` or its home is of little use.
    """
    hidden = _hidden(access)
    if all(_above(access, path) is None for path in hidden):
        found = _beside(("/dev", *hidden), listing)
        if found is not None:
            return found, True
    return _beside(("/dev",), listing) or [], not hidden


def _hidden(access: Access) -> list[str]:
    """Not sockets: Landlock has no say in who connects to them."""
    rules = access.rules
    return [one.path for one in rules if one.mode is PathMode.HIDE and one.because != "socket"]


def _beside(hidden: Iterable[str], listing: Listing) -> list[str] | None:
    """All that stands beside the ways to what is hidden; None if that is too much."""
    hidden = set(hidden)
    on_the_way = {"/", *(parent for path in hidden for parent in _parents(path))}
    found: list[str] = []
    open_ends = ["/"]
    while open_ends:
        directory = open_ends.pop()
        for name in listing(directory):
            path = f"{directory.rstrip('/')}/{name}"
            if path in on_the_way:
                open_ends.append(path)
            elif path not in hidden:
                found.append(path)
        if len(found) > _MOST_SIBLINGS:
            return None
    return sorted(found)


def _parents(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) != "/":
        yield path


def _devices(access: Access, files: int, listing: Listing) -> Iterator[ConfineStep]:
    """The harmless ones. Terminals and shared memory are made in directories, so all that is
    there is open: other terminals, too."""
    there = set(listing("/dev"))
    for name in _DEVICES:
        if name in there:
            yield LandlockPath(_USE & files, f"/dev/{name}")
    for path in access.devices:
        yield LandlockPath(_USE & files, path)
    if "pts" in there:
        yield LandlockPath(_USE & files, "/dev/pts")
    for name in ("shm", "mqueue"):
        if name in there:
            yield LandlockPath(_all_but_devices(files), f"/dev/{name}")


# --- What may be written ------------------------------------------------------------------------


def _roots(access: Access, files: int) -> Iterator[ConfineStep]:
    rights = _all_but_devices(files)
    for rule in _outermost(access):
        yield LandlockPath(rights if rule.directory else rights & _OF_A_FILE, rule.path)
    if access.private_tmp:
        yield LandlockPath(rights, "/tmp")  # it is missing that it is private, not that it is there


def _all_but_devices(files: int) -> int:
    return files & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)


def _outermost(access: Access) -> list[PathRule]:
    return [
        rule
        for rule in access.rules
        if rule.mode is PathMode.WRITE and _above(access, rule.path) is None
    ]


def _above(access: Access, path: str) -> PathRule | None:
    """A writable root that `path` lies in."""
    for rule in access.rules:
        if rule.mode is PathMode.WRITE and path.startswith(rule.path + "/"):
            return rule
    return None


# --- What is missing ----------------------------------------------------------------------------


def _missing(access: Access, abi: int, hides: bool, groups: bool) -> Iterator[str]:
    carved = [rule for rule in access.rules if rule.mode is PathMode.READ]
    directories = [rule for rule in access.rules if rule.mode is PathMode.HIDE and rule.directory]
    facts = (
        ("protected-names", any(_above(access, rule.path) for rule in carved)),
        ("deny-read", not hides),
        ("hidden-names", bool(directories)),
        ("metadata", True),
        ("truncate", not handled(_FILES_SINCE, abi) & TRUNCATE),
        ("signals", not handled(_SCOPES_SINCE, abi) & SCOPE_SIGNAL),
        ("unix-sockets", True),
        ("pid-namespace", True),
        ("private-tmp", access.private_tmp),
        ("devices", not handled(_FILES_SINCE, abi) & IOCTL_DEV),
        ("terminals", True),
        ("shared-memory", True),
        ("shared-limits", not groups and held_together(access.limits)),
    )
    return (word for word, missing in facts if missing)
