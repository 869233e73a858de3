"""The launcher's language, as Python writes and reads it."""

from __future__ import annotations

import struct
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.model.errors import BadRequest, Bug
from fairlead.spawn import plan

numbers = some.integers(0, 0xFFFF_FFFF)
limits = some.integers(-1, 2**64 - 2)
texts = some.binary(max_size=40).map(lambda data: data.replace(b"\0", b"\1"))
steps = some.one_of(
    some.builds(plan.Guard, some.booleans(), some.booleans()),
    some.builds(plan.Session),
    some.builds(plan.ProcessGroup),
    some.builds(plan.Descriptors, some.lists(some.tuples(numbers, numbers)).map(tuple)),
    some.builds(plan.ControllingTty, numbers),
    some.builds(plan.ParentDeathSignal, numbers, numbers),
    some.builds(plan.Limit, numbers, limits, limits),
    some.builds(plan.ResetSignals),
    some.builds(plan.WorkingDirectory, texts),
    some.builds(plan.WorkingDirectoryFd, numbers),
    some.builds(plan.Umask, numbers),
    some.builds(plan.Argv, some.lists(texts, min_size=1).map(tuple)),
    some.builds(plan.Environment, some.lists(texts).map(tuple)),
    some.builds(plan.Exec, texts),
    some.builds(plan.ExecFd, numbers),
)

TYPICAL: list[plan.Step] = [
    plan.Guard(own_session=True),
    plan.Session(),
    plan.ParentDeathSignal(9),
    plan.Descriptors(((7, 0), (8, 1), (8, 2))),
    plan.ResetSignals(),
    plan.WorkingDirectoryFd(9),
    plan.Argv((b"bash", b"-c", b"echo hello")),
    plan.Environment(tuple(b"NAME_%d=some value" % number for number in range(30))),
    plan.Exec(b"/usr/bin/bash"),
]


@given(some.lists(steps))
def test_round_trip(some_steps):
    """What is encoded is decoded to the same steps, whatever they are."""
    assert plan.decode(plan.encode(some_steps)) == tuple(some_steps)


def test_wire_form():
    """The bytes are the ones that the launcher is written for."""
    assert plan.encode([plan.Session(), plan.WorkingDirectory(b"/ab"), plan.Umask(0o22)]) == (
        b"FLP1" + struct.pack("<I", 8 + 8 + 12 + 12)
        # op, length, payload, and zeros up to a multiple of four
        + struct.pack("<II", 2, 0)
        + struct.pack("<II", 9, 4) + b"/ab\0"
        + struct.pack("<III", 11, 4, 0o22)
    )  # fmt: skip
    assert plan.encode([plan.Limit(7, 5, -1)])[8:] == struct.pack(
        "<IIIIQQ", 7, 24, 7, 0, 5, 2**64 - 1
    )
    assert plan.encode([plan.Exec(b"sh")])[-4:] == b"sh\0\0"


@given(some.binary(max_size=80))
def test_garbage_is_refused(garbage):
    """Bytes that are no plan are a `ValueError`, nothing else."""
    framed = b"FLP1" + struct.pack("<I", 8 + len(garbage)) + garbage
    for data in (garbage, framed):
        try:
            found = plan.decode(data)
        except ValueError:
            continue
        assert all(isinstance(step, plan.Step) for step in found)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (plan.Argv((b"a", b"b\0c")), "argument 1 contains a NUL byte"),
        (plan.Environment((b"A=1", b"TOKEN=s3cr3t\0")), "environment: TOKEN contains a NUL byte"),
        (plan.Environment((b"A\0B=1",)), "environment: 0 contains a NUL byte"),
        (plan.Exec(b"/bin/\0sh"), r"executable: b'/bin/\x00sh' contains a NUL byte"),
        (plan.WorkingDirectory(b"\0"), r"working directory: b'\x00' contains a NUL byte"),
        (plan.Argv(()), "arguments: empty; the program's name comes first"),
        (plan.Descriptors(((0, 0),) * 257), "descriptors: at most 256, not 257"),
    ],
)
def test_impossible_values(step, said):
    """What no process can have is refused by name; a variable's value is never shown."""
    with pytest.raises(BadRequest) as refusal:
        plan.encode([step])
    assert str(refusal.value) == said


def test_too_large():
    """A plan that the launcher would not read is not written."""
    with pytest.raises(BadRequest, match="too long"):
        plan.encode([plan.Argv((b"x" * plan.MAX_PLAN_BYTES,))])


def test_every_step_has_a_name():
    """Each step can be named to a person, and those that execute are known."""
    for op in range(1, 37):
        assert plan.STEP_NAMES[op]
    assert {plan.STEP_NAMES[op] for op in plan.EXEC_OPS} == {"executable"}


def test_reports():
    """Whole reports are taken off the buffer; half of one stays for the next time."""
    data = struct.pack("<Iiii", 2, 4711, 0, 0) + struct.pack("<Iiii", 3, 256, 1, 0)
    data += struct.pack("<Iiii", 4, 0, 0, 0) + struct.pack("<Iiii", 1, 5, 14, 2)
    data += b"".join(struct.pack("<Iiii", kind, 0, 0, 0) for kind in (5, 6, 7))
    buffer = bytearray()
    found = []
    for at in range(0, len(data), 7):
        buffer += data[at : at + 7]
        found += plan.parse_reports(buffer)
    assert found == [
        plan.Started(4711),
        plan.Exited(256, True),
        plan.Gone(),
        plan.Failed(step=5, op=14, errno=2),
        plan.Ready(),
        plan.Listener(),
        plan.Command(),
    ]
    assert buffer == b""


def test_unknown_report():
    """A report that nobody knows means that launcher and engine are not of one build."""
    with pytest.raises(Bug, match="kind 9"):
        plan.parse_reports(bytearray(struct.pack("<Iiii", 9, 0, 0, 0)))


def test_commands():
    """Commands are eight bytes: what, and a number."""
    assert plan.signal_tree(15) == struct.pack("<Ii", 1, 15)
    assert plan.kill_tree() == struct.pack("<Ii", 2, 0)
    assert plan.request_guard() == struct.pack("<Ii", 1, 0)


def test_encoding_is_quick():
    """A typical plan is encoded in far less time than a process takes to start."""
    best = min(timeit.repeat(lambda: plan.encode(TYPICAL), number=1000, repeat=5)) / 1000
    assert best < 60e-6  # some 8 µs; a busy machine gets room
