"""The steps that confine, where they can not be done: refused unread, or failed by name."""

from __future__ import annotations

import errno
import socket
import struct
from pathlib import Path

import pytest

from fairlead.model import confine
from fairlead.model.confine import ANYTHING, Attribute, Namespace, Node
from fairlead.spawn import plan
from tests.native import harness
from tests.native.behind import (
    ALLOW_ALL,
    MOUNTS,
    NEVER,
    QUIET,
    READ,
    WRITE,
    identity,
    unshare,
)
from tests.native.harness import command, run


def word(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def framed(*steps: tuple[int, bytes]) -> bytes:
    body = b"".join(
        struct.pack("<II", op, len(payload)) + payload + bytes(-len(payload) % 4)
        for op, payload in steps
    )
    return b"FLP1" + struct.pack("<I", 8 + len(body)) + body


ARGV, EXEC = (12, b"true\0"), (14, b"/bin/true\0")
TREE, RULESET, APPLY = (20, word(0, 1, 0, 0, 0, 0) + b"/\0"), (26, bytes(24)), (29, b"")
PID = 0x2000_0000


@pytest.mark.parametrize(
    ("steps", "step"),
    [
        ([(16, b"")], 0),
        ([(16, b"0 0 1\0")], 0),  # one map
        ([(16, b"a\0b\0c\0")], 0),
        ([(16, b"0 0 1\x000 0 1")], 0),  # no end
        ([(16, b"a\0b\0"), (16, b"a\0b\0")], 1),  # twice
        ([(17, b"")], 0),
        ([(17, word(0x1000_0000))], 0),  # a user namespace is another step
        ([(17, word(0x80))], 0),  # time
        ([(17, word(1))], 0),
        ([(17, word(0)), (17, word(0))], 1),
        ([(17, word(PID))], 2),  # nobody would be in it
        ([(17, word(PID)), (1, word(0)), (18, b"")], 1),  # a guard would stay outside
        ([(18, word(0))], 0),
        ([(1, word(0)), (18, b"")], 1),
        ([(18, b""), (18, b"")], 1),
        ([(19, b"lo\0")], 0),
        ([(20, word(64, 1, 0, 0, 0, 0) + b"/\0")], 0),  # no such slot
        ([(20, word(0xFFFF_FFFF, 1, 0, 0, 0, 0) + b"/\0")], 0),
        ([(20, word(0, 2, 0, 0, 0, 0) + b"/\0")], 0),  # no flag
        ([(20, word(0, 1, 0, 0, 0, 0))], 0),  # no path
        ([(20, word(0, 1, 0, 0, 0, 0) + b"/")], 0),
        ([(20, word(0, 1, 0, 0, 0))], 0),
        ([TREE, TREE], 1),  # the slot is taken
        ([(21, word(0, 0, 0, 0, 0, 0, 0, 0) + b"/\0")], 0),  # the slot is empty
        ([TREE, (21, word(0, 16, 0, 0, 0, 0, 0, 0) + b"/\0")], 1),  # no such attribute
        ([TREE, (21, word(0, 0, 2, 0, 0, 0, 0, 0) + b"/\0")], 1),
        ([TREE, (21, word(0, 0, 0, 1, 0, 0, 0, 0) + b"/\0")], 1),  # reserved
        ([TREE, (21, word(64, 0, 0, 0, 0, 0, 0, 0) + b"/\0")], 1),
        ([TREE, (21, word(*[0] * 8) + b"/\0"), (21, word(*[0] * 8) + b"/\0")], 2),
        ([TREE, (4, b""), (21, word(*[0] * 8) + b"/\0")], 2),  # closed meanwhile
        ([(22, word(16, 0) + b"/\0")], 0),
        ([(22, word(0, 2) + b"/\0")], 0),
        ([(22, word(0, 0))], 0),
        ([(23, b"/\0")], 0),
        ([(24, word(0, 0) + b"tmpfs\0/tmp\0")], 0),  # no options
        ([(24, word(0x1000, 0) + b"a\0b\0c\0")], 0),  # a bind
        ([(24, word(0, 1) + b"a\0b\0c\0")], 0),
        ([(25, word(0, 0) + b"/x\0\0")], 0),  # nothing to make
        ([(25, word(4, 0) + b"/x\0\0")], 0),
        ([(25, word(1, 0o10000) + b"/x\0\0")], 0),
        ([(25, word(2, 0o4755) + b"/x\0\0")], 0),  # set-uid
        ([(25, word(1, 0o755) + b"/x\0to\0")], 0),  # only a link leads somewhere
        ([(25, word(3, 0) + b"/x\0\0")], 0),
        ([(26, bytes(20))], 0),
        ([RULESET], 2),  # begun and never in force
        ([RULESET, RULESET, APPLY], 1),
        ([RULESET, (1, word(0)), APPLY], 1),
        ([RULESET, (4, b""), APPLY], 1),  # would close it
        ([(27, bytes(8) + b"/\0")], 0),  # without a ruleset
        ([RULESET, APPLY, (27, bytes(8) + b"/\0")], 2),
        ([RULESET, (27, bytes(8))], 1),
        ([(28, bytes(16))], 0),
        ([RULESET, (28, bytes(8))], 1),
        ([APPLY], 0),
        ([RULESET, (29, word(0))], 1),
        ([(30, word(0))], 0),
        ([(31, word(0))], 0),
        ([(32, word(0, 0))], 0),  # no instruction
        ([(32, word(0, 0) + bytes(7))], 0),
        ([(32, word(0, 0) + bytes(8 * 4097))], 0),
        ([(32, word(2, 0) + ALLOW_ALL)], 0),
        ([(32, word(0, 1) + ALLOW_ALL)], 0),
        ([(32, word(0))], 0),
        ([(33, b"")], 0),
        ([(33, b"/a\0b\0")], 0),
        ([(34, word(0, 0, 0, 0))], 0),
        ([(34, word(0, 0, 0) + b"/\0")], 0),
        ([(35, b"\0")], 0),
        ([(35, b""), (35, b"")], 1),
        ([(36, b"\0"), (35, b"")], 1),  # nothing comes behind it
        ([(36, b"")], 0),
        ([(1, word(0)), (36, b"\0")], 1),
        ([RULESET, (36, b"\0")], 1),
        ([(17, word(PID)), (36, b"\0")], 1),
        ([(37, b"")], 0),
    ],
)
def test_what_is_refused_unread(launcher, steps, step):
    """A plan with a bad payload, or steps in a senseless order, is refused whole and by name."""
    with harness.Launch(launcher, framed(*steps, ARGV, EXEC)) as launch:
        launch.control.shutdown(socket.SHUT_WR)
        guilty = [*steps, ARGV, EXEC][step + (step == len(steps))]
        index = step + (step == len(steps))  # what is missing is missed by the last step
        assert launch.finish() == [plan.Failed(index, guilty[0], errno.EINVAL)]
        assert launch.process.returncode == 127


def failing(place: Path) -> dict[str, tuple[list[confine.ConfineStep], int]]:
    """Steps whose last one fails, and with what."""
    here, file = str(place), str(place / "file")
    tree = confine.MountTree(3, here, identity(place))
    return {
        "a map of ids that are not ours": ([confine.UserNamespace("0 0 9999", "0")], errno.EPERM),
        "a map that is none": ([confine.UserNamespace("x", "0 0 1")], errno.EINVAL),
        "an empty map": ([confine.UserNamespace("", "")], errno.EINVAL),
        "a tree that is not there": ([*MOUNTS, confine.MountTree(0, "/no", NEVER)], errno.ENOENT),
        "a tree that is another": ([*MOUNTS, confine.MountTree(0, here, NEVER)], errno.ESTALE),
        "a place that is not there": (
            [*MOUNTS, tree, confine.MountAttach(3, "/no", ANYTHING)],
            errno.ENOENT,
        ),
        "a place that is another": (
            [*MOUNTS, tree, confine.MountAttach(3, here, NEVER)],
            errno.ESTALE,
        ),
        "a directory on a file": (
            [*MOUNTS, tree, confine.MountAttach(3, file, ANYTHING)],
            errno.EINVAL,
        ),
        "attributes of nothing": (
            [*MOUNTS, confine.MountAttributes("/no", Attribute.READ_ONLY)],
            errno.ENOENT,
        ),
        "attributes of what is no mount": (
            [*MOUNTS, confine.MountAttributes(f"{here}/empty", Attribute.READ_ONLY)],
            errno.EINVAL,
        ),
        "a file system that nobody knows": (
            [*MOUNTS, confine.MountNew("nosuchfs", here)],
            errno.ENODEV,
        ),
        "options that it does not know": (
            [*MOUNTS, confine.MountNew("tmpfs", here, "nonsense=1")],
            errno.EINVAL,
        ),
        "a node that is there": ([confine.MakeNode(Node.DIRECTORY, here)], errno.EEXIST),
        "a node in nothing": ([confine.MakeNode(Node.FILE, "/no/file")], errno.ENOENT),
        "a link over a file": ([confine.MakeNode(Node.LINK, file, target="/")], errno.EEXIST),
        "a ruleset about nothing": ([*QUIET, confine.Landlock()], errno.ENOMSG),
        "a right that nobody knows": ([*QUIET, confine.Landlock(files=1 << 60)], errno.EINVAL),
        "a rule for nothing": (
            [*QUIET, confine.Landlock(files=READ), confine.LandlockPath(READ, "/no")],
            errno.ENOENT,
        ),
        "a rule about what is not handled": (
            [*QUIET, confine.Landlock(files=READ), confine.LandlockPath(WRITE, here)],
            errno.EINVAL,
        ),
        "a port that there is not": (
            [*QUIET, confine.Landlock(network=1), confine.LandlockPort(1, 1 << 20)],
            errno.EINVAL,
        ),
        "a filter that jumps out of itself": (
            [*QUIET, confine.Seccomp(struct.pack("<HBBI", 0x15, 9, 9, 0))],
            errno.EINVAL,
        ),
        "a filter with an unknown instruction": (
            [*QUIET, confine.Seccomp(b"\xff" * 8)],
            errno.EINVAL,
        ),
        "a group that is not there": ([confine.JoinGroup("/no/cgroup.procs")], errno.ENOENT),
        "a group that is a directory": ([confine.JoinGroup(here)], errno.EISDIR),
        "a directory that is another": ([confine.CheckedDirectory(here, NEVER)], errno.ESTALE),
        "a directory that is a file": ([confine.CheckedDirectory(file, ANYTHING)], errno.ENOTDIR),
        "a directory that is not there": (
            [confine.CheckedDirectory("/no", ANYTHING)],
            errno.ENOENT,
        ),
        "terminals that are not there": ([confine.Serve("/no/pts")], errno.ENOENT),
    }


@pytest.mark.parametrize("case", failing(Path("/")))
def test_a_step_that_fails_is_named(launcher, place, case):
    """Step, kind and errno are reported, and nothing has run."""
    steps, error = failing(place)[case]
    (op,) = struct.unpack_from("<I", plan.encode([steps[-1]]), 8)
    end: list[plan.Step] = list(command("touch", str(place / "made")))
    if isinstance(steps[-1], confine.Landlock | confine.LandlockPath | confine.LandlockPort):
        end.insert(0, confine.LandlockApply())
    if isinstance(steps[-1], confine.Serve):
        end = []
    reports = run(launcher, [*steps, *end])
    assert reports == [plan.Failed(len(steps) - 1, op, error)]


def test_behind_a_first_process_failures_are_heard_too(launcher, place):
    """The one that stands outside says nothing, the one inside does."""
    steps = [*unshare(Namespace.PID, Namespace.MOUNT), confine.Init()]
    late = confine.MountTree(0, "/no", ANYTHING)
    reports = run(launcher, [*steps, late, *command("touch", str(place / "made"))])
    assert reports == [plan.Failed(3, 20, errno.ENOENT)]
