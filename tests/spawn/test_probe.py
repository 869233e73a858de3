"""What a machine lets us do is found by doing it, on machines that are made to refuse.

Each such machine is our own, seen from behind a filter, a limit of namespaces or a mount.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.confine import (
    ANYTHING,
    Attribute,
    ConfineStep,
    DropCapabilities,
    MountAttach,
    MountFlag,
    MountNew,
    MountPrivate,
    MountTree,
    Namespace,
    NoNewPrivileges,
    Seccomp,
    Unshare,
    UserNamespace,
)
from fairlead.sandbox.host import assumed
from fairlead.spawn import launcher, plan, probe_bubblewrap
from fairlead.spawn.probe import probe
from tests import programs
from tests.spawn.running import launcher_path

ROOT = Path(__file__).parents[2]
LOOK = """
import json, os, sys
from fairlead.sandbox.host import assumed
from fairlead.spawn.probe import probe
before = sorted(os.listdir("/proc/self/fd"))
host = probe(assumed(launcher=True))
assert sorted(os.listdir("/proc/self/fd")) == before, "a descriptor was left open"
try: left = os.waitpid(-1, os.WNOHANG)
except ChildProcessError: left = None
assert left is None, "a process was left behind"
print(json.dumps({name: getattr(host, name) for name in host.__value_fields__}))
"""
X86 = platform.machine() == "x86_64"
UNSHARE, SECCOMP = (272, 317) if X86 else (97, 277)
CREATE_RULESET, MOUNT_SETATTR = 444, 442
BOTH = (UserNamespace(f"{os.geteuid()} {os.geteuid()} 1", f"{os.getegid()} {os.getegid()} 1"),)


def denying(number: int, error: int, argument: int = 0, bits: int = 0) -> Seccomp:
    """A filter that refuses a call; with `bits`, only where the argument has any of them."""
    refuse = (6, 0, 0, 0x0005_0000 | error)
    rows = [(0x20, 0, 0, 0), (0x15, 0, 3 if bits else 1, number)]
    if bits:
        rows += [(0x20, 0, 0, 16 + 8 * argument), (0x45, 0, 1, bits)]
    return Seccomp(
        b"".join(struct.pack("<HBBI", *row) for row in [*rows, refuse, (6, 0, 0, 0x7FFF_0000)])
    )


def look(steps: Sequence[ConfineStep], before: str = "") -> dict[str, Any]:
    """What the probe finds behind these steps."""
    ours, theirs = socket.socketpair()
    path = f"{ROOT / 'src'}:{ROOT}"
    tail = (
        plan.Argv((sys.executable.encode(), b"-c", (before + LOOK).encode())),
        plan.Environment((b"PATH=/usr/bin:/bin", b"PYTHONPATH=" + path.encode())),
        plan.Exec(sys.executable.encode()),
    )
    with ours, theirs:
        ours.sendall(plan.encode([*steps, *tail]))
        number = str(theirs.fileno())
        done = subprocess.run(
            (launcher_path(), "exec", number, number),
            pass_fds=[theirs.fileno()],
            capture_output=True,
            text=True,
            check=False,
        )
        ours.setblocking(False)
        said = plan.parse_reports(bytearray(ours.recv(4096))) if done.returncode == 127 else []
    assert done.returncode == 0, (said, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    found["why"] = dict(found["why"])
    return found


def test_this_machine():
    """What it offers is found, and what it does not has a reason."""
    host = probe(assumed(launcher=True))
    assert host.launcher
    lacking = {
        "user namespaces": host.user_namespaces,
        "mounts": host.mount_namespaces,
        "a /proc of its own": host.new_proc,
        "network namespaces": host.net_namespaces,
        "seccomp": host.seccomp,
        "system call notifications": host.notify,
        "Landlock": host.landlock_abi,
        "control groups": host.groups,
    }
    reasons = dict(host.why)
    assert all(able or reasons[what] for what, able in lacking.items())
    assert not [what for what, able in lacking.items() if able and what in reasons]


def test_it_can_be_asked_again():
    """The answer is the same, and the first one's reasons are not told twice."""
    once = probe(assumed(launcher=True))
    assert probe(once) == once


def test_without_the_launcher(monkeypatch):
    """There is nothing to try with: what can be had is what bwrap can do."""
    monkeypatch.setattr(launcher, "find", lambda: None)
    monkeypatch.setattr(launcher, "why_missing", lambda: "not built")
    host = probe(assumed(launcher=True))
    assert not host.launcher
    assert ("launcher", "not built") in host.why


def test_where_user_namespaces_are_used_up():
    """The machine allows none: who may mount without one goes on without one."""
    limit = "open('/proc/sys/user/max_user_namespaces', 'w').write('0')\n"
    root: list[ConfineStep] = [
        UserNamespace("0 0 1", "0 0 1") if os.geteuid() == 0 else BOTH[0],
        Unshare(Namespace.MOUNT),
    ]
    found = look(root, before=limit)
    assert not found["user_namespaces"]
    assert found["why"]["user namespaces"] == f"user namespace: {os.strerror(errno.ENOSPC)}"
    assert found["mount_namespaces"]
    assert found["new_proc"]


def test_where_namespaces_are_forbidden():
    """A container's filter refuses `unshare`: neither mounts nor what needs them."""
    found = look([NoNewPrivileges(), DropCapabilities(), denying(UNSHARE, errno.EPERM)])
    for name in ("user_namespaces", "mount_namespaces", "new_proc", "net_namespaces"):
        assert not found[name], name
    assert found["why"]["mounts"] == "namespaces: Operation not permitted"
    assert found["seccomp"]
    assert found["landlock_abi"]


def test_where_user_namespaces_give_nothing():
    """AppArmor lets one be made and then allows nothing in it: that is as good as none."""
    found = look([NoNewPrivileges(), denying(MOUNT_SETATTR, errno.EACCES)])
    assert not found["user_namespaces"]
    assert not found["mount_namespaces"]
    assert found["why"] == found["why"] | {"mounts": "mount attributes: Permission denied"}


def test_where_proc_can_not_be_mounted():
    """The /proc that is there has something covered, as in a container: a new one would show it."""
    if os.geteuid() != 0:
        pytest.skip("needs root: nobody else can cover a file that is not its own")
    covered: list[ConfineStep] = [
        Unshare(Namespace.MOUNT),
        MountPrivate(),
        MountTree(0, "/dev/null", ANYTHING),
        MountAttach(0, "/proc/uptime", ANYTHING, Attribute.READ_ONLY),
        *BOTH,  # else it could be uncovered
    ]
    found = look(covered)
    assert found["mount_namespaces"]
    assert not found["new_proc"]
    assert found["why"]["a /proc of its own"].startswith("new file system: Operation not permitted")


def test_where_network_namespaces_are_forbidden():
    """Only they are missing then."""
    found = look([NoNewPrivileges(), denying(UNSHARE, errno.ENOSPC, 0, Namespace.NET)])
    assert not found["net_namespaces"]
    assert found["why"]["network namespaces"] == f"namespaces: {os.strerror(errno.ENOSPC)}"
    assert found["user_namespaces"]
    assert found["new_proc"]


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_landlock_is_off(error):
    """Not switched on, or not built in."""
    found = look([NoNewPrivileges(), denying(CREATE_RULESET, error)])
    assert found["landlock_abi"] == 0
    assert "not switched on" in found["why"]["Landlock"]
    assert found["user_namespaces"]


def test_where_filters_are_forbidden():
    """No filter can be added, with or without questions."""
    found = look([NoNewPrivileges(), denying(SECCOMP, errno.EINVAL)])
    assert not found["seccomp"]
    assert not found["notify"]
    assert found["why"]["seccomp"] == "system call filter: Invalid argument"


def test_where_nobody_may_ask():
    """A filter has one listener only: behind one that asks there is no other."""
    found = look([NoNewPrivileges(), denying(SECCOMP, errno.EBUSY, 1, 8)])
    assert found["seccomp"]
    assert not found["notify"]
    assert "busy" in found["why"]["system call notifications"].lower()


def test_where_there_are_no_control_groups():
    """Nothing is mounted where they should be."""
    if os.geteuid() != 0:
        pytest.skip("needs root: nobody else can cover /sys")
    hidden: list[ConfineStep] = [
        Unshare(Namespace.MOUNT),
        MountPrivate(),
        MountNew("tmpfs", "/sys/fs/cgroup", "", MountFlag.READ_ONLY),
    ]
    found = look(hidden)
    assert not found["groups"]
    assert found["why"]["control groups"].startswith("no control group can be had")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("exec sleep 1000", "plan: Connection timed out"),
        ("exit 1", "plan: Input/output error"),
        ("kill -9 $$", "plan: Input/output error"),
    ],
)
def test_a_launcher_that_does_nothing(tmp_path, monkeypatch, program, reason):
    """Who says nothing and comes to no good end has done nothing; nobody waits for it for ever."""
    fake = tmp_path / "launcher"
    fake.write_text(f"#!/bin/sh\n{program}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(launcher, "find", lambda: fake)
    monkeypatch.setattr("fairlead.spawn.probe._SECONDS", 0.2)
    host = probe(assumed(launcher=True))
    assert not host.seccomp
    assert not host.user_namespaces
    assert not host.landlock_abi
    assert dict(host.why)["seccomp"] == reason


def test_bubblewrap_is_tried_too():
    """What it can do here, by doing it."""
    path = programs.require("bwrap")
    host = probe_bubblewrap.probe(assumed(launcher=False), path)
    assert host.bubblewrap == path
    assert not host.notify
    assert host.mount_namespaces


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("exit 1", "it ended with 1"),
        ("echo first >&2; echo 'bwrap: no permissions' >&2; exit 1", "bwrap: no permissions"),
        ("kill -9 $$", "it ended with -9"),
        ("sleep 1000", "it did not end within 0.3 seconds"),
    ],
)
def test_a_bubblewrap_that_can_do_nothing(tmp_path, monkeypatch, program, reason):
    """There is none then, and its own last words say why."""
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\n{program.replace('sleep', 'exec sleep')}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(probe_bubblewrap, "_SECONDS", 0.3)
    host = probe_bubblewrap.probe(assumed(launcher=False), str(fake))
    assert host.bubblewrap is None
    assert not host.user_namespaces
    assert reason in dict(host.why)["user namespaces"]


def test_no_bubblewrap():
    """It says so."""
    host = probe_bubblewrap.probe(assumed(launcher=False), None)
    assert host.bubblewrap is None
    assert host.why == (("bubblewrap", "not installed"),)
