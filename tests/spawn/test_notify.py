"""Answering what the system call filter asks: each question once, whatever becomes of who asks."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from fairlead.model.confine import NoNewPrivileges, Seccomp
from fairlead.spawn import notify, plan
from fairlead.spawn.notify import Answerer, Question
from tests.spawn.running import PATIENCE, is_running, launcher_path

# getpriority and setpriority, whose numbers are each other's on x86-64 and aarch64, are asked about
ASK = b"".join(
    struct.pack("<HBBI", *one)
    for one in (
        (0x20, 0, 0, 0),
        (0x15, 1, 0, 140),
        (0x15, 0, 1, 141),
        (0x06, 0, 0, 0x7FC0_0000),
        (0x06, 0, 0, 0x7FFF_0000),
    )
)
PRELUDE = """
import errno, os, signal, sys, threading
def ask():
    try: os.getpriority(os.PRIO_PROCESS, 7); return "ok"
    except OSError as error: return errno.errorcode[error.errno]
def say(*words): os.write(1, " ".join(map(str, words)).encode() + b"\\n")
"""


@dataclass
class Asking:
    """A program behind a filter that asks, and the end where the questions arrive."""

    process: subprocess.Popen[bytes]
    listener: int
    questions: list[Question] = field(default_factory=list)

    def decide(self, pid: int, number: int, arguments: tuple[int, ...], architecture: int) -> int:
        self.questions.append(Question(0, pid, number, arguments, architecture))
        return errno.EXFULL

    def answer_all(self, answerer: Answerer) -> None:
        """Until nobody is left who could ask."""
        while True:
            assert select.select([answerer], [], [], PATIENCE)[0]
            if not answerer.answer_one():
                return

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()

    def rest(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.read().decode().split()


@contextmanager
def asking(code: str) -> Iterator[Asking]:
    ours, theirs = socket.socketpair()
    steps: list[plan.Step] = [
        NoNewPrivileges(),
        Seccomp(ASK, listener=True),
        plan.Argv((sys.executable.encode(), b"-ISc", (PRELUDE + code).encode())),
        plan.Environment(()),
        plan.Exec(sys.executable.encode()),
    ]
    with ours, theirs:
        ours.sendall(plan.encode(steps))
        number = theirs.fileno()
        argv = (launcher_path(), "exec", str(number), str(number))
        with subprocess.Popen(argv, pass_fds=[number], stdout=subprocess.PIPE) as process:
            data, (listener,), _, _ = socket.recv_fds(ours, 16, 1)
            assert plan.parse_reports(bytearray(data)) == [plan.Listener()]
            try:
                yield Asking(process, listener)
            finally:
                process.kill()
                process.wait()


def test_a_question_as_the_kernel_writes_it():
    """struct seccomp_notif, byte for byte, and its answer."""
    data = struct.pack("=QIIiIQ6Q", 7, 42, 0, 140, 0xC000_003E, 0xFFFF, 1, 2, 3, 4, 5, 2**64 - 1)
    question = notify.decode(data)
    assert question == Question(7, 42, 140, (1, 2, 3, 4, 5, 2**64 - 1), 0xC000_003E)
    assert notify.encode(question, errno.EACCES) == struct.pack("=QqiI", 7, 0, -errno.EACCES, 0)


@pytest.mark.parametrize("number", [0, -1, -errno.EPERM, 4096, 2**40])
def test_what_is_no_errno_is_a_refusal(number):
    """No answer ever lets a call go on: not success, and not what only looks like an errno."""
    answer = notify.encode(Question(7, 0, 0, (), 0), number)
    assert answer == struct.pack("=QqiI", 7, 0, -errno.EPERM, 0)


@pytest.mark.parametrize("size", [0, 1, 79, 81])
def test_half_a_question_is_none(size):
    """Bytes of another length are refused, not guessed at."""
    with pytest.raises(struct.error):
        notify.decode(bytes(size))


def test_the_call_fails_with_what_was_decided():
    """And who decides is told who asks, and what."""
    with asking("say(ask(), os.getpid())") as one:
        answerer = Answerer(one.listener, one.decide)
        one.answer_all(answerer)
        assert one.rest() == ["EXFULL", str(one.process.pid)]
        (question,) = one.questions
        assert (question.pid, question.arguments[1]) == (one.process.pid, 7)
        answerer.close()


def test_a_decision_that_fails_is_a_refusal():
    """Whatever goes wrong in ours, the call is not made, and the next is decided anew."""

    def broken(*_: object) -> int:
        raise RuntimeError("a bug")

    with asking("say(ask(), ask())") as one:
        answerer = Answerer(one.listener, broken)
        one.answer_all(answerer)
        assert one.rest() == ["EPERM", "EPERM"]
        answerer.close()


def test_who_dies_asking_holds_nobody_up():
    """The question of a dead process is dropped, and the next one is answered."""
    code = """
child = os.fork()
if child == 0: ask(), os._exit(0)
say(child)
os.waitpid(child, 0)
say(ask())
"""
    with asking(code) as one:
        child = int(one.line())
        answerer = Answerer(one.listener, one.decide)
        assert select.select([answerer], [], [], PATIENCE)[0]
        os.kill(child, signal.SIGKILL)
        while is_running(child):
            pass
        one.answer_all(answerer)
        assert one.rest() == ["EXFULL"]
        answerer.close()


def test_who_dies_between_question_and_answer_is_no_error():
    """It was read already: the answer finds nobody."""
    code = """
child = os.fork()
if child == 0: ask(), os._exit(0)
say(os.WTERMSIG(os.waitpid(child, 0)[1])); say(ask())
"""
    with asking(code) as one:

        def kill(pid: int, *rest: object) -> int:
            if pid != one.process.pid:
                os.kill(pid, signal.SIGKILL)
                while is_running(pid):
                    pass
            return errno.EXFULL

        answerer = Answerer(one.listener, kill)
        one.answer_all(answerer)
        assert one.rest() == ["9", "EXFULL"]
        answerer.close()


def test_a_thousand_racing_questions():
    """Of fifty processes and threads at once: each gets its answer, and none another's."""
    code = """
def several():
    got = {ask() for _ in range(20)}
    say(*got)
for _ in range(25):
    if os.fork() == 0:
        several(); os._exit(0)
threads = [threading.Thread(target=several) for _ in range(25)]
for one in threads: one.start()
for one in threads: one.join()
for _ in range(25): os.wait()
"""
    with asking(code) as one:
        answerer = Answerer(one.listener, one.decide)
        one.answer_all(answerer)
        assert one.rest() == ["EXFULL"] * 50
        assert len(one.questions) == 1000
        answerer.close()


def test_closing_answers_for_us():
    """Who waits, and who asks later, is told ENOSYS by the kernel: nobody waits for ever."""
    with asking("say(ask(), ask())") as one:
        answerer = Answerer(one.listener, one.decide)
        assert select.select([answerer], [], [], PATIENCE)[0]
        answerer.close()
        answerer.close()
        assert one.rest() == ["ENOSYS", "ENOSYS"]
        assert answerer.fileno() == -1
        assert not answerer.answer_one()
        assert one.questions == []


def test_nothing_asked_is_nothing_answered():
    """It never waits for a question."""
    with asking("say('up'); signal.pause()") as one:
        assert one.line() == "up"
        answerer = Answerer(one.listener, one.decide)
        assert answerer.answer_one()
        assert one.questions == []
        answerer.close()


def test_nobody_left_to_ask():
    """Once the last one under the filter is gone it says so."""
    with asking("pass") as one:
        answerer = Answerer(one.listener, one.decide)
        one.answer_all(answerer)
        assert not answerer.answer_one()
        answerer.close()


def test_what_is_no_listener_does_no_harm():
    """Nothing is raised into the loop that answers for others."""
    reader, writer = os.pipe()
    os.write(writer, b"x" * 100)
    answerer = Answerer(reader, lambda *_: errno.EPERM)
    assert answerer.answer_one()
    answerer.close()
    os.close(writer)
