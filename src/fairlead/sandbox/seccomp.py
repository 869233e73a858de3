"""The system call filter: what is denied, with which answer, compiled to classic BPF.

Pure. `RULES` is the one table: the filter is compiled from it, and `denial_of` reads it. A denial
is *told* if a person should hear of it: then the call waits for the engine's answer. What programs
merely try and do without is denied quietly, in the kernel.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from fairlead.model.access import Network
from fairlead.model.errors import Rejected
from fairlead.model.frozen import dataclass
from fairlead.sandbox import bpf
from fairlead.sandbox.syscalls import ARCHITECTURES, NEWEST, NUMBERS

SYSTEM_CALL, CONNECT = "system call", "connect"

_KILL = 0x8000_0000  # SECCOMP_RET_KILL_PROCESS
_ERRNO = 0x0005_0000
_NOTIFY = 0x7FC0_0000
_ALLOW = 0x7FFF_0000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where they stand in struct seccomp_data
_ANY = 0xFFFF_FFFF
_LEAF = 4  # so few numbers are compared one by one


@dataclass(frozen=True, slots=True)
class Deny:
    """The call is not made. `label` says which kind of it was meant, where that matters."""

    errno: int
    told: bool = True
    label: str = ""
    what: str = SYSTEM_CALL


@dataclass(frozen=True, slots=True)
class Allow:
    """The kernel decides."""


@dataclass(frozen=True, slots=True)
class Choose:
    """By the low half of an argument, as the kernel reads it, after `mask`."""

    argument: int
    cases: tuple[tuple[tuple[int, ...], Decision], ...]
    otherwise: Decision
    mask: int = _ANY


Decision = Deny | Allow | Choose
ALLOW = Allow()


def compile_filter(
    machine: str,
    network: Network,
    *,
    notify: bool,
    memfd_exec: bool = True,
    own_network: bool = True,
) -> bytes:
    """The filter for a machine, as the kernel takes it.

    With `own_network`, a network that is off is a namespace with nothing but a loopback. Without
    one, nothing but this filter keeps commands off the network: no internet socket can be made,
    not even for the loopback. Raises `Rejected` for a machine that it knows no numbers of.
    """
    if machine not in NUMBERS:
        known = ", ".join(NUMBERS)
        raise Rejected(f"no system call filter is known for {machine}, only for {known}")
    internet = own_network or network is Network.FULL
    return _compiled(machine, internet, memfd_exec, notify)


def denial_of(number: int, arguments: Sequence[int], architecture: int) -> tuple[str, int, str]:
    """What was denied, which errno is the answer, and what kind of thing it was: for a call that
    the filter asked about. Which options the filter was made with need not be known."""
    machine = next((name for name, value in ARCHITECTURES.items() if value == architecture), "")
    name = _names(machine).get(number)
    if name is None:
        return f"system call {number}", errno.EPERM, SYSTEM_CALL
    decision = _followed(rules(internet=False, memfd_exec=False)[name], arguments)
    if isinstance(decision, Allow):
        return name, errno.EPERM, SYSTEM_CALL
    shown = f"{name}({decision.label})" if decision.label else name
    return shown, decision.errno, decision.what


def _followed(decision: Decision, arguments: Sequence[int]) -> Deny | Allow:
    while isinstance(decision, Choose):
        value = arguments[decision.argument] & decision.mask
        chosen = (one for values, one in decision.cases if value in values)
        decision = next(chosen, decision.otherwise)
    return decision


@cache
def _names(machine: str) -> Mapping[int, str]:
    return {number: name for name, number in NUMBERS.get(machine, {}).items()}


# --- What is denied -----------------------------------------------------------------------------


def _each(names: str, decision: Decision) -> dict[str, Decision]:
    return dict.fromkeys(names.split(), decision)


_TOLD = Deny(errno.EPERM)
_QUIET = Deny(errno.EPERM, told=False)
_NOT_THERE = Deny(errno.ENOSYS, told=False)

_ALWAYS: dict[str, Decision] = {
    # Into other processes.
    **_each("ptrace process_vm_readv process_vm_writev pidfd_getfd", _TOLD),
    **_each("kcmp process_madvise", _QUIET),
    # Mounts and roots.
    **_each("mount umount2 pivot_root chroot move_mount open_tree open_tree_attr", _TOLD),
    **_each("fsopen fsconfig fsmount fspick mount_setattr setns", _TOLD),
    # Parts of the kernel with a long list of holes. Event loops try io_uring and do without: to
    # them ENOSYS is a kernel that has none.
    **_each("io_uring_setup io_uring_enter io_uring_register", _NOT_THERE),
    **_each("keyctl add_key request_key", _NOT_THERE),
    **_each("bpf perf_event_open", _TOLD),
    **_each("userfaultfd", _QUIET),
    # The machine as a whole.
    **_each("init_module finit_module delete_module kexec_load kexec_file_load reboot", _TOLD),
    **_each("swapon swapoff acct quotactl quotactl_fd syslog vhangup fanotify_init", _TOLD),
    **_each("settimeofday clock_settime adjtimex clock_adjtime iopl ioperm", _TOLD),
    **_each("sethostname setdomainname", _TOLD),
    # A handle opens a file without a way to it. Who asks for one gets the answer of a file system
    # that has none.
    **_each("open_by_handle_at", _TOLD),
    **_each("name_to_handle_at", Deny(errno.EOPNOTSUPP, told=False)),
    **_each("lookup_dcookie nfsservctl uselib", _NOT_THERE),
    # Its flags are in memory, where no filter can look: libc falls back to clone.
    **_each("clone3", _NOT_THERE),
}

_NEW_NAMESPACES = 0x7E02_0000  # mount, cgroup, uts, ipc, user, pid, net
_NEW_TIME_NAMESPACE = 0x80  # to clone, these bits are a signal

_TERMINAL = Choose(
    1,
    (
        ((0x5412,), Deny(errno.EPERM, label="TIOCSTI")),  # types into the terminal
        ((0x541C,), Deny(errno.EPERM, label="TIOCLINUX")),  # so does this, on a console
        ((0x5423,), Deny(errno.EPERM, label="TIOCSETD")),  # loads drivers
    ),
    ALLOW,
)

# Linux, a 32-bit machine's name, the old version number, no random addresses, and the question.
_PERSONALITIES = (0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0x4_0008, 0xFFFF_FFFF)

_SET_USER_ID = 0o4000
_EMPTY_PATH = 0x1000  # AT_EMPTY_PATH
_NEVER_EXECUTABLE = 0x8  # MFD_NOEXEC_SEAL
_MEMORY_EXEC = Deny(errno.EACCES, label="program in memory")

_UNIX, _INET, _INET6, _NETLINK, _PACKET, _ALG, _VSOCK = 1, 2, 10, 16, 17, 38, 40
_STREAM, _DATAGRAM, _SEQUENCED, _TYPE = 1, 2, 5, 0xF
_PROTOCOLS = (0, 1, 6, 17, 58, 262)  # the usual one, ICMP, TCP, UDP, ICMPv6, multipath TCP


def rules(*, internet: bool, memfd_exec: bool) -> dict[str, Decision]:
    """What happens to each system call that is not simply allowed."""
    return {
        **_ALWAYS,
        "clone": _new_namespace(_NEW_NAMESPACES),
        "unshare": _new_namespace(_NEW_NAMESPACES | _NEW_TIME_NAMESPACE),
        "ioctl": _TERMINAL,
        # Of oneself only: a limit on its guard, or on what it runs beside, would be as good as a
        # signal to it.
        "prlimit64": Choose(0, (((0,), ALLOW),), _QUIET),
        **_each("chmod fchmod", _mode(1)),
        **_each("fchmodat fchmodat2", _mode(2)),
        "personality": Choose(0, ((_PERSONALITIES, ALLOW),), _TOLD),
        "socket": _socket(internet),
        "socketpair": _SOCKET_PAIR,
        **({} if memfd_exec else _NO_MEMORY_EXEC),
    }


def _new_namespace(flags: int) -> Decision:
    return Choose(0, (((0,), ALLOW),), Deny(errno.EPERM, label="new namespace"), mask=flags)


def _mode(argument: int) -> Decision:
    """Whoever runs a set-user-ID program of root's is root, wherever it lies. A file that is made
    with this bit loses it as soon as something is written to it, so this is the only way."""
    return Choose(
        argument,
        (((0,), ALLOW),),
        Deny(errno.EPERM, label="set-user-ID"),
        mask=_SET_USER_ID,
    )


_NO_MEMORY_EXEC: dict[str, Decision] = {
    "execveat": Choose(4, (((0,), ALLOW),), _MEMORY_EXEC, mask=_EMPTY_PATH),
    # Whatever else is in memory could be executed by its name in /proc.
    "memfd_create": Choose(
        1, (((_NEVER_EXECUTABLE,), ALLOW),), _MEMORY_EXEC, mask=_NEVER_EXECUTABLE
    ),
}


def _socket(internet: bool) -> Decision:
    """By family. Each resolver makes a netlink socket and does without, so nobody is told."""
    other = Deny(errno.EAFNOSUPPORT, label="another family")
    return Choose(
        0,
        (
            ((_UNIX,), _UNIX_SOCKET),
            ((_INET, _INET6), _internet_socket(internet)),
            ((_NETLINK,), Deny(errno.EAFNOSUPPORT, told=False, label="netlink")),
            ((_ALG,), Deny(errno.EAFNOSUPPORT, told=False, label="kernel cryptography")),
            ((_VSOCK,), Deny(errno.EAFNOSUPPORT, label="vsock")),
            ((_PACKET,), Deny(errno.EAFNOSUPPORT, label="packet")),
        ),
        other,
    )


# A datagram can be sent to any path and any abstract name, also from one of a pair. Loggers try,
# and do without. To unix sockets, raw is another word for it.
_UNIX_SOCKET = Choose(
    1,
    (((_STREAM, _SEQUENCED), ALLOW),),
    Deny(errno.EPERM, told=False, label="unix datagram"),
    mask=_TYPE,
)

_SOCKET_PAIR = Choose(
    0,
    (
        (
            (_UNIX,),
            Choose(
                1,
                (((_STREAM, _SEQUENCED), ALLOW),),
                Deny(errno.EPERM, label="unix datagram"),
                mask=_TYPE,
            ),
        ),
    ),
    Deny(errno.EAFNOSUPPORT, told=False, label="another family"),
)


def _internet_socket(internet: bool) -> Decision:
    """Streams and datagrams of the usual protocols: the rest are raw, or seldom looked at."""
    no_network = Deny(errno.EAFNOSUPPORT, label="internet", what=CONNECT)
    unusual = Deny(errno.EPROTONOSUPPORT, label="unusual protocol")
    usual = Choose(2, ((_PROTOCOLS, ALLOW if internet else no_network),), unusual)
    raw = Deny(errno.EPERM, label="raw")
    return Choose(1, (((_STREAM, _DATAGRAM), usual),), raw, mask=_TYPE)


# --- The program --------------------------------------------------------------------------------


@cache
def _compiled(machine: str, internet: bool, memfd_exec: bool, notify: bool) -> bytes:
    numbers = NUMBERS[machine]
    decided = rules(internet=internet, memfd_exec=memfd_exec)
    rows = sorted((numbers[name], name) for name in decided if name in numbers)
    program = bpf.Program()
    program.load(_ARCHITECTURE)
    # A call in another machine's language, where numbers mean something else: i386 on x86-64.
    program.jump_if(bpf.EQUAL, ARCHITECTURES[machine], "ours")
    program.give_back(_KILL)
    program.label("ours")
    program.load(_NUMBER)
    program.jump_if(bpf.GREATER, NEWEST, "newer")
    _search(program, rows, decided, notify)
    program.label("newer")
    program.give_back(_value(_NOT_THERE, notify))
    for decision in _distinct(decided[name] for _, name in rows):
        program.label(_place(decision))
        _decide(program, decision, notify)
    return program.assembled()


def _search(
    program: bpf.Program,
    rows: Sequence[tuple[int, str]],
    decided: Mapping[str, Decision],
    notify: bool,
) -> None:
    """From the number to its decision in a few comparisons. The kernel runs this once for every
    number to find those that it need not ask about at all."""
    if len(rows) <= _LEAF:
        for number, name in rows:
            program.jump_if(bpf.EQUAL, number, _place(decided[name]))
        program.give_back(_ALLOW)
        return
    middle = len(rows) // 2
    upper = f"from {rows[middle][0]}"
    program.jump_if(bpf.AT_LEAST, rows[middle][0], upper)
    _search(program, rows[:middle], decided, notify)
    program.label(upper)
    _search(program, rows[middle:], decided, notify)


def _decide(program: bpf.Program, decision: Decision, notify: bool) -> None:
    if not isinstance(decision, Choose):
        program.give_back(_value(decision, notify))
        return
    program.load(_ARGUMENTS + 8 * decision.argument)  # the low half comes first on both machines
    if decision.mask != _ANY:
        program.mask(decision.mask)
    later = [(program.fresh_label(), one) for _, one in decision.cases]
    for (label, _), (values, _) in zip(later, decision.cases, strict=True):
        for value in values:
            program.jump_if(bpf.EQUAL, value, label)
    _decide(program, decision.otherwise, notify)
    for label, one in later:
        program.label(label)
        _decide(program, one, notify)


def _value(decision: Deny | Allow, notify: bool) -> int:
    if isinstance(decision, Allow):
        return _ALLOW
    return _NOTIFY if decision.told and notify else _ERRNO | decision.errno


def _place(decision: Decision) -> str:
    return f"decision {decision}"


def _distinct(decisions: Iterable[Decision]) -> Iterator[Decision]:
    return iter({_place(decision): decision for decision in decisions}.values())
