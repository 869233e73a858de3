"""The steps that confine: what each does, seen from behind it."""

from __future__ import annotations

import errno
import os
import signal
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from fairlead.model import confine
from fairlead.model.confine import ANYTHING, Attribute, MountFlag, Namespace, Node
from fairlead.spawn import plan
from tests.native import harness
from tests.native.behind import (
    ALLOW_ALL,
    DENY_GETPRIORITY,
    MOUNTS,
    QUIET,
    READ,
    USER,
    WRITE,
    identity,
    inside,
    python,
    unshare,
)
from tests.native.harness import alive, command, run, until_dead


def test_a_user_namespace(launcher):
    """Mapped ids, no more groups, and its own namespace."""
    code = "import os; print(os.getuid(), os.getgid(), os.readlink('/proc/self/ns/user'))"
    uid, gid, namespace = python(launcher, [USER], code).split()
    assert (uid, gid) == ("0", "0")
    assert namespace != os.readlink("/proc/self/ns/user")
    assert inside(launcher, [USER], "cat", "/proc/self/setgroups").strip() == "deny"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Namespace.MOUNT, "mnt"),
        (Namespace.CGROUP, "cgroup"),
        (Namespace.UTS, "uts"),
        (Namespace.IPC, "ipc"),
        (Namespace.NET, "net"),
    ],
)
def test_each_namespace(launcher, kind, name):
    """The one that was asked for is new, all others are ours."""
    names = ("mnt", "cgroup", "uts", "ipc", "net", "pid")
    paths = [f"/proc/self/ns/{one}" for one in names]
    said = inside(launcher, unshare(kind), "readlink", *paths).split()
    new = [
        one for one, now in zip(names, said, strict=True) if os.readlink(paths[0][:-3] + one) != now
    ]
    assert new == [name]


def test_the_first_process(launcher):
    """It is PID 1 of a namespace in which nobody else is."""
    steps = [*unshare(Namespace.PID, Namespace.MOUNT), confine.Init(), confine.MountPrivate()]
    proc = confine.MountNew("proc", "/proc", "", MountFlag.NO_SETUID)
    code = "import os; print(os.getpid(), os.getppid(), *filter(str.isdigit, os.listdir('/proc')))"
    assert python(launcher, [*steps, proc], code).split() == ["1", "0", "1"]


def test_who_stands_outside_is_the_life_line(launcher):
    """Killed, it takes the first process along, and that everybody inside."""
    reader, writer = os.pipe()
    steps = [*unshare(Namespace.PID), confine.Init(), plan.Guard(own_session=False)]
    text = "setsid sleep 1000 & echo up; exec sleep 1000"
    tail = [plan.Descriptors(((writer, 1),)), *command("sh", "-c", text)]
    with harness.Launch(launcher, [*steps, *tail], keep=[writer]) as launch:
        os.close(writer)
        assert os.read(reader, 10) == b"up\n"
        pids = harness_tree(launch.process.pid)
        assert len(pids) == 3
        launch.process.kill()
        for pid in pids:
            assert until_dead(pid)
    os.close(reader)


def harness_tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        text = Path(f"/proc/{one}/task/{one}/children").read_text()
        found += [int(child) for child in text.split()]
    return found[1:]


def test_the_first_processs_end_is_the_end_of_all(launcher):
    """The kernel ends whoever is left inside; the one outside goes too."""
    steps = [*unshare(Namespace.PID), confine.Init()]
    reader, writer = os.pipe()
    text = "setsid sleep 1000 & echo $!; exec sleep 1000"
    tail = [plan.Descriptors(((writer, 1),)), *command("sh", "-c", text)]
    with harness.Launch(launcher, [*steps, *tail], keep=[writer]) as launch:
        os.close(writer)
        assert os.read(reader, 10)
        first, other = harness_tree(launch.process.pid)
        os.kill(first, signal.SIGKILL)
        assert until_dead(other)
        assert launch.process.wait(harness.PATIENCE) == 0
    os.close(reader)


CONNECT = """
import errno, socket
try: socket.create_connection(("127.0.0.1", 9), 5)
except OSError as error: print(errno.errorcode[error.errno])
"""


def test_loopback(launcher):
    """A new network namespace has nothing, until `lo` is up."""
    alone = unshare(Namespace.NET)
    assert python(launcher, alone, CONNECT) == "ENETUNREACH"
    assert python(launcher, [*alone, confine.Loopback()], CONNECT) == "ECONNREFUSED"


def test_mounts(launcher, place):
    """A copy that was taken before stays as it was; what lies around it is closed."""
    (place / "empty" / "inner").mkdir()
    try:
        steps = [
            *MOUNTS,
            confine.MountTree(1, str(place / "empty"), identity(place / "empty")),
            confine.MountAttributes("/", Attribute.READ_ONLY),
            confine.MountAttach(1, str(place / "empty"), identity(place / "empty")),
        ]
        text = f"""
for path in {str(place)!r}, {str(place / "empty")!r}, {str(place / "empty/inner")!r}, "/":
    try: open(path + "/new", "w").close(); print("made")
    except OSError as error: print(error.errno)
"""
        said = python(launcher, steps, text).split()
        assert said == [str(errno.EROFS), "made", "made", str(errno.EROFS)]
    finally:
        for made in (place / "empty/new", place / "empty/inner/new"):
            made.unlink()
        (place / "empty" / "inner").rmdir()


def test_attributes_of_an_attached_tree(launcher, place):
    """They are added to the copy, and to nothing else."""
    steps = [
        *MOUNTS,
        confine.MountTree(1, str(place), identity(place)),
        confine.MountAttach(
            1, str(place / "empty"), ANYTHING, Attribute.READ_ONLY | Attribute.NO_EXECUTE
        ),
    ]
    said = inside(launcher, steps, "grep", " " + str(place / "empty") + " ", "/proc/self/mounts")
    options = said.split()[3].split(",")
    assert {"ro", "noexec"} <= set(options)
    assert "nosuid" not in options


def test_a_kept_tree_is_attached_twice(launcher, place):
    """Where the kernel can copy a detached tree; an older one refuses, and names the step."""
    (place / "file").unlink()
    for name in ("file", "other"):
        (place / name).mkdir()
    try:
        tree = confine.MountTree(1, str(place / "empty"), ANYTHING)
        first = confine.MountAttach(1, str(place / "file"), ANYTHING, keep=True)
        second = confine.MountAttach(1, str(place / "other"), ANYTHING)
        steps = [*MOUNTS, tree, first, second]
        if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 15):
            assert run(launcher, [*steps, *command("true")])[0].op == 21  # type: ignore[union-attr]
        else:
            said = inside(launcher, steps, "cat", "/proc/self/mounts")
            assert f" {place}/file " in said
            assert f" {place}/other " in said
    finally:
        for name in ("file", "other"):
            (place / name).rmdir()
        (place / "file").touch()


def test_new_file_systems_and_what_is_made_in_them(launcher, place):
    """Modes are exactly those asked for, whatever the umask is; nothing is seen outside."""
    top = str(place / "empty")
    steps = [
        plan.Umask(0o77),
        *MOUNTS,
        confine.MountNew("tmpfs", top, "mode=755,size=64k", MountFlag.NO_EXECUTE),
        confine.MakeNode(Node.DIRECTORY, f"{top}/sticky", 0o1777),
        confine.MakeNode(Node.FILE, f"{top}/sticky/file", 0o666),
        confine.MakeNode(Node.LINK, f"{top}/link", target="sticky/file"),
    ]
    said = inside(launcher, steps, "stat", "-c", "%a %F %N", *_below(top, "sticky", "sticky/file"))
    assert [line.split(" ", 1)[0] for line in said.splitlines()] == ["1777", "666"]
    assert inside(launcher, steps, "readlink", f"{top}/link").strip() == "sticky/file"
    assert inside(launcher, steps, "sh", "-c", "umask").strip() == "0077"
    assert os.listdir(top) == []


def _below(top: str, *names: str) -> list[str]:
    return [f"{top}/{name}" for name in names]


def test_private_mounts(launcher, place):
    """What is mounted inside is not seen outside."""
    steps = [*MOUNTS, confine.MountNew("tmpfs", str(place / "empty"))]
    assert f" {place}/empty " in inside(launcher, steps, "cat", "/proc/self/mounts")
    assert f" {place}/empty " not in Path("/proc/self/mounts").read_text()


def test_landlock_files_and_ports(launcher, place):
    """What no rule allows is denied, and only of the kinds that are handled."""
    steps = [
        *QUIET,
        confine.Landlock(files=WRITE, network=2),
        confine.LandlockPath(WRITE, str(place / "empty")),
        confine.LandlockPath(WRITE, "/dev/null"),
        confine.LandlockPort(2, 9),
        confine.LandlockApply(),
    ]
    code = f"""
import errno, socket
def attempt(do, *given):
    try: do(*given); print("ok")
    except OSError as error: print(errno.errorcode[error.errno])
attempt(open, {str(place / "file")!r}, "r")
attempt(open, {str(place / "file")!r}, "r+")
attempt(socket.create_connection, ("127.0.0.1", 9), 5)
attempt(socket.create_connection, ("127.0.0.1", 10), 5)
"""
    assert python(launcher, steps, code).split() == ["ok", "EACCES", "ECONNREFUSED", "EACCES"]


def test_rulesets_stack(launcher, place):
    """A second one, begun when the first is in force, takes away what the first allowed."""
    allow: list[plan.Step] = [
        confine.Landlock(files=READ),
        confine.LandlockPath(READ, "/"),
        confine.LandlockApply(),
    ]
    less: list[plan.Step] = [
        confine.Landlock(files=READ),
        *(confine.LandlockPath(READ, path) for path in ("/usr", "/lib", "/lib64", "/etc")),
        confine.LandlockApply(),
    ]
    file = str(place / "file")
    assert inside(launcher, [*QUIET, *allow], "cat", file) == "content"
    assert "Permission denied" in inside(launcher, [*QUIET, *allow, *less], "cat", file)


def test_signal_scope(launcher):
    """With the scope a process outside can't be signalled."""
    scoped = [*QUIET, confine.Landlock(scopes=2), confine.LandlockApply()]
    said = inside(launcher, scoped, "sh", "-c", f"kill -0 {os.getpid()}")
    assert "not permitted" in said.lower()


def test_privileges_are_dropped_for_good(launcher):
    """No capability in any set, and none to be had from a program."""
    steps: list[plan.Step] = [confine.NoNewPrivileges(), confine.DropCapabilities()]
    status = dict(
        pair_of(line)
        for line in inside(launcher, steps, "cat", "/proc/self/status").splitlines()
        if ":\t" in line
    )
    assert status["NoNewPrivs"] == "1"
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name


def pair_of(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":\t")
    return name, value


PRIORITY = """
import errno, os
try: os.getpriority(os.PRIO_PROCESS, 0); print("ok")
except OSError as error: print(errno.errorcode[error.errno])
"""


def test_a_filter_is_in_force(launcher):
    """What it says is what a call gets."""
    assert python(launcher, [*QUIET, confine.Seccomp(ALLOW_ALL)], PRIORITY) == "ok"
    assert python(launcher, [*QUIET, confine.Seccomp(DENY_GETPRIORITY)], PRIORITY) == "EXFULL"


def test_the_largest_filter(launcher):
    """4096 instructions are taken."""
    program = struct.pack("<HBBI", 0x20, 0, 0, 0) * 4095 + ALLOW_ALL
    assert python(launcher, [*QUIET, confine.Seccomp(program)], PRIORITY) == "ok"


def test_a_listener_is_handed_out(launcher):
    """It comes with a report of its own, before anything else is said."""
    steps = [*QUIET, confine.Seccomp(ALLOW_ALL, listener=True), *command("true")]
    with harness.Launch(launcher, steps) as launch:
        data, fds, _, _ = socket.recv_fds(launch.control, 16, 4)
        assert plan.parse_reports(bytearray(data)) == [plan.Listener()]
        (listener,) = fds
        assert os.readlink(f"/proc/self/fd/{listener}") == "anon_inode:seccomp notify"
        os.close(listener)
        assert launch.finish() == []


def test_a_listener_for_nobody_ends_the_start(launcher, place):
    """If nobody can take it, nothing runs: who asked would wait for ever."""
    steps = [*QUIET, confine.Seccomp(ALLOW_ALL, listener=True)]
    source = harness.memory(plan.encode([*steps, *command("touch", str(place / "made"))]))
    ours, theirs = socket.socketpair()
    ours.close()
    arguments = [launcher, "exec", str(source), str(theirs.fileno())]
    done = subprocess.run(arguments, pass_fds=(source, theirs.fileno()), check=False)
    os.close(source)
    theirs.close()
    assert done.returncode == 127


def test_joining_a_group(launcher, tmp_path):
    """The process writes itself into the group's list, as 0: the writer."""
    procs = tmp_path / "cgroup.procs"
    procs.touch()
    assert run(launcher, [confine.JoinGroup(str(procs)), *command("true")]) == []
    assert procs.read_text() == "0"


def test_a_checked_directory(launcher, place):
    """It is where the command starts, if it is what it was."""
    steps = [confine.CheckedDirectory(str(place), identity(place))]
    assert inside(launcher, steps, "/bin/pwd").strip() == str(place)


def test_identification(launcher):
    """The command itself says so, before it is executed: the kernel adds whose word that is."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    steps = [
        *unshare(Namespace.PID),
        confine.Init(),
        plan.Guard(own_session=False),
        confine.Identify(),
        *command("sleep", "1000"),
    ]
    ours.sendall(plan.encode(steps))
    number = theirs.fileno()
    pid = os.posix_spawn(
        launcher,
        ["launcher", "exec", str(number), str(number)],
        {},
        file_actions=[(os.POSIX_SPAWN_DUP2, number, number)],
    )
    theirs.close()
    senders: dict[type, int] = {}
    while len(senders) < 2:
        data, extras, _, _ = ours.recvmsg(16, socket.CMSG_SPACE(12))
        (report,) = plan.parse_reports(bytearray(data))
        senders[type(report)] = struct.unpack("3i", extras[0][2][:12])[0]
        if isinstance(report, plan.Started):
            assert report.pid != senders[plan.Command]  # in there it has another number
    command_pid, guard = senders[plan.Command], senders[plan.Started]
    assert harness_tree(pid) == [guard, command_pid]
    ours.close()
    assert until_dead(command_pid)
    os.waitpid(pid, 0)
    assert not alive(guard)
