"""The filter, rule by rule, run as the kernel runs it: on a machine that knows nothing of rules."""

from __future__ import annotations

import errno
import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.model.access import Network
from fairlead.model.errors import Rejected
from fairlead.sandbox import seccomp
from fairlead.sandbox.seccomp import compile_filter, denial_of
from fairlead.sandbox.syscalls import ARCHITECTURES, NEWEST, NUMBERS
from tests.programs import require
from tests.sandbox.filter_machine import ALLOW, ERRNO, KILL, NOTIFY, answer

MACHINES = ("x86_64", "aarch64")
X86_64, AARCH64, I386, ARM, X32 = 0xC000_003E, 0xC000_00B7, 0x4000_0003, 0x4000_0028, 0x4000_0000
EPERM, ENOSYS, EACCES = errno.EPERM, errno.ENOSYS, errno.EACCES
NO_FAMILY, NO_PROTOCOL = errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT

TOLD, QUIET = True, False
UNIX, INET, INET6, NETLINK, PACKET, ALG, VSOCK, BLUETOOTH = 1, 2, 10, 16, 17, 38, 40, 31
STREAM, DATAGRAM, RAW, SEQUENCED = 1, 2, 3, 5
NONBLOCK_CLOEXEC = 0o4000 | 0o2000000


def words(text: str) -> list[str]:
    return text.split()


# What is denied whatever the arguments: name, errno, whether a person is told.
WHOLE = [
    *((name, EPERM, TOLD) for name in words("ptrace process_vm_readv process_vm_writev")),
    *((name, EPERM, QUIET) for name in words("kcmp process_madvise userfaultfd")),
    ("pidfd_getfd", EPERM, TOLD),
    *((name, EPERM, TOLD) for name in words("mount umount2 pivot_root chroot move_mount")),
    *((name, EPERM, TOLD) for name in words("open_tree open_tree_attr fsopen fsconfig fsmount")),
    *((name, EPERM, TOLD) for name in words("fspick mount_setattr setns bpf perf_event_open")),
    *((f"io_uring_{name}", ENOSYS, QUIET) for name in ("setup", "enter", "register")),
    *((name, ENOSYS, QUIET) for name in words("keyctl add_key request_key")),
    *((name, EPERM, TOLD) for name in words("init_module finit_module delete_module")),
    *((name, EPERM, TOLD) for name in words("kexec_load kexec_file_load reboot swapon swapoff")),
    *((name, EPERM, TOLD) for name in words("acct quotactl quotactl_fd syslog vhangup")),
    *((name, EPERM, TOLD) for name in words("fanotify_init settimeofday clock_settime")),
    *((name, EPERM, TOLD) for name in words("adjtimex clock_adjtime iopl ioperm")),
    *((name, EPERM, TOLD) for name in words("sethostname setdomainname open_by_handle_at")),
    ("name_to_handle_at", errno.EOPNOTSUPP, QUIET),
    *((name, ENOSYS, QUIET) for name in words("lookup_dcookie nfsservctl uselib clone3")),
]

# What depends on the arguments, with the network off in a namespace: name, arguments, and either
# None (allowed) or errno, whether a person is told, and what he is told.
CHOSEN = [
    ("clone", (0x0011,), None),  # fork
    ("clone", (0x3D0F00,), None),  # a thread
    ("clone", (0x4111,), None),  # vfork
    ("clone", (0x80 | 0x11,), None),  # a signal, not a time namespace
    *(
        ("clone", (flag | 0x11,), (EPERM, TOLD, "new namespace"))
        for flag in (0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000)
    ),
    ("clone", (0x4000_0000 | 0x11,), (EPERM, TOLD, "new namespace")),
    ("unshare", (0x400,), None),  # descriptors
    ("unshare", (0x200,), None),  # the working directory
    ("unshare", (0x1000_0000,), (EPERM, TOLD, "new namespace")),
    ("unshare", (0x2_0000 | 0x400,), (EPERM, TOLD, "new namespace")),
    ("unshare", (0x80,), (EPERM, TOLD, "new namespace")),
    ("ioctl", (0, 0x5401), None),  # TCGETS
    ("ioctl", (0, 0x5413), None),  # TIOCGWINSZ
    ("ioctl", (0, 0x5412), (EPERM, TOLD, "TIOCSTI")),
    ("ioctl", (0, 0x541C), (EPERM, TOLD, "TIOCLINUX")),
    ("ioctl", (0, 0x5423), (EPERM, TOLD, "TIOCSETD")),
    # The kernel reads 32 bits of it: what stands above them must hide nothing.
    ("ioctl", (0, 0x1_0000_5412), (EPERM, TOLD, "TIOCSTI")),
    ("prlimit64", (0, 7), None),  # its own
    ("prlimit64", (0x1_0000_0000, 7), None),
    ("prlimit64", (1, 7), (EPERM, QUIET, "")),  # another's, maybe its guard's
    *(
        (name, arguments, decision)
        for name, before in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2))
        for arguments, decision in (
            ((*(0,) * before, 0o2775), None),
            ((*(0,) * before, 0o4755), (EPERM, TOLD, "set-user-ID")),
        )
    ),
    ("prlimit64", (0,), None),  # ulimit
    ("prlimit64", (1,), (EPERM, QUIET, "")),  # of somebody else
    ("personality", (0xFFFF_FFFF,), None),
    ("personality", (0,), None),
    ("personality", (0x4_0000,), None),  # gdb, setarch -R
    ("personality", (0x40_0000,), (EPERM, TOLD, "")),  # READ_IMPLIES_EXEC
    ("personality", (0x10_0000,), (EPERM, TOLD, "")),  # MMAP_PAGE_ZERO
    ("socket", (UNIX, STREAM), None),
    ("socket", (UNIX, SEQUENCED | NONBLOCK_CLOEXEC), None),
    ("socket", (UNIX, DATAGRAM), (EPERM, QUIET, "unix datagram")),
    ("socket", (UNIX, DATAGRAM | NONBLOCK_CLOEXEC), (EPERM, QUIET, "unix datagram")),
    ("socket", (UNIX, RAW), (EPERM, QUIET, "unix datagram")),
    ("socket", (0x1_0000_0000 | UNIX, DATAGRAM), (EPERM, QUIET, "unix datagram")),
    *(("socket", (family, STREAM, 6), None) for family in (INET, INET6)),
    *(("socket", (family, DATAGRAM | NONBLOCK_CLOEXEC, 17), None) for family in (INET, INET6)),
    ("socket", (INET, DATAGRAM, 1), None),  # ping
    ("socket", (INET, STREAM, 262), None),  # multipath TCP
    ("socket", (INET, STREAM, 132), (NO_PROTOCOL, TOLD, "unusual protocol")),  # SCTP
    ("socket", (INET, DATAGRAM, 136), (NO_PROTOCOL, TOLD, "unusual protocol")),  # UDP-Lite
    ("socket", (INET, RAW, 1), (EPERM, TOLD, "raw")),
    ("socket", (INET6, RAW | NONBLOCK_CLOEXEC, 58), (EPERM, TOLD, "raw")),
    ("socket", (INET, SEQUENCED, 132), (EPERM, TOLD, "raw")),
    ("socket", (NETLINK, RAW, 0), (NO_FAMILY, QUIET, "netlink")),
    ("socket", (ALG, SEQUENCED, 0), (NO_FAMILY, QUIET, "kernel cryptography")),
    ("socket", (VSOCK, STREAM, 0), (NO_FAMILY, TOLD, "vsock")),
    ("socket", (PACKET, RAW, 0), (NO_FAMILY, TOLD, "packet")),
    ("socket", (BLUETOOTH, RAW, 0), (NO_FAMILY, TOLD, "another family")),
    ("socket", (0, STREAM, 0), (NO_FAMILY, TOLD, "another family")),
    ("socketpair", (UNIX, STREAM), None),
    ("socketpair", (UNIX, SEQUENCED), None),
    ("socketpair", (UNIX, DATAGRAM), (EPERM, TOLD, "unix datagram")),
    ("socketpair", (INET, STREAM), (NO_FAMILY, QUIET, "another family")),
]

# With programs in memory refused.
IN_MEMORY = [
    ("execveat", (3, 0, 0, 0, 0x1000), (EACCES, TOLD, "program in memory")),
    ("execveat", (3, 0, 0, 0, 0x1100), (EACCES, TOLD, "program in memory")),
    ("execveat", (3, 0, 0, 0, 0), None),
    ("memfd_create", (0, 1), (EACCES, TOLD, "program in memory")),
    ("memfd_create", (0, 0x10), (EACCES, TOLD, "program in memory")),
    ("memfd_create", (0, 0x8), None),
    ("memfd_create", (0, 0x9), None),
]

# Without a network namespace and with the network off: no internet at all, and it is a connection
# that a person is told of.
OFFLINE = [
    ("socket", (INET, STREAM, 6), (NO_FAMILY, TOLD, "internet")),
    ("socket", (INET6, DATAGRAM, 17), (NO_FAMILY, TOLD, "internet")),
    ("socket", (INET, STREAM, 262), (NO_FAMILY, TOLD, "internet")),
    ("socket", (UNIX, STREAM), None),
]

LACKING = {("aarch64", "chmod")}
Expected = tuple[int, bool, str] | None


def program(machine: str, *, notify: bool = True, **said: bool) -> bytes:
    return compile_filter(machine, Network.OFF, notify=notify, **said)


def check(
    machine: str, name: str, arguments: tuple[int, ...], expected: Expected, **said: bool
) -> None:
    """Both ways of answering, and what a person is told of it. A machine may lack the call."""
    number = NUMBERS[machine].get(name)
    if number is None:
        assert (machine, name) in LACKING
        return
    architecture = ARCHITECTURES[machine]
    asked = answer(program(machine, **said), architecture, number, arguments)
    quiet = answer(program(machine, notify=False, **said), architecture, number, arguments)
    if expected is None:
        assert asked == quiet == (ALLOW, 0)
        return
    code, told, label = expected
    assert quiet == (ERRNO, code)
    assert asked == ((NOTIFY, 0) if told else (ERRNO, code))
    shown = f"{name}({label})" if label else name
    assert denial_of(number, [*arguments, *[0] * 6][:6], architecture)[:2] == (shown, code)


def rows(table: list[tuple[str, tuple[int, ...], Expected]]) -> list[object]:
    return [
        pytest.param(*row, id=f"{row[0]}-{'-'.join(map(hex, row[1]))}-{n}")
        for n, row in enumerate(table)
    ]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "code", "told"), WHOLE, ids=[row[0] for row in WHOLE])
def test_what_is_denied_whole(machine: str, name: str, code: int, told: bool) -> None:
    """Whatever the arguments. A machine that never had the call has no row."""
    if name not in NUMBERS[machine]:
        assert (machine, name) in {("aarch64", one) for one in ("iopl", "ioperm", "uselib")}
        return
    for arguments in ((), (2**32 - 1,) * 6, (2**64 - 1,) * 6):
        check(machine, name, arguments, (code, told, ""))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "arguments", "expected"), rows(CHOSEN))
def test_what_depends_on_arguments(
    machine: str, name: str, arguments: tuple[int, ...], expected: Expected
) -> None:
    """The dangerous kind is denied, the ordinary kind is the kernel's business."""
    check(machine, name, arguments, expected)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "arguments", "expected"), rows(IN_MEMORY))
def test_programs_in_memory(
    machine: str, name: str, arguments: tuple[int, ...], expected: Expected
) -> None:
    """Denied if asked for; usually nothing is."""
    check(machine, name, arguments, expected, memfd_exec=False)
    allowed = answer(
        program(machine), ARCHITECTURES[machine], NUMBERS[machine][name], [*arguments, 0, 0]
    )
    assert allowed == (ALLOW, 0)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "arguments", "expected"), rows(OFFLINE))
def test_where_only_the_filter_keeps_the_network_away(
    machine: str, name: str, arguments: tuple[int, ...], expected: Expected
) -> None:
    """No internet socket can be made, and that is told as a connection."""
    check(machine, name, arguments, expected, own_network=False)
    if expected is not None:
        told = denial_of(NUMBERS[machine][name], arguments, ARCHITECTURES[machine])
        assert told == ("socket(internet)", NO_FAMILY, "connect")
    full = compile_filter(machine, Network.FULL, notify=True, own_network=False)
    assert answer(full, ARCHITECTURES[machine], NUMBERS[machine][name], arguments) == (ALLOW, 0)


def test_the_tables_here_have_every_rule() -> None:
    """No rule goes unlooked at, and none is in the table that no machine has a number for."""
    looked_at = {row[0] for row in (*WHOLE, *CHOSEN, *IN_MEMORY)}
    assert looked_at == set(seccomp.rules(internet=True, memfd_exec=False))
    assert looked_at == {name for machine in MACHINES for name in NUMBERS[machine]}


@pytest.mark.parametrize("machine", MACHINES)
@given(
    number=some.integers(0, 2**32 - 1), arguments=some.tuples(*[some.integers(0, 2**64 - 1)] * 6)
)
def test_what_no_rule_names_is_allowed(
    machine: str, number: int, arguments: tuple[int, ...]
) -> None:
    """Up to the newest call that was looked at; beyond it the kernel has none, as far as programs
    can see."""
    for one in (number, number % (NEWEST + 1)):
        if one in NUMBERS[machine].values():
            continue
        expected = (ALLOW, 0) if one <= NEWEST else (ERRNO, ENOSYS)
        assert answer(program(machine), ARCHITECTURES[machine], one, arguments) == expected


def test_the_last_and_the_first_unknown_call() -> None:
    """The border is where it is said to be."""
    assert answer(program("x86_64"), X86_64, NEWEST) == (ALLOW, 0)
    assert answer(program("x86_64"), X86_64, NEWEST + 1) == (ERRNO, ENOSYS)


@pytest.mark.parametrize("name", sorted(NUMBERS["x86_64"]))
def test_x32_is_no_way_around(name: str) -> None:
    """The same calls under their other numbers do not exist."""
    assert answer(program("x86_64"), X86_64, X32 | NUMBERS["x86_64"][name]) == (ERRNO, ENOSYS)


@pytest.mark.parametrize(
    ("machine", "foreign"),
    [("x86_64", I386), ("x86_64", AARCH64), ("x86_64", 0), ("aarch64", ARM), ("aarch64", X86_64)],
)
def test_another_machine_s_language_is_deadly(machine: str, foreign: int) -> None:
    """Numbers mean other calls there, so none is made: the process ends."""
    for number in (0, 1, NUMBERS[machine]["mount"], 2**32 - 1):
        assert answer(program(machine), foreign, number) == (KILL, 0)


def test_a_machine_without_a_table_is_refused() -> None:
    """By name: nothing runs unfiltered there."""
    with pytest.raises(Rejected, match="no system call filter is known for riscv64, only for x86_"):
        compile_filter("riscv64", Network.OFF, notify=True)


def test_an_unknown_call_that_was_asked_about_is_refused() -> None:
    """Whoever asked: there is an answer."""
    assert denial_of(1234, (), X86_64) == ("system call 1234", EPERM, "system call")
    assert denial_of(1, (), 77) == ("system call 1", EPERM, "system call")
    allowed = (UNIX, STREAM, 0, 0, 0, 0)
    assert denial_of(NUMBERS["x86_64"]["socket"], allowed, X86_64)[1] == EPERM


@given(
    machine=some.sampled_from(MACHINES),
    arguments=some.tuples(*[some.integers(0, 0x30) | some.integers(0, 2**64 - 1)] * 6),
    internet=some.booleans(),
    memfd_exec=some.booleans(),
    data=some.data(),
)
def test_program_and_denial_agree(
    machine: str,
    arguments: tuple[int, ...],
    internet: bool,
    memfd_exec: bool,
    data: some.DataObject,
) -> None:
    """What the program denies, `denial_of` names with the same errno, for every rule, whatever the
    arguments."""
    name = data.draw(some.sampled_from(sorted(NUMBERS[machine])))
    number, architecture = NUMBERS[machine][name], ARCHITECTURES[machine]
    compiled = program(machine, notify=False, own_network=internet, memfd_exec=memfd_exec)
    action, code = answer(compiled, architecture, number, arguments)
    if action == ERRNO:
        shown, told_code, _ = denial_of(number, arguments, architecture)
        assert (shown.partition("(")[0], told_code) == (name, code)


def test_a_program_is_small_and_soon_done() -> None:
    """It is run for every system call: a few comparisons lead to the usual answer."""
    compiled = program("x86_64")
    assert len(compiled) // 8 < 400
    assert compiled == program("x86_64")


HEADERS = {
    "x86_64": "#include <asm/unistd.h>",
    "aarch64": "#define __ARCH_WANT_SYS_CLONE3\n#include <asm-generic/unistd.h>",
}


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_the_kernel_s(machine: str) -> None:
    """As its own headers have them. Of what is newer than the headers, nothing is said here."""
    compiler = require("cc")
    done = subprocess.run(
        [compiler, "-E", "-dM", "-"], input=HEADERS[machine], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = dict(re.findall(r"#define __NR_(\w+) (\d+)$", done.stdout, re.MULTILINE))
    assert len(found) > 250
    if machine == "x86_64" and found.get("read") != "0":
        return  # compiled for another machine: its own table is looked at there
    newest = max(map(int, found.values()))
    known = {name: number for name, number in NUMBERS[machine].items() if number <= newest}
    assert {name: found.get(name) for name in known} == {n: str(v) for n, v in known.items()}
