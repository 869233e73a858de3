"""What `bwrap` is told, word by word and in the order that matters."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.access import Access, Limits, Network, PathMode, PathRule
from fairlead.model.confine import Identity
from fairlead.model.frozen import replace
from fairlead.model.sandbox import MISSING, Host
from fairlead.sandbox.bubblewrap import FILTER_FD, missing, render
from fairlead.sandbox.system import System

READ, WRITE, HIDE = PathMode.READ, PathMode.WRITE, PathMode.HIDE
HOST = Host(launcher=False, bubblewrap="/usr/bin/bwrap", landlock_abi=7)
SYSTEM = System(
    proc_read_only=("sys",),
    proc_masked=(("/proc/kcore", False), ("/proc/scsi", True)),
    sys_masked=("/sys/firmware",),
    run=True,
    run_kept=(("/run/systemd/resolve", True),),
    devices=("null",),
)
WORK = PathRule("/work", WRITE, Identity(8, 1), True, "workspace")


def rule(path: str, mode: PathMode, *, directory: bool = True) -> PathRule:
    return PathRule(path, mode, Identity(8, len(path)), directory, "x")


def words(*rules: PathRule, host: Host = HOST, system: System = SYSTEM, **said: Any) -> list[str]:
    access = replace(Access(rules=rules), **said)
    return list(render(access, host, system, b"12345678").argv)


def test_all_of_it() -> None:
    """From the root inwards: what comes later covers what was there before."""
    hooks, keys = rule("/work/.git/hooks", READ), rule("/work/keys", HIDE)
    netrc = rule("/home/u/.netrc", HIDE, directory=False)
    assert words(netrc, WORK, hooks, keys) == [
        "/usr/bin/bwrap",
        *("--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-pid", "--unshare-net"),
        "--die-with-parent",
        *("--ro-bind", "/", "/"),
        *("--perms", "0000", "--tmpfs", "/sys/firmware", "--remount-ro", "/sys/firmware"),
        *("--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm", "--mqueue", "/dev/mqueue"),
        *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
        *("--ro-bind", "/dev/null", "/proc/kcore"),
        *("--perms", "0000", "--tmpfs", "/proc/scsi", "--remount-ro", "/proc/scsi"),
        *("--perms", "0755", "--tmpfs", "/run"),
        *("--ro-bind", "/run/systemd/resolve", "/run/systemd/resolve"),
        *("--ro-bind", "/dev/null", "/home/u/.netrc"),
        *("--bind", "/work", "/work"),
        *("--ro-bind", "/work/.git/hooks", "/work/.git/hooks"),
        *("--ro-bind", "/work/keys", "/work/keys"),
        *("--perms", "0000", "--tmpfs", "/work/keys", "--remount-ro", "/work/keys"),
        *("--remount-ro", "/run", "--remount-ro", "/dev"),
        *("--cap-drop", "ALL", "--seccomp", str(FILTER_FD)),
    ]


def test_the_filter_comes_by_descriptor() -> None:
    """And the directory has to be said: bwrap would forget it."""
    wrapper = render(Access(), HOST, SYSTEM, b"12345678")
    assert wrapper.attached == ((FILTER_FD, b"12345678"),)
    assert wrapper.directory_option == "--chdir"


NO_NET = replace(HOST, net_namespaces=False)
NO_USER = replace(HOST, user_namespaces=False)
NO_PROC = replace(HOST, new_proc=False)
ROWS: list[tuple[str, dict[str, Any], list[str], bool]] = [
    ("a network of its own", {}, ["--unshare-net"], True),
    ("the machine's network", {"network": Network.FULL}, ["--unshare-net"], False),
    ("no network namespace", {"host": NO_NET}, ["--unshare-net"], False),
    ("no user namespace", {"host": NO_USER}, ["--unshare-user"], False),
    ("no pid namespace", {"host": NO_PROC}, ["--unshare-pid"], False),
    ("nor its /proc", {"host": NO_PROC}, ["--proc", "/proc"], False),
    ("a private /tmp", {"private_tmp": True}, ["--perms", "1777", "--tmpfs", "/tmp"], True),
    ("the host's /tmp", {}, ["--tmpfs", "/tmp"], False),
    ("a device", {"devices": ("/dev/kvm",)}, ["--dev-bind", "/dev/kvm", "/dev/kvm"], True),
    ("no /run", {"system": replace(SYSTEM, run=False, run_kept=())}, ["/run"], False),
    ("never a session of its own", {}, ["--new-session"], False),
    ("never writable as a whole", {}, ["--bind", "/", "/"], False),
    ("never more capabilities", {}, ["--cap-add"], False),
]


def within(part: list[str], whole: list[str]) -> bool:
    return any(whole[n : n + len(part)] == part for n in range(len(whole)))


@pytest.mark.parametrize(
    ("said", "part", "there"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS]
)
def test_words(said: dict[str, Any], part: list[str], there: bool) -> None:
    """For what is wanted, and for what the machine can do."""
    assert within(part, words(WORK, **said)) is there


def test_what_is_hidden_in_a_root_is_looked_for_first() -> None:
    """Where it is gone by now bwrap would make a place to mount on, in a directory of the host."""
    said = words(WORK, rule("/work/secret", HIDE, directory=False), rule("/home/u/.ssh", HIDE))
    assert within(["--ro-bind", "/work/secret", "/work/secret"], said)
    assert not within(["--ro-bind", "/home/u/.ssh", "/home/u/.ssh"], said)


def test_what_is_replaced_as_a_whole_hides_nothing_more() -> None:
    """A secret below /run is gone with it; one in a root there is not."""
    daemon, root = rule("/run/docker.sock", HIDE, directory=False), rule("/run/user/0/w", WRITE)
    inside = rule("/run/user/0/w/keys", HIDE)
    said = words(daemon, root, inside)
    assert "/run/docker.sock" not in said
    assert within(["--bind", "/run/user/0/w", "/run/user/0/w"], said)
    assert within(["--tmpfs", "/run/user/0/w/keys"], said)
    assert said.index("/run/user/0/w") < len(said) - 1 - said[::-1].index("/run")
    in_tmp = rule("/tmp/secret", HIDE, directory=False)
    assert "/tmp/secret" not in words(in_tmp, private_tmp=True)
    assert "/tmp/secret" in words(in_tmp)


LACKS = [
    (HOST, {}, ()),
    (HOST, {"network": Network.FULL}, ("unix-sockets",)),
    (replace(HOST, net_namespaces=False), {}, ("unix-sockets",)),
    (replace(HOST, new_proc=False), {}, ("pid-namespace", "signals")),
    (HOST, {"limits": Limits(memory=1)}, ("shared-limits",)),
    (HOST, {"limits": Limits(processes=1)}, ("shared-limits",)),
    (HOST, {"limits": Limits(cpu_seconds=1)}, ()),
]


@pytest.mark.parametrize(("host", "said", "lacks"), LACKS)
def test_what_it_lacks(host: Host, said: dict[str, Any], lacks: tuple[str, ...]) -> None:
    """In words that an operator can accept."""
    assert missing(replace(Access(), **said), host) == lacks
    assert set(lacks) <= set(MISSING)
