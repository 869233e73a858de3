"""Descriptors may come with the plan, over the socket, to a launcher that waited for it."""

from __future__ import annotations

import errno
import os
import socket
import subprocess

from fairlead.spawn import plan
from tests.native.harness import command, guarded, memory

PATIENCE = 20.0


class Waiting:
    """A launcher that was started before there was a plan."""

    def __init__(self, binary) -> None:
        self.control, theirs = socket.socketpair()
        number = str(theirs.fileno())
        self.process = subprocess.Popen(
            (str(binary), "exec", number, number), pass_fds=(theirs.fileno(),)
        )
        theirs.close()

    def send(self, steps, fds) -> None:
        socket.send_fds(self.control, [plan.encode(steps)], fds)

    def reports(self) -> list[plan.Report]:
        """All that it says until it leaves."""
        self.control.settimeout(PATIENCE)
        said = bytearray()
        while data := self.control.recv(4096):
            said += data
        self.process.wait(PATIENCE)
        return plan.parse_reports(said)

    def leave(self) -> int:
        self.control.close()
        return self.process.wait(PATIENCE)


def place(index: int) -> int:
    return plan.PASSED | index


def test_a_waiting_launcher_gets_its_descriptors_with_the_plan(launcher):
    """What was sent third becomes the output, and the directory is where the command starts."""
    waiting = Waiting(launcher)
    reader, writer = os.pipe()
    null = os.open(os.devnull, os.O_RDONLY)
    directory = os.open("/usr", os.O_PATH)
    pairs = ((place(0), 0), (place(2), 1), (place(2), 2))
    steps = guarded(plan.Descriptors(pairs), plan.WorkingDirectoryFd(place(1)), command("/bin/pwd"))
    waiting.send(steps, [null, directory, writer])
    for fd in (null, directory, writer):
        os.close(fd)
    reports = waiting.reports()
    with os.fdopen(reader, "rb") as output:
        assert output.read() == b"/usr\n"
    assert [type(one) for one in reports] == [plan.Started, plan.Exited, plan.Gone]


def test_a_place_that_nothing_came_for_is_an_error_of_its_step(launcher):
    """Two descriptors came and the third is asked for: nothing runs."""
    waiting = Waiting(launcher)
    null = os.open(os.devnull, os.O_RDWR)
    pairs = ((place(0), 0), (place(1), 1), (place(2), 2))
    waiting.send(guarded(plan.Descriptors(pairs), command("true")), [null, null])
    os.close(null)
    (failed,) = waiting.reports()
    assert failed == plan.Failed(step=3, op=4, errno=errno.EINVAL)


def test_a_plan_from_memory_can_bring_no_descriptors(launcher):
    """Places are refused where there is no socket that could have brought anything."""
    control, theirs = socket.socketpair()
    steps = guarded(plan.Descriptors(((place(0), 0),)), command("true"))
    source = memory(plan.encode(steps))
    process = subprocess.Popen(
        (str(launcher), "exec", str(source), str(theirs.fileno())),
        pass_fds=(source, theirs.fileno()),
    )
    theirs.close()
    os.close(source)
    (failed,) = plan.parse_reports(bytearray(control.recv(4096)))
    control.close()
    process.wait(PATIENCE)
    assert failed == plan.Failed(step=3, op=4, errno=errno.EINVAL)


def test_a_waiting_launcher_leaves_when_no_plan_can_come_any_more(launcher):
    """The engine closed the socket or died: the launcher does not stay behind."""
    assert Waiting(launcher).leave() == 127


def test_descriptors_that_were_sent_and_not_named_do_not_reach_the_command(launcher):
    """The command has its three and nothing else."""
    waiting = Waiting(launcher)
    reader, writer = os.pipe()
    null = os.open(os.devnull, os.O_RDONLY)
    secret = memory(b"secret")
    pairs = ((place(0), 0), (place(1), 1), (place(1), 2))
    waiting.send(
        guarded(plan.Descriptors(pairs), command("/bin/ls", "/proc/self/fd")),
        [null, writer, secret, secret],
    )
    for fd in (null, writer, secret):
        os.close(fd)
    waiting.reports()
    with os.fdopen(reader, "rb") as output:
        assert output.read().split() == [b"0", b"1", b"2", b"3"]  # 3 is the listing itself
