"""The command line, the plan, and the steps that change one thing each."""

from __future__ import annotations

import errno
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest

from fairlead.spawn import plan
from tests.native import harness
from tests.native.harness import command, guarded, output, python, run


def framed(*steps: tuple[int, bytes]) -> bytes:
    """A plan from raw parts, well-formed or not."""
    body = b"".join(
        struct.pack("<II", op, len(payload)) + payload + bytes(-len(payload) % 4)
        for op, payload in steps
    )
    return b"FLP1" + struct.pack("<I", 8 + len(body)) + body


def word(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


ARGV = (12, b"true\0")
EXEC = (14, b"/bin/true\0")


def test_version(launcher):
    """It names its version, and nothing else."""
    done = subprocess.run([launcher, "--version"], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("fairlead-launcher 1\n", "", 0)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("exec",),
        ("exec", "3"),
        ("exec", "x", "3"),
        ("exec", "-1", "3"),
        ("serve", "3", "4"),
        ("connect",),
    ],
)
def test_usage(launcher, arguments):
    """Anything that it does not understand is one line of usage and exit 2."""
    done = subprocess.run([launcher, *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")
    assert done.stderr.count("\n") == 1


def test_without_a_control_socket(launcher):
    """Nobody to report to: it says so and runs nothing."""
    done = subprocess.run([launcher, "exec", "0", "77"], capture_output=True, text=True)
    assert done.returncode == 127
    assert "CONTROL_FD" in done.stderr


def test_connects_to_the_engine(launcher, tmp_path):
    """Where no descriptor reaches it, it fetches its control socket by a path, and then does as
    always: the plan comes over it, and so do the reports."""
    path = str(tmp_path / "engine")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        process = subprocess.Popen([launcher, "connect", path])
        control, _ = listener.accept()
    with control, control.makefile("rb") as stream:
        control.sendall(plan.encode(guarded(command("sh", "-c", "exit 3"))))
        reports = plan.parse_reports(bytearray(stream.read()))
    assert reports[1:] == [plan.Exited(3 << 8, False), plan.Gone()]
    assert process.wait() == 0


@pytest.mark.parametrize("path", ["/no/such/socket", "/" + "x" * 108, "/dev/null"])
def test_without_an_engine_to_connect_to(launcher, path):
    """Where nobody listens it says so and runs nothing."""
    done = subprocess.run([launcher, "connect", path], capture_output=True, text=True)
    assert done.returncode == 127
    assert done.stderr == "fairlead-launcher: the engine does not listen\n"


def test_thin_exec(launcher):
    """Without a guard the launcher becomes the command, and has nothing to report."""
    with harness.Launch(launcher, command("sh", "-c", "exit 7")) as launch:
        assert launch.finish() == []
        assert launch.process.returncode == 7


def test_failure_is_told_from_exit_code_127(launcher):
    """A command that exits with 127 ran; one that does not exist did not."""
    assert run(launcher, guarded(command("sh", "-c", "exit 127")))[1:] == [
        plan.Exited(127 << 8, False),
        plan.Gone(),
    ]
    assert run(launcher, guarded(command("no-such-command"))) == [
        plan.Failed(step=5, op=14, errno=errno.ENOENT)
    ]
    with harness.Launch(launcher, command("no-such-command")) as launch:
        assert launch.finish() == [plan.Failed(step=2, op=14, errno=errno.ENOENT)]
        assert launch.process.returncode == 127


@pytest.mark.parametrize("apart", [False, True])
def test_plan_from_socket_or_memory(launcher, apart):
    """The plan comes over the control socket or from a descriptor of its own."""
    reports = run(launcher, guarded(command("true")), apart=apart)
    assert reports[1:] == [plan.Exited(0, False), plan.Gone()]


def test_plan_in_pieces_over_a_non_blocking_socket(launcher):
    """A plan larger than the socket's buffer arrives in pieces, also at a non-blocking end."""
    steps = guarded(command("true", *["x" * 1000] * 600))
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    fd = str(theirs.fileno())
    process = subprocess.Popen([launcher, "exec", fd, fd], pass_fds=[theirs.fileno()])
    theirs.close()
    sender = threading.Thread(target=ours.sendall, args=(plan.encode(steps),))
    sender.start()
    sender.join()
    with ours.makefile("rb") as stream:
        reports = plan.parse_reports(bytearray(stream.read()))
    ours.close()
    process.wait()
    assert reports[1:] == [plan.Exited(0, False), plan.Gone()]


@pytest.mark.parametrize(
    ("raw", "step", "op"),
    [
        (b"", 0, 0),
        (b"FLP1", 0, 0),
        (b"FLP2" + struct.pack("<I", 8), 0, 0),
        (b"FLP1" + struct.pack("<I", 7), 0, 0),
        (b"FLP1" + struct.pack("<I", 8 * 1024 * 1024 + 4), 0, 0),
        (b"FLP1" + struct.pack("<I", 64) + b"short", 0, 0),
        (b"FLP1" + struct.pack("<I", 8), 0, 0),  # no steps
        (b"FLP1" + struct.pack("<I", 12) + word(2), 0, 2),  # half a step
        (b"FLP1" + struct.pack("<IIII", 20, 12, 8, 0), 0, 12),  # reaches out of the plan
        (b"FLP1" + struct.pack("<IIII", 20, 12, 0xFFFFFFFF, 0), 0, 12),
        (framed(ARGV, (0, b""), EXEC), 1, 0),
        (framed(ARGV, (16, b""), EXEC), 1, 16),
        (framed(ARGV, (0xFFFFFFFF, b""), EXEC), 1, -1),
        (framed(ARGV), 0, 12),  # nothing to execute
        (framed(EXEC), 0, 14),  # no arguments
        (framed(ARGV, EXEC, (2, b"")), 2, 2),  # goes on behind the end
        (framed(ARGV, EXEC, EXEC), 2, 14),
        (framed(ARGV, ARGV, EXEC), 1, 12),  # twice
        (framed((2, b""), (2, b""), ARGV, EXEC), 1, 2),
        (framed((2, b"1234"), ARGV, EXEC), 0, 2),  # wrong sizes
        (framed((1, b""), ARGV, EXEC), 0, 1),
        (framed((1, word(4)), ARGV, EXEC), 0, 1),
        (framed((4, word(1, 2, 3)), ARGV, EXEC), 0, 4),
        (framed((4, word(1, 2, 3, 2)), ARGV, EXEC), 0, 4),  # two descriptors in one place
        (framed((4, word(*range(2 * 257))), ARGV, EXEC), 0, 4),
        (framed((7, word(1, 2, 3)), ARGV, EXEC), 0, 7),
        (framed((7, word(1, 2, 3, 4, 5, 6)), ARGV, EXEC), 0, 7),  # reserved word in use
        (framed((6, word(9, 0)), ARGV, EXEC), 0, 6),  # no guard to take for the parent
        (framed((6, word(0, 1)), ARGV, EXEC), 0, 6),
        (framed((6, word(65, 1)), ARGV, EXEC), 0, 6),
        (framed((9, b"/tmp"), ARGV, EXEC), 0, 9),  # no NUL
        (framed((9, b"/t\0mp\0"), ARGV, EXEC), 0, 9),
        (framed((9, b""), ARGV, EXEC), 0, 9),
        (framed((12, b""), EXEC), 0, 12),
        (framed((12, b"true"), EXEC), 0, 12),
        (framed(ARGV, (13, b"A=1"), EXEC), 1, 13),
        (framed(ARGV, EXEC)[:-1] + b"x", 1, 14),  # padding that is not zeros
    ],
)
def test_malformed_plan(launcher, raw, step, op):
    """A plan that is not well-formed is refused whole, and the guilty step is named."""
    with harness.Launch(launcher, raw) as launch:
        launch.control.shutdown(socket.SHUT_WR)
        assert launch.finish() == [plan.Failed(step, op, errno.EINVAL)]
        assert launch.process.returncode == 127


def test_nothing_of_a_malformed_plan_is_done(launcher, tmp_path):
    """A plan is judged before its first step is applied."""
    raw = plan.encode([plan.Guard(True), *command("touch", str(tmp_path / "made"))])
    body = raw[8:] + struct.pack("<II", 99, 0)
    reports = run(launcher, b"FLP1" + struct.pack("<I", 8 + len(body)) + body)
    assert reports == [plan.Failed(4, 99, errno.EINVAL)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (plan.WorkingDirectory(b"/no/such/place"), errno.ENOENT),
        (plan.WorkingDirectory(b"/etc/passwd"), errno.ENOTDIR),
        (plan.WorkingDirectoryFd(99), errno.EBADF),
        (plan.ControllingTty(99), errno.EBADF),
        (plan.ControllingTty(0), errno.ENOTTY),
        (plan.Descriptors(((99, 0),)), errno.EBADF),
        (plan.Limit(99, 1, 1), errno.EINVAL),
        (plan.Limit(7, 2, 1), errno.EINVAL),
        (plan.ExecFd(99), errno.EBADF),
    ],
)
def test_failing_step(launcher, step, error):
    """Each step that the kernel refuses is reported as what it is, guarded or not."""
    (op,) = struct.unpack_from("<I", plan.encode([step]), 8)
    rest = [] if isinstance(step, plan.ExecFd) else [plan.Exec(b"/bin/true")]
    thin = [plan.Argv((b"true",)), plan.Environment(()), step, *rest]
    null = os.open(os.devnull, os.O_RDWR)
    moved = plan.Descriptors(((null, 0),))
    under_guard = [plan.Guard(True), moved, *thin]
    if isinstance(step, plan.Descriptors):
        under_guard.remove(moved)
    try:
        reports = run(launcher, under_guard, keep=[null])
        assert reports == [plan.Failed(under_guard.index(step), op, error)]
        if not isinstance(step, plan.ControllingTty):  # the tests' own stdin may be a terminal
            assert run(launcher, thin) == [plan.Failed(2, op, error)]
    finally:
        os.close(null)


def test_session_of_a_session_leader(launcher):
    """A session that can't be had is a failure, not something to go on without."""
    steps = [plan.Guard(True), plan.Session(), plan.ProcessGroup(), *command("true")]
    assert run(launcher, steps) == [plan.Failed(2, 3, errno.EPERM)]


IDS = "import os; print(os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0))"


def test_own_session(launcher):
    """The command leads its session and group; its parent, the guard, leads another."""
    pid, parent, group, session = map(int, output(launcher, python(IDS)).split())
    assert pid == group == session != parent


def test_own_group_of_the_guard(launcher):
    """A guard may keep the engine's session and still leave its group."""
    code = "import os; p = os.getppid(); print(os.getpgid(p) == p, os.getsid(p))"
    reader, writer = os.pipe()
    steps = [plan.Guard(False, own_group=True), plan.Descriptors(((writer, 1),)), *python(code)]
    run(launcher, steps, keep=[writer])
    os.close(writer)
    with os.fdopen(reader) as stream:
        assert stream.read().split() == ["True", str(os.getsid(0))]


def test_process_group_alone(launcher):
    """A process group can be had without a session."""
    steps: list[plan.Step] = [plan.Guard(False), plan.ProcessGroup()]
    reader, writer = os.pipe()
    run(launcher, [*steps, plan.Descriptors(((writer, 1),)), *python(IDS)], keep=[writer])
    os.close(writer)
    with os.fdopen(reader) as stream:
        pid, _, group, session = map(int, stream.read().split())
    assert pid == group
    assert session == os.getsid(0)


def test_controlling_terminal(launcher):
    """The terminal controls the command: /dev/tty opens, and ^C reaches it."""
    master, slave = pty.openpty()
    steps = guarded(
        plan.Descriptors(((slave, 0), (slave, 1), (slave, 2))),
        plan.ControllingTty(0),
        plan.ResetSignals(),
        command("sh", "-c", ": </dev/tty && echo controlled!; exec sleep 100"),
    )
    with harness.Launch(launcher, steps, keep=[slave]) as launch:
        os.close(slave)
        said = b""
        while b"!" not in said:
            said += os.read(master, 100)
        assert said.startswith(b"controlled!")
        harness.until(lambda: "sleep" in harness.name(launch.pid))
        os.write(master, b"\x03")
        assert launch.await_report(plan.Exited).status == signal.SIGINT
    os.close(master)


def test_working_directory_umask_and_limit(launcher, tmp_path):
    """The directory, the mask and the limits are those of the plan."""
    fd = os.open(tmp_path, os.O_PATH)
    try:
        steps: list[plan.Step] = [
            plan.Limit(7, 123, 456),
            plan.Limit(4, 0, 0),
            plan.Umask(0o27),
            plan.WorkingDirectory(b"/usr"),
        ]
        script = "pwd; umask; ulimit -Sn; ulimit -Hn; ulimit -c"
        expected = ["0027", "123", "456", "0"]
        said = output(launcher, [*steps, *command("sh", "-c", script)]).split()
        assert said == ["/usr", *expected]
        steps[-1] = plan.WorkingDirectoryFd(fd)
        said = output(launcher, [*steps, *command("sh", "-c", script)], keep=[fd]).split()
        assert said == [str(tmp_path), *expected]
    finally:
        os.close(fd)


def test_arguments_and_environment(launcher):
    """Arguments and environment arrive byte for byte, empty and odd ones too."""
    arguments = ("", " ", "a\nb", b"\xff\xfe", "'\"$x`")
    env = (b"A=1", b"EMPTY=", b"ODD=\xff\n", b"=")
    code = (
        "import os, sys\n"
        "print([os.fsencode(a) for a in sys.argv[1:]])\n"
        "print(open('/proc/self/environ', 'rb').read())"
    )
    steps = command(sys.executable, "-ISc", code, *arguments, env=env)
    first, second = output(launcher, steps).splitlines()
    assert first == repr([os.fsencode(argument) for argument in arguments])
    assert second == repr(b"\0".join(env) + b"\0")


def test_no_environment(launcher):
    """Without the step the environment is empty, never the launcher's own."""
    said = output(launcher, [plan.Argv((b"env",)), plan.Exec(b"/usr/bin/env")])
    assert said == ""


def test_signals_are_reset(launcher):
    """Whatever the engine ignores or blocks, the command starts with nothing of it."""
    wrapper = ("sh", "-c", 'trap \'\' HUP INT PIPE CHLD USR1; exec "$0" "$@"')
    reader, writer = os.pipe()
    steps = guarded(
        plan.Descriptors(((writer, 1),)), plan.ResetSignals(), command("cat", "/proc/self/status")
    )
    run(launcher, steps, keep=[writer], wrapper=wrapper)
    os.close(writer)
    with os.fdopen(reader) as stream:
        status = dict(line.rstrip().split(":", 1) for line in stream)
    for field in ("SigBlk", "SigIgn", "SigCgt"):
        assert int(status[field], 16) == 0, field


def test_signals_are_inherited_without_the_step(launcher):
    """The guard blocks everything for itself; the command gets what the launcher was given."""
    steps = command("cat", "/proc/self/status")
    status = dict(line.split(":", 1) for line in output(launcher, steps).splitlines())
    assert int(status["SigBlk"], 16) == 0
    assert int(status["SigIgn"], 16) & 1 << (signal.SIGPIPE - 1)  # Python ignores it


def test_parent_death_signal_is_set(launcher):
    """The command asks the kernel to be killed with its guard."""
    code = (
        "import ctypes; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n));"
        "print(n.value)"
    )
    assert output(launcher, command(sys.executable, "-Ic", code)) == "9\n"


def test_parent_that_is_gone_already(launcher):
    """If the parent is not the expected one, the command ends as the kernel would have ended it."""
    steps = [plan.ParentDeathSignal(signal.SIGTERM, parent=1 << 22), *command("true")]
    with harness.Launch(launcher, steps) as launch:
        assert launch.finish() == []
        assert launch.process.returncode == -signal.SIGTERM


def test_expected_parent(launcher):
    """Without a guard the expected parent is the one that the plan names."""
    steps = [plan.ParentDeathSignal(signal.SIGKILL, parent=os.getpid()), *command("true")]
    with harness.Launch(launcher, steps) as launch:
        assert launch.finish() == []
        assert launch.process.returncode == 0


def test_child_killed_before_exec_did_not_run(launcher):
    """A child that dies on its way to the command is a failure: nothing ran."""
    steps = [plan.Guard(True), plan.ParentDeathSignal(9, parent=1 << 22), *command("true")]
    assert run(launcher, steps) == [plan.Failed(1, 6, errno.EINTR)]
