"""A launcher that serves: what it forks, what it refuses, and how it leaves."""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from fairlead.model.confine import (
    Confinement,
    ConfineStep,
    DropCapabilities,
    Init,
    MountFlag,
    MountNew,
    MountPrivate,
    Namespace,
    NoNewPrivileges,
    Serve,
    Unshare,
    UserNamespace,
)
from fairlead.spawn import plan
from tests.native import harness
from tests.native.harness import command, guarded, until, until_dead

APART: list[ConfineStep] = [
    UserNamespace(f"0 {os.geteuid()} 1", f"0 {os.getegid()} 1"),
    Unshare(Namespace.PID | Namespace.MOUNT),
    Init(),
    MountPrivate(),
    MountNew("proc", "/proc", "", MountFlag.NO_SETUID),
]
SETUPS = {"namespaces": APART, "walls": list[ConfineStep]()}
REQUEST = plan.request_guard()


class Service(harness.Launch):
    """A serving launcher. Leaving the block lets go of it."""

    def __init__(self, binary: Path, steps: Sequence[plan.Step], terminals: str = "") -> None:
        super().__init__(binary, [*steps, Serve(terminals)])
        data, self.terminals, _, _ = socket.recv_fds(self.control, 16, 4)
        assert plan.parse_reports(bytearray(data)) == [plan.Ready()]

    def ask(self, request: bytes = REQUEST, *, fds: int = 1) -> socket.socket:
        """A request with so many descriptors: the first is a guard's socket. Ours of it."""
        ours, theirs = socket.socketpair()
        ours.settimeout(harness.PATIENCE)
        others = [theirs.fileno()] * fds
        with theirs:
            socket.send_fds(self.control, [request], others)
        return ours

    def run(self, *argv: str, wiring: Sequence[int] = ()) -> list[plan.Report]:
        """A command from start to end, in a guard of its own."""
        with self.ask() as control:
            give_plan(control, *argv, wiring=wiring)
            return reports_of(control)

    def says(self, *argv: str) -> str:
        """What a command writes."""
        reader, writer = os.pipe()
        with os.fdopen(reader) as stream:
            with os.fdopen(writer, "w"):
                reports = self.run(*argv, wiring=[writer])
            assert [type(one) for one in reports] == [plan.Started, plan.Exited, plan.Gone]
            return stream.read()

    @property
    def server(self) -> int:
        """The process that forks: the first one inside, if there is an inside."""
        inside = children(self.process.pid)
        return (
            inside[0]
            if inside and harness.name(self.process.pid) == "fairlead-outer"
            else self.process.pid
        )


def give_plan(control: socket.socket, *argv: str, wiring: Sequence[int] = ()) -> None:
    pairs = tuple((plan.PASSED | at, at + 1) for at in range(len(wiring)))
    steps = guarded(plan.Descriptors(pairs), command(*argv))
    socket.send_fds(control, [plan.encode(steps)], list(wiring))


def reports_of(control: socket.socket) -> list[plan.Report]:
    said = bytearray()
    while data := received(control):
        said += data
    return plan.parse_reports(said)


def received(control: socket.socket) -> bytes:
    try:
        return control.recv(4096)
    except ConnectionResetError:  # it went with something of ours unread
        return b""


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture(params=SETUPS)
def service(launcher, request):
    with Service(launcher, SETUPS[request.param]) as found:
        yield found
        found.control.shutdown(socket.SHUT_WR)
        assert found.process.wait(harness.PATIENCE) == 0


def test_it_forks_a_guard_for_each_request(service):
    """One after the other and several at once, each with its own ending."""
    assert service.run("sh", "-c", "exit 7")[1:] == [plan.Exited(7 << 8, False), plan.Gone()]
    controls = [service.ask() for _ in range(20)]
    for number, control in enumerate(controls):
        give_plan(control, "sh", "-c", f"exit {number}")
    for number, control in enumerate(controls):
        with control:
            assert reports_of(control)[1] == plan.Exited(number << 8, False)


@pytest.mark.parametrize(
    ("request_", "fds"),
    [
        (REQUEST, 0),
        (REQUEST, 2),
        (REQUEST, 253),
        (struct.pack("<Ii", 2, 0), 1),
        (struct.pack("<Ii", 0, 0), 1),
        (struct.pack("<Ii", 1, 1), 1),
        (REQUEST[:4], 1),
        (b"x", 1),
        (b"garbage " * 100, 1),
        (bytes(8), 3),
    ],
)
def test_what_is_no_request_is_closed(service, request_, fds):
    """Too few or too many descriptors, half a request, anything else: no guard, nothing kept, and
    it serves on."""
    with service.ask(request_, fds=fds) as control:
        assert reports_of(control) == []  # its end was closed, by us or by it
    assert service.run("true")[1:] == [plan.Exited(0, False), plan.Gone()]
    assert len(os.listdir(f"/proc/{service.server}/fd")) == 1
    assert until(lambda: children(service.server) == [])


def test_requests_that_pile_up_are_all_served(service):
    """While it does not run the socket fills; nobody is forgotten."""
    os.kill(service.server, signal.SIGSTOP)
    service.control.setblocking(False)
    controls: list[socket.socket] = []
    try:
        while len(controls) < 200:
            controls.append(service.ask())
    except BlockingIOError:
        pass
    finally:
        os.kill(service.server, signal.SIGCONT)
    assert len(controls) > 5
    for control in controls:
        give_plan(control, "true")
    for control in controls:
        with control:
            assert reports_of(control)[-1] == plan.Gone()


def test_who_can_not_hear_does_not_stay(launcher):
    """With no descriptor allowed the kernel lets nobody wait for one: it goes, and all with it."""
    with Service(launcher, APART) as service, service.ask() as control:
        give_plan(control, "sleep", "1000")
        assert control.recv(16)
        pids = descendants(service.process.pid)
        resource.prlimit(service.server, resource.RLIMIT_NOFILE, (0, 64))
        with service.ask():  # it wakes, and can't wait again
            for pid in pids:
                assert until_dead(pid)
        assert service.process.wait(harness.PATIENCE) == 0


def test_a_guard_out_of_descriptors_says_so(launcher):
    """What could not be received is missed where the plan names it."""
    with Service(launcher, [plan.Limit(7, 2, 64)]) as service:
        null = os.open(os.devnull, os.O_RDWR)
        (failed,) = service.run("true", wiring=[null, null, null])
        os.close(null)
        assert failed == plan.Failed(step=3, op=4, errno=errno.EINVAL)


def test_a_plan_that_fails_is_one_guards_affair(service):
    """It says why, and the next command starts."""
    assert service.run("no-such-program") == [plan.Failed(6, 14, errno.ENOENT)]
    with service.ask() as control:
        control.sendall(b"no plan at all")
        assert reports_of(control) == [plan.Failed(0, 0, errno.EINVAL)]
    with service.ask() as control:
        control.shutdown(socket.SHUT_WR)  # no plan will come
        assert reports_of(control) == [plan.Failed(0, 0, errno.EINVAL)]
    assert service.run("true")[-1] == plan.Gone()


def test_commands_are_born_with_every_signal_as_usual(service):
    """Without a step for it: it was done once for all."""
    status = dict(
        line.split(":\t", 1) for line in service.says("cat", "/proc/self/status").splitlines()
    )
    for field in ("SigBlk", "SigIgn", "SigCgt"):
        assert int(status[field], 16) == 0, field


def test_commands_are_born_with_nothing_of_its(service):
    """Neither its socket nor another guard's; the root directory, and no name of ours."""
    assert service.says("ls", "/proc/self/fd").split() == ["0", "1"]  # 0 is the listing itself
    assert service.says("readlink", "/proc/self/cwd").split() == ["/"]


def test_hundreds_leave_nothing(service):
    """No zombie and no descriptor."""
    for _ in range(300):
        assert service.run("true")[-1] == plan.Gone()
    assert until(lambda: children(service.server) == [])
    assert len(os.listdir(f"/proc/{service.server}/fd")) == 1


def test_orphans_of_a_killed_guard_are_ended(service):
    """Whoever escaped from the command falls to the server then, which ends and collects them all,
    and nobody of a neighbour's."""
    with service.ask() as other, service.ask() as control:
        give_plan(other, "sh", "-c", "setsid sleep 1000 & exec sleep 1000")
        assert other.recv(16)
        (neighbour,) = [one for one in children(service.server) if descendants(one)]
        assert until(lambda: len(descendants(neighbour)) == 2)
        kept = descendants(neighbour)
        deep = "setsid sh -c 'setsid sh -c \"setsid sleep 1000 & sleep 1000\" & sleep 1000' &"
        give_plan(control, "sh", "-c", f"{deep} exec sleep 1000")
        assert control.recv(16)
        (guard,) = [one for one in children(service.server) if one != neighbour]
        assert until(lambda: names(descendants(guard)).count("sleep") == 4)
        os.kill(guard, signal.SIGKILL)
        assert received(control) == b""
        assert until(lambda: children(service.server) == [neighbour])
        assert descendants(neighbour) == kept


def names(pids: Sequence[int]) -> list[str]:
    return [harness.name(pid) for pid in pids]


def descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            found += children(one)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found[1:]


def test_when_we_let_go_all_inside_end(service):
    """Commands, those who escaped from them, and guards that wait for a plan."""
    waiting, control = service.ask(), service.ask()
    give_plan(control, "sh", "-c", "trap '' TERM HUP; setsid sleep 1000 & exec sleep 1000")
    assert control.recv(16)
    assert until(lambda: len(descendants(service.server)) == 4)
    pids = descendants(service.server)
    service.control.shutdown(socket.SHUT_WR)
    for pid in pids:
        assert until_dead(pid)
    assert service.process.wait(harness.PATIENCE) == 0
    waiting.close()
    control.close()


def test_killed_with_a_namespace_it_takes_all_along(launcher):
    """Whether the first process inside is killed or the one outside."""
    for kill_outside in (False, True):
        with Service(launcher, APART) as service, service.ask() as control:
            give_plan(control, "sh", "-c", "setsid sleep 1000 & exec sleep 1000")
            assert control.recv(16)
            assert until(lambda: len(descendants(service.server)) == 3)
            pids = [*descendants(service.server), service.server]
            os.kill(service.process.pid if kill_outside else service.server, signal.SIGKILL)
            for pid in pids:
                assert until_dead(pid)
            assert not select.select([], [], [control], 0)[2]
            assert received(control) == b""


def test_nobody_inside_can_look_into_it(launcher):
    """A command of the same user sees neither its memory nor its environment."""
    steps = [*APART, NoNewPrivileges(), DropCapabilities()]
    with Service(launcher, steps) as service:
        text = "cat /proc/1/environ /proc/$PPID/environ /proc/1/mem; ls -l /proc/1/fd/"
        said = service.says("sh", "-c", f"({text}) 2>&1")
        assert said.count("Permission denied") == 4, said


def test_the_terminals_directory_comes_with_the_news(launcher):
    """Terminals are opened by us, in a file system that only the inside has mounted."""
    devpts = MountNew("devpts", "/dev/pts", "newinstance,ptmxmode=0666", MountFlag.NO_SETUID)
    with Service(launcher, [*APART, devpts], "/dev/pts") as service:
        (directory,) = service.terminals
        master = os.open("ptmx", os.O_RDWR | os.O_NOCTTY, dir_fd=directory)
        assert sorted(os.listdir(f"/proc/self/fd/{directory}")) == ["0", "ptmx"]
        assert service.says("ls", "/dev/pts").split() == ["0", "ptmx"]
        os.close(master)
        os.close(directory)


def test_a_confinement_has_no_service_of_its_own():
    """The step is the spawner's, which knows who asks: no setup brings one."""
    assert Confinement(agent="x", setup=tuple(APART)).terminals == ""
