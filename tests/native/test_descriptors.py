"""A command has exactly the descriptors that it is meant to have."""

from __future__ import annotations

import errno
import os
import resource
import socket
from collections.abc import Iterator

import pytest

from fairlead.spawn import plan
from tests.native import harness
from tests.native.harness import command, guarded, python, run

LIST = """
import os
for name in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        print(name, os.pread(int(name), 9, 0).decode(), end=";")
    except OSError as error:
        if error.errno != 9:
            print(name, end=";")
"""
# The listing itself is open while it is read, and closed when it is looked at: errno 9.


@pytest.fixture(params=["plain", "without_close_range", "sanitized"])
def launcher(request, tmp_path_factory):
    """Also as on a kernel that does not know close_range."""
    if request.param != "without_close_range":
        return request.getfixturevalue(request.param)
    target = tmp_path_factory.getbasetemp() / "fairlead-launcher-old-kernel"
    if not target.exists():
        harness.compile_c(target, *harness.PLAIN, "-DFL_TEST_WITHOUT_CLOSE_RANGE", *harness.SOURCES)
    return target


class Numbered:
    """Descriptors 40 to 49, where each holds its own number as text."""

    def __init__(self) -> None:
        self.fds = list(range(40, 50))
        for fd in self.fds:
            source = harness.memory(str(fd).encode())
            os.dup2(source, fd, inheritable=True)
            os.close(source)

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


@pytest.fixture
def numbered() -> Iterator[Numbered]:
    fds = Numbered()
    yield fds
    fds.close()


def listed(launcher, pairs, *, keep, guard=True, more=()) -> dict[int, str]:
    """What a command finds open, by number, when it is given these pairs and a stdout."""
    reader, writer = os.pipe()
    steps = [plan.Descriptors((*pairs, (writer, 1))), *more, *python(LIST)]
    reports = run(launcher, guarded(steps) if guard else steps, keep=[*keep, writer])
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    assert not any(isinstance(report, plan.Failed) for report in reports), reports
    found = {}
    for entry in text.split(";")[:-1]:
        number, _, content = entry.partition(" ")
        if number != "1":
            found[int(number)] = content
    return found


@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.parametrize(
    "pairs",
    [
        (),
        ((40, 0),),
        ((40, 40),),  # onto itself
        ((40, 41), (41, 40)),  # swapped
        ((40, 41), (41, 42), (42, 40)),  # in a circle
        ((40, 41), (41, 42), (42, 43)),  # in a row, and back to front
        ((42, 43), (41, 42), (40, 41)),
        ((40, 0), (40, 2), (40, 7)),  # one to many
        ((40, 40), (40, 41), (41, 42)),  # stays, and goes elsewhere too
        ((40, 3), (41, 4), (42, 5), (43, 6), (44, 7), (45, 8), (46, 9), (47, 10)),  # over ours
        ((49, 200), (40, 63)),
    ],
)
def test_remap(launcher, numbered, pairs, guard):
    """Afterwards each number is what its source was before, whatever overlaps."""
    found = listed(launcher, pairs, keep=numbered.fds, guard=guard)
    assert found == {target: str(source) for source, target in pairs}


def test_every_small_permutation(plain, numbered):
    """Any mapping of four descriptors among themselves comes out right."""
    import itertools

    for targets in itertools.permutations((40, 41, 42, 43)):
        pairs = tuple(zip((40, 41, 42, 43), targets, strict=True))
        found = listed(plain, pairs, keep=numbered.fds, guard=False)
        assert found == {target: str(source) for source, target in pairs}


def test_nothing_leaks(launcher):
    """Of hundreds of descriptors that the launcher inherits, the command gets none."""
    spare = [os.dup(0) for _ in range(300)]
    try:
        assert listed(launcher, (), keep=spare) == {}
    finally:
        for fd in spare:
            os.close(fd)


def test_onto_the_control_socket(launcher, numbered):
    """A target may be the very number of the control socket: reports arrive all the same."""
    steps = guarded(
        plan.Descriptors(tuple((40, fd) for fd in range(3, 40))), command("sh", "-c", "exit 5")
    )
    reports = run(launcher, steps, keep=numbered.fds)
    assert reports[1:] == [plan.Exited(5 << 8, False), plan.Gone()]
    thin = [plan.Descriptors(tuple((40, fd) for fd in range(3, 40))), *command("no-such-thing")]
    assert run(launcher, thin, keep=numbered.fds) == [plan.Failed(3, 14, errno.ENOENT)]


def test_named_descriptors_are_kept_and_hidden(launcher, numbered, tmp_path):
    """The directory and the program come by descriptor, and neither is open in the command."""
    directory = os.open(tmp_path, os.O_PATH)
    try:
        more = [plan.WorkingDirectoryFd(directory)]
        assert listed(launcher, (), keep=[directory], more=more) == {}
    finally:
        os.close(directory)


def test_named_descriptors_mean_the_launchers_numbers(launcher, numbered, tmp_path):
    """A pair may take the number of the directory's descriptor: both are what they should be."""
    directory = os.open(tmp_path, os.O_PATH)
    reader, writer = os.pipe()
    try:
        pairs = ((writer, 1), (40, directory))
        steps = [
            plan.Descriptors(pairs),
            plan.WorkingDirectoryFd(directory),
            *command("sh", "-c", f"pwd; cat /proc/self/fd/{directory}"),
        ]
        run(launcher, guarded(steps), keep=[*numbered.fds, directory, writer])
    finally:
        os.close(directory)
        os.close(writer)
    with os.fdopen(reader) as stream:
        assert stream.read() == f"{tmp_path}\n40"


def test_exec_by_descriptor(launcher):
    """A program is executed by descriptor, and does not inherit it."""
    program = os.open("/bin/cat", os.O_PATH)
    reader, writer = os.pipe()
    steps: list[plan.Step] = [
        plan.Descriptors(((writer, 1),)),
        plan.Argv((b"cat", b"/proc/self/comm", b"/proc/self/fd/%d" % program)),
        plan.ExecFd(program),
    ]
    reports = run(launcher, guarded(steps), keep=[program, writer])
    os.close(program)
    os.close(writer)
    with os.fdopen(reader) as stream:
        assert len(stream.read().splitlines()) == 1
    assert reports[1:] == [plan.Exited(1 << 8, False), plan.Gone()]


def test_sent_with_the_plan(launcher, numbered, tmp_path):
    """Descriptors may come with the plan instead of being inherited; a step names their place."""
    directory = os.open(tmp_path, os.O_PATH)
    reader, writer = os.pipe()
    pairs = tuple((plan.PASSED | place, fd) for place, fd in ((0, 1), (2, 7), (1, 4), (1, 9)))
    script = "pwd; cat /proc/self/fd/7 /proc/self/fd/4 /proc/self/fd/9; ls /proc/self/fd"
    steps = [
        plan.Descriptors(pairs),
        plan.WorkingDirectoryFd(plan.PASSED | 3),
        *command("sh", "-c", script),
    ]
    reports = run(launcher, guarded(steps), send=[writer, 40, 41, directory])
    os.close(directory)
    os.close(writer)
    with os.fdopen(reader) as stream:
        # 0 is where `ls` reads the listing; nothing else that came is left.
        assert stream.read() == f"{tmp_path}\n414040" + "0\n1\n4\n7\n9\n"
    assert reports[-1] == plan.Gone()


@pytest.mark.parametrize("apart", [False, True])
def test_place_where_nothing_came(launcher, apart):
    """A step that names a descriptor which was not sent makes the plan malformed."""
    steps = guarded(plan.Descriptors(((plan.PASSED | 1, 0),)), command("true"))
    send = () if apart else (0,)
    assert run(launcher, steps, apart=apart, send=send) == [plan.Failed(3, 4, errno.EINVAL)]
    steps = guarded(plan.WorkingDirectoryFd(plan.PASSED | 0x7FFF_FFFF), command("true"))
    assert run(launcher, steps, apart=apart, send=send) == [plan.Failed(3, 10, errno.EINVAL)]


def test_source_that_is_not_open(launcher, numbered):
    """A source that is not open is a failure, even where a copy could take its number."""
    for free in range(3, 20):
        pairs = ((40, 41), (41, 40), (free, 0))
        steps = [plan.Descriptors(pairs), *command("true")]
        with harness.Launch(launcher, steps, keep=numbered.fds) as launch:
            expected = [plan.Failed(0, 4, errno.EBADF)] if free != launch.number else []
            assert launch.finish() == expected


def test_target_beyond_the_limit(launcher, numbered):
    """A number that the limits do not allow is a failure, not a surprise."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    steps = [plan.Descriptors(((40, soft),)), *command("true")]
    assert run(launcher, steps, keep=numbered.fds) == [plan.Failed(0, 4, errno.EBADF)]


def test_guard_holds_nothing_of_the_command(launcher):
    """When a command closes its output, the pipe ends: the guard keeps no copy."""
    reader, writer = os.pipe()
    steps = [plan.Descriptors(((writer, 1),)), *command("sh", "-c", "exec >&-; exec sleep 100")]
    with harness.Launch(launcher, guarded(steps), keep=[writer]) as launch:
        os.close(writer)
        with os.fdopen(reader) as stream:
            assert stream.read() == ""
        kept = os.listdir(f"/proc/{launch.process.pid}/fd")
        assert harness.until(lambda: len(os.listdir(f"/proc/{launch.process.pid}/fd")) == 1), kept
        (fd,) = os.listdir(f"/proc/{launch.process.pid}/fd")
        assert os.readlink(f"/proc/{launch.process.pid}/fd/{fd}").startswith("socket:")


def test_control_socket_does_not_reach_the_command(launcher):
    """Without the descriptors step too, the control socket closes at exec."""
    ours, theirs = socket.socketpair()
    steps = plan.encode(command("sleep", "100"))
    ours.sendall(steps)
    import subprocess

    fd = str(theirs.fileno())
    process = subprocess.Popen([launcher, "exec", fd, fd], pass_fds=[theirs.fileno()])
    theirs.close()
    assert ours.recv(1) == b""
    ours.close()
    process.kill()
    process.wait()
