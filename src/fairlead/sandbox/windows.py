"""The tier for Windows: a token with less, a job that ends with us, and entries in access lists.

Pure: the plan as data, which nothing carries out yet. Not run: tested as tables, on other systems.

Three things hold together. The token's integrity is low, and the kernel lets nobody write upwards,
whatever an access list says: files, registry, processes, pipes. Writable roots are labelled low.
And the token is restricted: each access has to be granted a second time, to a list that has
everything a user needs and one identity that is nobody's but this sandbox's. What an access list
denies to that one, the commands can't do, and nobody else notices.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from hashlib import sha256
from pathlib import PureWindowsPath

from fairlead.model.access import Access, Limits, Network, PathMode, PathRule
from fairlead.model.frozen import dataclass
from fairlead.model.sandbox import Host

# Well-known identities.
EVERYONE = "S-1-1-0"
OWNER_RIGHTS = "S-1-3-4"
INTERACTIVE = "S-1-5-4"
AUTHENTICATED = "S-1-5-11"
RESTRICTED = "S-1-5-12"
USERS = "S-1-5-32-545"
PRIVILEGED = (
    "S-1-5-114",  # local accounts that are administrators
    "S-1-5-32-544",  # administrators
    "S-1-5-32-547",  # power users
    "S-1-5-32-551",  # backup operators
    "S-1-5-32-555",  # remote desktop users
    "S-1-5-32-556",  # network configuration operators
    "S-1-5-32-562",  # distributed COM users
    "S-1-5-32-578",  # Hyper-V administrators
    "S-1-5-32-580",  # remote management users
)
LOW, MEDIUM = "S-1-16-4096", "S-1-16-8192"
KEPT_PRIVILEGE = "SeChangeNotifyPrivilege"  # to go through directories, as everybody may


class Kind(StrEnum):
    """What an entry does."""

    LABEL = "label"  # `sid` is an integrity level
    DENY = "deny"
    GRANT = "grant"


class Rights(StrEnum):
    """What an entry is about."""

    ALL = "all"
    WRITE = (
        "write"  # content, attributes, owner, access list, removal; of a directory's entries too
    )
    MOVE = "move"  # removal of the thing itself, its owner and access list
    CHILDREN = "children"  # removal of what is in it, whatever that says itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry in the access list of a path, taken out again when the sandbox ends."""

    path: str
    kind: Kind
    sid: str
    rights: Rights = Rights.ALL
    inherited: bool = True  # by all below it


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A restricted copy of our own. `user` and `logon` are ours: whoever carries it out knows."""

    disabled: tuple[str, ...]  # identities that only deny from now on
    restricting: tuple[str, ...]  # beside the user and his logon
    kept_privilege: str
    integrity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What holds all processes of a command together, and ends with our last handle to it."""

    kill_on_close: bool = True
    breakaway: bool = False
    memory: int | None = None  # bytes, of all together
    active_processes: int | None = None
    cpu_seconds: int | None = None  # of one process
    # No clipboard, no foreign windows, no shutdown, no change of display, no global atoms.
    user_interface: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All of it. `sid` is this sandbox's own identity. `block_network` asks for a filter on it,
    which only an administrator can set."""

    sid: str
    token: Token
    job: Job
    entries: tuple[Entry, ...]
    block_network: bool
    pseudo_console: bool = (
        True  # ConPTY, where a terminal is wanted: never the console that we have
    )


def render(access: Access, host: Host, agent: str) -> Plan:
    """What stands around every command of `agent` under this access."""
    sid = identity(access, agent)
    return Plan(
        sid=sid,
        token=Token(
            disabled=PRIVILEGED,
            restricting=(sid, EVERYONE, USERS, AUTHENTICATED, INTERACTIVE, RESTRICTED),
            kept_privilege=KEPT_PRIVILEGE,
            integrity=LOW,
        ),
        job=_job(access.limits),
        entries=tuple(_entries(access, sid)),
        block_network=access.network is Network.OFF and host.root,
    )


def missing(access: Access, host: Host) -> tuple[str, ...]:
    """What this tier can't do, in words of `MISSING`."""
    return (
        *(["network"] if access.network is Network.OFF and not host.root else []),
        *(["private-tmp"] if access.private_tmp else []),
        "pid-namespace",
        "terminals",
        "devices",
        "shared-memory",
        "seccomp",
    )


def identity(access: Access, agent: str) -> str:
    """One that no account has, the same for the same agent and access: what an engine that was
    killed left in access lists is found again."""
    parts = (agent, *(f"{rule.mode} {rule.path}" for rule in access.rules))
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    numbers = (str(int.from_bytes(digest[n : n + 4], "little")) for n in range(0, 16, 4))
    return f"S-1-5-21-{'-'.join(numbers)}"


def _job(limits: Limits) -> Job:
    return Job(
        memory=limits.memory,
        active_processes=limits.processes,
        cpu_seconds=limits.cpu_seconds,
    )


def _entries(access: Access, sid: str) -> Iterator[Entry]:
    for rule in access.rules:
        yield from _entries_of(rule, sid)
    for path in _holders(access):
        yield Entry(path=path, kind=Kind.DENY, sid=sid, rights=Rights.CHILDREN, inherited=False)


def _entries_of(rule: PathRule, sid: str) -> Iterator[Entry]:
    """What is said of an inner directory has to be said there, its label, too: it would have the
    root's otherwise."""
    path = rule.path
    match rule.mode:
        case PathMode.WRITE:
            yield Entry(path=path, kind=Kind.LABEL, sid=LOW)
            # Moved away, what is closed in it would be open under its new name. To own it must
            # give nothing by itself, or these very entries could be taken out again.
            yield Entry(path=path, kind=Kind.DENY, sid=sid, rights=Rights.MOVE, inherited=False)
            yield Entry(path=path, kind=Kind.GRANT, sid=OWNER_RIGHTS, inherited=False)
        case PathMode.READ:
            yield Entry(path=path, kind=Kind.LABEL, sid=MEDIUM)
            yield Entry(path=path, kind=Kind.DENY, sid=sid, rights=Rights.WRITE)
        case PathMode.HIDE:
            yield Entry(path=path, kind=Kind.LABEL, sid=MEDIUM)
            yield Entry(path=path, kind=Kind.DENY, sid=sid)


def _holders(access: Access) -> list[str]:
    """Writable directories that something lies in which has to stay: who may write to a directory
    may remove what is in it."""
    roots = [PureWindowsPath(path) for path in access.writable]
    above = dict.fromkeys(PureWindowsPath(rule.path).parent for rule in access.rules)
    return [str(path) for path in above if any(path.is_relative_to(root) for root in roots)]
