"""The first tier: mounts say what may be read and written, namespaces what may be seen.

Pure: an `Access` and facts about the machine in, launcher steps out. The order of the steps is
the whole trick, so each function below says what it needs to stand before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from fairlead.model.access import Access, Network, PathMode, PathRule
from fairlead.model.confine import (
    ANYTHING,
    Attribute,
    Confinement,
    ConfineStep,
    DropCapabilities,
    Identity,
    Init,
    Landlock,
    LandlockApply,
    Loopback,
    MakeNode,
    MountAttach,
    MountAttributes,
    MountFlag,
    MountNew,
    MountPrivate,
    MountTree,
    Namespace,
    Node,
    NoNewPrivileges,
    Seccomp,
    Unshare,
    UserNamespace,
)
from fairlead.model.sandbox import Host
from fairlead.sandbox.landlock import SCOPE_ABSTRACT_UNIX, SCOPE_SIGNAL
from fairlead.sandbox.limits import held_together
from fairlead.sandbox.system import System

MASKED_DIRECTORY, MASKED_FILE = "/dev/.fairlead/directory", "/dev/.fairlead/file"
TERMINALS = "/dev/pts"
SCOPES_SINCE_ABI = 6

_PLAIN = MountFlag.NO_SETUID | MountFlag.NO_DEVICES
_DATA = _PLAIN | MountFlag.NO_EXECUTE
_SCRATCH = 0  # the slot for trees that are attached at once


def render(
    access: Access, host: Host, system: System, *, agent: str, filter_program: bytes
) -> Confinement:
    """Everything that stands around the commands of `agent` under this access."""
    return Confinement(
        agent=agent,
        setup=(
            *_namespaces(access, host),
            *_mounts(access, host, system),
            *_walls(host, filter_program),
        ),
        each=own_domain(host),
        mount_namespace=True,
        terminals=TERMINALS,
        memory=access.limits.memory if host.groups else None,
        processes=access.limits.processes if host.groups else None,
    )


def missing(access: Access, host: Host) -> tuple[str, ...]:
    """What this tier can't do on this machine, in words of `MISSING`."""
    scoped = host.landlock_abi >= SCOPES_SINCE_ABI
    shared = access.network is Network.FULL or not host.net_namespaces
    return (
        *([] if host.new_proc else ["pid-namespace"]),
        *([] if host.new_proc or scoped else ["signals"]),
        *(["unix-sockets"] if shared and not scoped else []),  # abstract: no path to cover
        *(["shared-limits"] if held_together(access.limits) and not host.groups else []),
    )


def _namespaces(access: Access, host: Host) -> Iterator[ConfineStep]:
    kinds = Namespace.MOUNT | Namespace.IPC | Namespace.UTS
    if host.new_proc:
        kinds |= Namespace.PID
    # Where there are none, the filter keeps the network away.
    alone = access.network is Network.OFF and host.net_namespaces
    if alone:
        kinds |= Namespace.NET
    if host.user_namespaces:
        yield UserNamespace(*_maps(host))
    yield Unshare(kinds)
    yield Init()
    if alone:
        yield Loopback()


def _maps(host: Host) -> tuple[str, str]:
    """Everybody stays who he is, and nobody else is there. More than one's own id could only be
    mapped by a process that stays outside."""
    return f"{host.uid} {host.uid} 1", f"{host.gid} {host.gid} 1"


def _mounts(access: Access, host: Host, system: System) -> Iterator[ConfineStep]:
    """Copies of what becomes writable are taken first, while it still is."""
    roots = _roots(access)
    slots = {rule.path: slot for slot, rule in zip(count(1), roots, strict=False)}
    devices = _devices(access, system)
    first_device = len(slots) + 1
    kept = {
        path: slot
        for slot, (path, _) in zip(
            count(first_device + len(devices)), system.run_kept, strict=False
        )
    }
    yield MountPrivate()
    for rule in roots:
        yield MountTree(slots[rule.path], rule.path, rule.identity)
    for slot, path in zip(count(first_device), devices, strict=False):
        yield MountTree(slot, path, ANYTHING)
    for path, slot in kept.items():
        yield MountTree(slot, path, ANYTHING)
    # A device's file does what it does wherever it lies, and to root it may be open.
    yield MountAttributes("/", Attribute.READ_ONLY | Attribute.NO_DEVICES)
    yield from _dev(devices, first_device, system)
    if host.new_proc:
        yield from _proc(system)
    for path in system.sys_masked:
        yield from _masked(path, ANYTHING, directory=True)
    if system.run:
        yield from _fresh("/run", "mode=755", _run_nodes(access, system))
        for path, slot in kept.items():
            yield MountAttach(slot, path, ANYTHING, Attribute.READ_ONLY)
    if access.private_tmp:
        yield from _fresh("/tmp", "mode=1777", _nodes_below("/tmp", access.rules))
    for rule in access.rules:
        yield from _attached(rule, slots.get(rule.path), access, system)
    for path in _replaced(access, system):
        yield MountAttributes(path, Attribute.READ_ONLY, recursive=False)


def _writable(access: Access) -> list[PathRule]:
    return [rule for rule in access.rules if rule.mode is PathMode.WRITE]


def _roots(access: Access) -> list[PathRule]:
    """What becomes writable. A writable rule right below another one only keeps a directory in
    place: it is copied when the tree around it stands, so slots suffice however many there are."""
    found: list[PathRule] = []
    around: list[PathRule] = []
    for rule in access.rules:  # parents before children
        while around and not rule.path.startswith(f"{around[-1].path}/"):
            around.pop()
        if rule.mode is PathMode.WRITE and not (around and around[-1].mode is PathMode.WRITE):
            found.append(rule)
        around.append(rule)
    return found


def _attached(
    rule: PathRule, slot: int | None, access: Access, system: System
) -> Iterator[ConfineStep]:
    place = ANYTHING if _stands_in_fresh(rule.path, access, system) else rule.identity
    match rule.mode:
        case PathMode.WRITE:
            if slot is None:
                yield MountTree(_SCRATCH, rule.path, rule.identity)
                yield MountAttach(_SCRATCH, rule.path, place)
            else:
                yield MountAttach(slot, rule.path, place, Attribute.NO_DEVICES)
        case PathMode.READ:
            yield MountTree(_SCRATCH, rule.path, rule.identity)
            yield MountAttach(_SCRATCH, rule.path, rule.identity, Attribute.READ_ONLY)
        case PathMode.HIDE:
            if place is rule.identity:  # what is replaced as a whole is hidden already
                yield from _masked(rule.path, rule.identity, directory=rule.directory)


def _masked(path: str, identity: Identity, *, directory: bool) -> Iterator[ConfineStep]:
    """Covered by something that nobody may read, in a file system that nobody may change."""
    yield MountTree(_SCRATCH, MASKED_DIRECTORY if directory else MASKED_FILE, ANYTHING)
    yield MountAttach(_SCRATCH, path, identity, Attribute.READ_ONLY)


def _devices(access: Access, system: System) -> list[str]:
    return [*(f"/dev/{name}" for name in system.devices), *access.devices]


def _dev(devices: Sequence[str], first: int, system: System) -> Iterator[ConfineStep]:
    """A /dev of our own with the harmless devices, and terminals that belong to nobody else. A
    bind of the host's /dev/ptmx would open terminals there, so devpts comes with its own."""
    yield MountNew("tmpfs", "/dev", "mode=755,size=256k", MountFlag.NO_SETUID)
    for path in devices:
        node = Node.FILE if path not in ("/dev/dri",) else Node.DIRECTORY
        yield MakeNode(node, path, 0o666 if node is Node.FILE else 0o755)
    for slot, path in zip(count(first), devices, strict=False):
        yield MountAttach(slot, path, ANYTHING)
    for name, target in (
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ):
        yield MakeNode(Node.LINK, f"/dev/{name}", target=target)
    for name in ("pts", "shm", "mqueue"):
        yield MakeNode(Node.DIRECTORY, f"/dev/{name}")
    yield MountNew("devpts", TERMINALS, "newinstance,ptmxmode=0666,mode=620", _NOT_EXECUTABLE)
    yield MountNew("tmpfs", "/dev/shm", "mode=1777", _PLAIN)
    yield MountNew("mqueue", "/dev/mqueue", "", _DATA)
    yield MakeNode(Node.DIRECTORY, "/dev/.fairlead", 0o755)
    yield MakeNode(Node.DIRECTORY, MASKED_DIRECTORY, 0o000)
    yield MakeNode(Node.FILE, MASKED_FILE, 0o000)
    yield MountAttributes("/dev", Attribute.READ_ONLY, recursive=False)


_NOT_EXECUTABLE = MountFlag.NO_SETUID | MountFlag.NO_EXECUTE


def _proc(system: System) -> Iterator[ConfineStep]:
    """The processes inside and nothing of the kernel's that can be written or tells too much."""
    yield MountNew("proc", "/proc", "", _DATA)
    for name in system.proc_read_only:
        yield MountTree(_SCRATCH, f"/proc/{name}", ANYTHING)
        yield MountAttach(_SCRATCH, f"/proc/{name}", ANYTHING, Attribute.READ_ONLY)
    for path, directory in system.proc_masked:
        yield from _masked(path, ANYTHING, directory=directory)


def _fresh(path: str, options: str, nodes: Sequence[MakeNode]) -> Iterator[ConfineStep]:
    """An empty directory instead of the host's, with places to attach to."""
    yield MountNew("tmpfs", path, options, _PLAIN)
    yield from nodes


def _run_nodes(access: Access, system: System) -> list[MakeNode]:
    nodes = {node.path: node for node in _nodes_below("/run", access.rules)}
    for path, directory in system.run_kept:
        for node in _chain("/run", path, directory):
            nodes.setdefault(node.path, node)
    for path, target in system.run_links:
        *above, _ = _chain("/run", path, True)
        for node in (*above, MakeNode(Node.LINK, path, target=target)):
            nodes.setdefault(node.path, node)
    return sorted(nodes.values(), key=lambda node: node.path.split("/"))


def _nodes_below(top: str, rules: Sequence[PathRule]) -> list[MakeNode]:
    """What a fresh directory needs so that the writable roots below it can be attached."""
    nodes = dict[str, MakeNode]()
    for rule in rules:
        if rule.mode is PathMode.WRITE and rule.path.startswith(top + "/"):
            for node in _chain(top, rule.path, rule.directory):
                nodes.setdefault(node.path, node)
    return list(nodes.values())


def _chain(top: str, path: str, directory: bool) -> Iterator[MakeNode]:
    names = path[len(top) + 1 :].split("/")
    for depth in range(1, len(names) + 1):
        last = depth == len(names)
        kind = Node.FILE if last and not directory else Node.DIRECTORY
        yield MakeNode(kind, "/".join([top, *names[:depth]]))


def _replaced(access: Access, system: System) -> list[str]:
    """Directories of ours that have been filled and are closed now."""
    return ["/run"] if system.run else []


def _stands_in_fresh(path: str, access: Access, system: System) -> bool:
    """Whether what is at `path` now is a node that we made."""
    tops = [*(["/run"] if system.run else []), *(["/tmp"] if access.private_tmp else [])]
    top = next((top for top in tops if path.startswith(top + "/")), None)
    if top is None:
        return False
    writable = [rule.path for rule in _writable(access) if rule.path.startswith(top + "/")]
    return not any(path.startswith(root + "/") for root in writable)


def _walls(host: Host, filter_program: bytes) -> Iterator[ConfineStep]:
    """What holds beside the mounts. The filter comes last: it would deny the steps before it."""
    yield NoNewPrivileges()
    if host.landlock_abi >= SCOPES_SINCE_ABI:
        yield Landlock(scopes=SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL)
        yield LandlockApply()
    yield DropCapabilities()
    yield Seccomp(filter_program, listener=host.notify)


def own_domain(host: Host) -> tuple[ConfineStep, ...]:
    """Each command in a domain of its own can't signal its guard, nor its neighbours."""
    if host.landlock_abi < SCOPES_SINCE_ABI:
        return ()
    return (Landlock(scopes=SCOPE_SIGNAL), LandlockApply())
