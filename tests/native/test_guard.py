"""The guard: it tells how a command ended, and nothing that it started outlives it unnoticed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.spawn import plan
from tests.native import harness
from tests.native.harness import Launch, alive, command, guarded, output, python, run, until_dead

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def escape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that escapes as well as it can."""
    target = tmp_path_factory.mktemp("daemon") / "daemon"
    return harness.compile_c(target, str(HERE / "daemon.c"), "-pthread")


@pytest.fixture(scope="session")
def without_children_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As on a kernel that does not list a process's children."""
    target = tmp_path_factory.mktemp("old") / "fairlead-launcher"
    flags = (*harness.PLAIN, "-DFL_TEST_WITHOUT_CHILDREN_FILES")
    return harness.compile_c(target, *flags, *harness.SOURCES)


@pytest.fixture(params=["plain", "sanitized", "without_children_files"])
def walker(request: pytest.FixtureRequest) -> Path:
    """Every way to walk the tree."""
    binary = request.getfixturevalue(request.param)
    assert isinstance(binary, Path)
    return binary


class Piped(Launch):
    """A command under a guard, with its output on a pipe."""

    def __init__(self, binary: Path, steps: list[plan.Step], **options: object) -> None:
        reader, writer = os.pipe()
        wiring = plan.Descriptors(((writer, 1),))
        more = dict(options, keep=[writer])
        super().__init__(binary, guarded(wiring, steps), **more)  # type: ignore[arg-type]
        os.close(writer)
        self.stdout = os.fdopen(reader)

    def __exit__(self, *details: object) -> None:
        self.stdout.close()
        super().__exit__(*details)

    def pids(self, count: int) -> list[int]:
        """That many lines of output, each the pid of somebody who lives."""
        found = [int(self.stdout.readline()) for _ in range(count)]
        assert all(map(alive, found))
        return found


@pytest.mark.parametrize("code", [0, 1, 2, 126, 127, 255])
def test_exit_codes(launcher, code):
    """Every exit code arrives as it is, and the guard itself ends with 0."""
    with Launch(launcher, guarded(command("sh", "-c", f"exit {code}"))) as launch:
        started, *rest = launch.finish()
        assert isinstance(started, plan.Started)
        assert rest == [plan.Exited(code << 8, False), plan.Gone()]
        assert launch.process.returncode == 0


@pytest.mark.parametrize("signum", [1, 2, 6, 9, 11, 13, 15, 34, 64])
def test_signals(launcher, signum):
    """An end by a signal arrives as that signal."""
    steps = [plan.Limit(4, 0, 0), plan.ResetSignals(), *command("sh", "-c", f"kill -{signum} $$")]
    _, exited, gone = run(launcher, guarded(steps))
    assert exited == plan.Exited(signum, False)
    assert gone == plan.Gone()


def test_exit_with_sigchld_ignored(launcher):
    """An engine that ignores SIGCHLD still learns how its command ended."""
    wrapper = ("sh", "-c", 'trap \'\' CHLD; exec "$0" "$@"')
    reports = run(launcher, guarded(command("sh", "-c", "exit 9")), wrapper=wrapper)
    assert reports[1:] == [plan.Exited(9 << 8, False), plan.Gone()]


def test_started_comes_with_the_pid_once_it_runs(launcher):
    """The pid that is reported is the command's; exec may be in its last moments still."""
    for _ in range(20):
        with Launch(launcher, guarded(command("sleep", "100"))) as launch:
            cmdline = Path(f"/proc/{launch.pid}/cmdline")
            assert harness.until(cmdline.read_bytes)
            assert cmdline.read_bytes() == b"sleep\x00100\x00"
            launch.tell(plan.kill_tree())
            launch.finish()


def test_descendants_flag(launcher):
    """A command that leaves somebody behind says so; GONE comes when they are gone."""
    with Piped(launcher, command("sh", "-c", "sleep 100 & echo $!; exit 3")) as launch:
        (left,) = launch.pids(1)
        assert launch.await_report(plan.Exited) == plan.Exited(3 << 8, True)
        assert alive(left)
        os.kill(left, signal.SIGTERM)
        assert launch.finish()[-1] == plan.Gone()


def test_a_zombie_is_nobody(launcher):
    """Descendants that have ended already do not count as alive."""
    steps = command("sh", "-c", "sh -c 'exit 1' & sh -c 'exit 2' & exec sleep 0.05")
    assert run(launcher, guarded(steps))[1:] == [plan.Exited(0, False), plan.Gone()]


def test_what_is_left_behind_belongs_to_the_guard(plain, escape):
    """A daemon's new parent is the guard, which collects it when it ends."""
    with Piped(plain, command(str(escape))) as launch:
        (daemon,) = launch.pids(1)
        stat = Path(f"/proc/{daemon}/stat").read_text()
        assert int(stat[stat.rindex(")") + 2 :].split()[1]) == launch.process.pid
        os.kill(daemon, signal.SIGKILL)
        assert launch.finish()[-1] == plan.Gone()


def test_signal_tree(walker):
    """A signal reaches every descendant once, in whatever session it hides."""
    code = (
        "import os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGALRM])\n"
        "for hide in (os.setsid, os.setpgrp, int):\n"
        "    if os.fork() == 0:\n"
        "        hide()\n"
        "        break\n"
        "os.write(1, b'%d\\n' % os.getpid())\n"
        "first = signal.sigwait([signal.SIGUSR1])\n"
        "signal.alarm(1)\n"
        "again = signal.sigwait([signal.SIGUSR1, signal.SIGALRM])\n"
        "os.write(1, b'%d\\n' % (again == signal.SIGALRM))\n"
    )
    with Piped(walker, python(code)) as launch:
        launch.pids(4)
        launch.tell(plan.signal_tree(signal.SIGUSR1))
        assert launch.stdout.read().split() == ["1"] * 4
        assert launch.finish()[-1] == plan.Gone()


def test_signals_that_make_no_sense_are_ignored(launcher):
    """Unknown commands and signal numbers change nothing; a command may come in pieces."""
    with Launch(launcher, guarded(command("sleep", "100"))) as launch:
        pid = launch.pid
        for odd in (plan.signal_tree(0), plan.signal_tree(-9), plan.signal_tree(65)):
            launch.tell(odd)
        launch.tell(b"\x63\0\0\0\x09\0\0\0")
        whole = plan.signal_tree(signal.SIGTERM)
        assert alive(pid)
        for byte in whole:
            launch.tell(bytes([byte]))
        assert launch.await_report(plan.Exited) == plan.Exited(signal.SIGTERM, False)


def test_kill_tree_tells_how_the_command_ended(walker):
    """The command's own end is reported when its tree is killed, and then that all are gone."""
    with Piped(walker, command("sh", "-c", "sleep 100 & echo $!; wait")) as launch:
        (other,) = launch.pids(1)
        launch.tell(plan.kill_tree())
        _, exited, gone = launch.finish()
        assert isinstance(exited, plan.Exited)
        assert exited.status == signal.SIGKILL
        assert gone == plan.Gone()
        assert not alive(other)


def test_daemons_die(walker, escape):
    """Double-forked, in a session of its own, without environment, deaf to signals: it dies."""
    rounds = 200 if walker.parent.name.startswith("plain") else 20
    for _ in range(rounds):
        with Piped(walker, command(str(escape))) as launch:
            (daemon,) = launch.pids(1)
            assert launch.await_report(plan.Exited) == plan.Exited(0, True)
            launch.tell(plan.kill_tree())
            assert launch.finish()[-1] == plan.Gone()
            assert not alive(daemon)


def test_large_tree_dies(walker):
    """Hundreds of processes, some of them twenty generations deep, are gone after one command."""
    code = (
        "import os, time\n"
        "for branch in range(10):\n"
        "    if os.fork() == 0:\n"
        "        for depth in range(20):\n"
        "            os.write(1, b'%d\\n' % os.getpid())\n"
        "            if os.fork(): break\n"
        "        time.sleep(100)\n"
        "time.sleep(100)\n"
    )
    with Piped(walker, python(code)) as launch:
        found = launch.pids(200)
        launch.tell(plan.kill_tree())
        assert launch.finish()[-1] == plan.Gone()
        assert not any(map(alive, found))


def test_children_of_threads_die(walker, escape):
    """A child belongs to the thread that forked it; those of every thread are found."""
    with Piped(walker, command(str(escape), "-threads", "8")) as launch:
        found = launch.pids(8)
        launch.tell(plan.kill_tree())
        assert launch.finish()[-1] == plan.Gone()
        assert not any(map(alive, found))


def test_stopped_processes_die(launcher):
    """A process that was stopped is killed like any other."""
    with Piped(launcher, command("sh", "-c", "echo $$; kill -STOP $$")) as launch:
        launch.pids(1)
        launch.tell(plan.kill_tree())
        assert launch.await_report(plan.Exited) == plan.Exited(signal.SIGKILL, False)


def test_runner_dies(walker, escape):
    """A program that is never there, for each generation forks the next and ends, is caught."""
    with Launch(walker, guarded(command(str(escape), "-runner"))) as launch:
        assert launch.await_report(plan.Exited) == plan.Exited(0, True)
        launch.tell(plan.kill_tree())
        assert launch.finish()[-1] == plan.Gone()


def test_letting_go_kills_the_tree(launcher, escape):
    """Closing the control socket ends everything; the guard ends last."""
    with Piped(launcher, command("sh", "-c", f"{escape}; exec sleep 100")) as launch:
        (daemon,) = launch.pids(1)
        launch.control.close()
        assert launch.process.wait(harness.PATIENCE) == 0
        assert not alive(daemon)


def test_end_of_orders_still_gets_reports(launcher):
    """An engine that shuts down its sending side is told how it all ended."""
    import socket

    with Launch(launcher, guarded(command("sleep", "100"))) as launch:
        launch.pid  # noqa: B018  # it runs
        launch.control.shutdown(socket.SHUT_WR)
        assert launch.finish()[1:] == [plan.Exited(signal.SIGKILL, False), plan.Gone()]


def test_killed_engine_takes_its_tree_along(plain, escape):
    """When the engine is killed, in 50 of 50 cases the whole tree is gone soon after."""
    script = f"{escape}; echo $$; exec sleep 100"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, str(HERE / "engine.py"), str(plain), "sh", "-c", script]
    for first in range(0, 50, 10):  # some at a time: Python takes its time to start
        engines = [
            subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
            for _ in range(first, first + 10)
        ]
        for engine in engines:
            assert engine.stdout
            # The guard, the command, and the daemon; the command names itself a second time.
            pids = {int(word) for _ in range(3) for word in engine.stdout.readline().split()}
            assert len(pids) == 3
            engine.kill()
            engine.wait()
            engine.stdout.close()
            for pid in pids:
                assert until_dead(pid), f"{pid} outlived its engine"


def test_killed_guard_takes_the_command_along(launcher):
    """Should the guard itself be killed, the kernel kills the command."""
    with Launch(launcher, guarded(command("sleep", "100"))) as launch:
        pid = launch.pid
        launch.process.kill()
        assert until_dead(pid)


def test_guard_is_out_of_the_way(launcher, tmp_path):
    """The guard has a name of its own, keeps no directory busy and blocks every signal."""
    steps = guarded(command("sleep", "100"))
    with Launch(launcher, [plan.WorkingDirectory(os.fsencode(tmp_path)), *steps]) as launch:
        proc = Path(f"/proc/{launch.process.pid}")
        pid = launch.pid
        assert harness.until(lambda: harness.name(launch.process.pid) == "fairlead-guard")
        assert os.readlink(proc / "cwd") == "/"
        for signum in (
            signal.SIGTERM,
            signal.SIGINT,
            signal.SIGHUP,
            signal.SIGTSTP,
            signal.SIGUSR1,
        ):
            launch.process.send_signal(signum)
        assert alive(pid)
        launch.tell(plan.kill_tree())
        assert launch.finish()[-1] == plan.Gone()


@pytest.fixture
def refused(plain, tmp_path_factory) -> Iterator[Launch]:
    """A tree that the guard may not kill, and that the test kills in the end."""
    deny = tmp_path_factory.getbasetemp() / "deny-kill"
    if not deny.exists():
        harness.compile_c(deny, str(HERE / "deny_kill.c"))
    with Launch(plain, guarded(command("sleep", "100")), wrapper=[str(deny)]) as launch:
        pid = launch.pid
        launch.tell(plan.kill_tree())
        yield launch
        os.kill(pid, signal.SIGKILL)
        assert launch.finish()[1:] == [plan.Exited(signal.SIGKILL, False), plan.Gone()]


def test_what_cannot_be_killed_costs_no_processor(refused):
    """Where killing is refused the guard tries again now and then, and does not spin."""

    def slept() -> int:
        status = Path(f"/proc/{refused.process.pid}/status").read_text()
        return int(status.split("voluntary_ctxt_switches:")[1].split()[0])

    before = slept()
    assert not select.select([refused.control], [], [], 1.0)[0]
    assert 2 <= slept() - before <= 30


def test_orders_are_heard_while_nothing_can_be_killed(refused):
    """Control is read all the while: more orders come through, and so does letting go."""
    for _ in range(2000):
        refused.tell(plan.signal_tree(signal.SIGTERM))
    assert harness.until(lambda: pending(refused) == 0)


def pending(launch: Launch) -> int:
    """Bytes sent to the guard that it has not read yet."""
    import fcntl
    import struct
    import termios

    outq = fcntl.ioctl(launch.control.fileno(), termios.TIOCOUTQ, struct.pack("i", 0))
    return int(struct.unpack("i", outq)[0])


def test_unread_reports_do_not_hold_up_the_guard(plain):
    """An engine that never reads does not keep the guard from ending."""
    with Launch(plain, guarded(command("true"))) as launch:
        assert launch.process.wait(harness.PATIENCE) == 0


def test_thousands_of_spawns_leave_nothing(plain):
    """Two thousand commands later there is no zombie, no guard and no descriptor too many."""
    steps = plan.encode(guarded(command("/bin/true")))
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(125):
        launches = [Launch(plain, steps) for _ in range(16)]
        for launch in launches:
            with launch:
                assert launch.finish()[1:] == [plan.Exited(0, False), plan.Gone()]
    assert sorted(os.listdir("/proc/self/fd")) == before
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    assert children == ""


def test_output_is_complete_when_the_command_is_gone(launcher):
    """What a command wrote before its end is all there."""
    assert output(launcher, command("seq", "20000")).splitlines()[-1] == "20000"
