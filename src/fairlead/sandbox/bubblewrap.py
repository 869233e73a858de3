"""The tier for machines where our launcher could not be built: the same walls, as words for
`bwrap`.

Pure. The mounts come in the order of `namespaces.render`, and mean the same with two differences:
bwrap takes sources from the host's tree as it was, so nothing needs to be copied first; and it
can't compare what it mounts with what was looked at. A confined command can't profit from that:
every path that a rule names is a mount in its own tree, which it can neither move nor replace.

What a command leaves running ends with it, since each has a sandbox of its own: none of the next
commands could reach it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.model.access import Access, Network, PathMode, PathRule
from fairlead.model.sandbox import Host
from fairlead.sandbox.limits import held_together
from fairlead.sandbox.system import System
from fairlead.sandbox.wrapper import Wrapper

# bwrap reads the filter and closes it; no shell of ours uses this number.
FILTER_FD = 60

_NOBODYS = ("--perms", "0000")


def render(access: Access, host: Host, system: System, filter_program: bytes) -> Wrapper:
    """What stands around every command under this access."""
    assert host.bubblewrap is not None
    return Wrapper(
        argv=(
            host.bubblewrap,
            *_namespaces(access, host),
            *_mounts(access, host, system),
            *("--cap-drop", "ALL"),
            *("--seccomp", str(FILTER_FD)),
        ),
        attached=((FILTER_FD, filter_program),),
        directory_option="--chdir",
    )


def missing(access: Access, host: Host) -> tuple[str, ...]:
    """What this tier can't do on this machine, in words of `model.sandbox.MISSING`."""
    shared = access.network is Network.FULL or not host.net_namespaces
    return (
        *([] if host.new_proc else ["pid-namespace", "signals"]),
        *(["protected-names"] if any(rule.link for rule in access.rules) else []),
        *(["unix-sockets"] if shared else []),  # abstract ones: they have no path to cover
        *(["shared-limits"] if held_together(access.limits) else []),
    )


def _namespaces(access: Access, host: Host) -> Iterator[str]:
    """No session of its own: a terminal's job control needs the one that it was given, and what
    could be done to a terminal from inside (TIOCSTI) is closed by the filter."""
    if host.user_namespaces:
        yield "--unshare-user"
    yield from ("--unshare-ipc", "--unshare-uts")
    if host.new_proc:
        yield "--unshare-pid"
    if access.network is Network.OFF and host.net_namespaces:
        yield "--unshare-net"
    yield "--die-with-parent"


def _mounts(access: Access, host: Host, system: System) -> Iterator[str]:
    """From the root inwards: what is mounted later covers what was there before."""
    yield from ("--ro-bind", "/", "/")
    for path in system.sys_masked:
        yield from _hidden_directory(path)
    yield from _dev(access)
    if host.new_proc:
        yield from _proc(system)
    if system.run:
        yield from ("--perms", "0755", "--tmpfs", "/run")
        for path, _ in system.run_kept:
            yield from ("--ro-bind", path, path)
        for path, target in system.run_links:
            yield from ("--symlink", target, path)
    if access.private_tmp:
        yield from ("--perms", "1777", "--tmpfs", "/tmp")
    for rule in access.rules:
        yield from _ruled(rule, access, system)
    if system.run:  # at last: the places of writable roots in it have been made now
        yield from ("--remount-ro", "/run")
    yield from ("--remount-ro", "/dev")


def _dev(access: Access) -> Iterator[str]:
    """bwrap's own /dev has the harmless devices, and terminals that belong to nobody else."""
    yield from ("--dev", "/dev")
    for path in access.devices:
        yield from ("--dev-bind", path, path)
    yield from ("--perms", "1777", "--tmpfs", "/dev/shm")
    yield from ("--mqueue", "/dev/mqueue")


def _proc(system: System) -> Iterator[str]:
    """The processes inside. What of the kernel's can be written is taken read-only from the
    host's: bwrap does so only for some of it, and only where it may be written."""
    yield from ("--proc", "/proc")
    for name in system.proc_read_only:
        yield from ("--ro-bind", f"/proc/{name}", f"/proc/{name}")
    for path, directory in system.proc_masked:
        yield from _hidden_directory(path) if directory else _hidden_file(path)


def _ruled(rule: PathRule, access: Access, system: System) -> Iterator[str]:
    match rule.mode:
        case PathMode.WRITE:
            yield from ("--bind", rule.path, rule.path)
        case PathMode.READ if not rule.link:  # it would be followed
            yield from ("--ro-bind", rule.path, rule.path)
        case PathMode.HIDE if not _is_replaced(rule.path, access, system):
            if _root_above(rule.path, access.rules):
                # bwrap makes a place to mount on where there is none. This one fails if the path
                # is gone by now, so nothing ever appears in a directory of the host.
                yield from ("--ro-bind", rule.path, rule.path)
            yield from _hidden_directory(rule.path) if rule.directory else _hidden_file(rule.path)


def _hidden_directory(path: str) -> Iterator[str]:
    """An empty one that nobody may enter, in a file system that nobody may change."""
    yield from (*_NOBODYS, "--tmpfs", path, "--remount-ro", path)


def _hidden_file(path: str) -> Iterator[str]:
    """A device in a mount that has no devices: it can't be opened at all."""
    yield from ("--ro-bind", "/dev/null", path)


def _is_replaced(path: str, access: Access, system: System) -> bool:
    """Whether the whole directory around it is another one inside, and it is gone with that."""
    tops = [*(["/run"] if system.run else []), *(["/tmp"] if access.private_tmp else [])]
    return any(path.startswith(f"{top}/") for top in tops) and not _root_above(path, access.rules)


def _root_above(path: str, rules: Sequence[PathRule]) -> bool:
    """Whether it lies in a tree that is the host's and writable."""
    return any(
        rule.mode is PathMode.WRITE and path.startswith(f"{rule.path.rstrip('/')}/")
        for rule in rules
    )
