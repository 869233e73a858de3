"""The steps that confine, as bytes and back."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.model import confine
from fairlead.model.confine import Attribute, Identity, MountFlag, Namespace, Node
from fairlead.model.errors import BadRequest
from fairlead.spawn import confine_plan, plan

numbers = some.integers(0, 2**64 - 1)
words = some.integers(0, 2**32 - 1)
slots = some.integers(0, 63)
texts = some.text(some.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
identities = some.builds(Identity, numbers, numbers)
programs = some.binary(min_size=8, max_size=400).map(lambda data: data[: len(data) // 8 * 8])
steps = some.one_of(
    some.builds(confine.UserNamespace, texts, texts),
    some.builds(confine.Unshare, some.sampled_from(Namespace) | some.just(Namespace(0x7C02_0000))),
    some.builds(confine.Init),
    some.builds(confine.Loopback),
    some.builds(confine.MountTree, slots, texts, identities, some.booleans()),
    some.builds(
        *(confine.MountAttach, slots, texts, identities),
        *(some.integers(0, 15).map(Attribute), some.booleans()),
    ),
    some.builds(
        confine.MountAttributes, texts, some.integers(0, 15).map(Attribute), some.booleans()
    ),
    some.builds(confine.MountPrivate),
    some.builds(confine.MountNew, texts, texts, texts, some.integers(0, 15).map(MountFlag)),
    some.builds(confine.MakeNode, some.sampled_from(Node), texts, words, texts),
    some.builds(confine.Landlock, numbers, numbers, numbers),
    some.builds(confine.LandlockPath, numbers, texts),
    some.builds(confine.LandlockPort, numbers, numbers),
    some.builds(confine.LandlockApply),
    some.builds(confine.NoNewPrivileges),
    some.builds(confine.DropCapabilities),
    some.builds(confine.Seccomp, programs, some.booleans()),
    some.builds(confine.JoinGroup, texts),
    some.builds(confine.CheckedDirectory, texts, identities),
    some.builds(confine.Identify),
    some.builds(confine.Serve, texts),
)


@given(some.lists(steps))
def test_round_trip(some_steps):
    """What is encoded is decoded to the same steps, whatever they are."""
    assert plan.decode(plan.encode(some_steps)) == tuple(some_steps)


def test_every_step_that_confines_has_a_form_and_a_name():
    """No step of the model is missing in the language, in either direction."""
    kinds = set(confine.ConfineStep.__args__)
    assert set(confine_plan.ENCODERS) == kinds
    assert set(confine_plan.DECODERS) == set(confine_plan.NAMES) == set(range(16, 37))
    assert all(confine_plan.NAMES.values())


def test_wire_form():
    """The bytes are the ones that the launcher is written for."""

    def payload(step):
        return plan.encode([step])[16:]

    here = Identity(0x1_0000_0002, 3)
    assert payload(confine.UserNamespace("0 0 1", "a")) == b"0 0 1\0a\0"
    assert payload(confine.Unshare(Namespace.PID)) == struct.pack("<I", 0x2000_0000)
    assert payload(confine.MountTree(5, "/ab", here)) == (
        struct.pack("<IIQQ", 5, 1, 0x1_0000_0002, 3) + b"/ab\0"
    )
    assert payload(confine.MountAttach(5, "/ab", here, Attribute.READ_ONLY, keep=True)) == (
        struct.pack("<IIIIQQ", 5, 1, 1, 0, 0x1_0000_0002, 3) + b"/ab\0"
    )
    assert payload(confine.MountNew("proc", "/p", "", MountFlag.NO_SETUID)) == (
        struct.pack("<II", 2, 0) + b"proc\0/p\0\0" + b"\0\0\0"
    )
    assert payload(confine.MakeNode(Node.LINK, "/p", 0o700, "to")) == (
        struct.pack("<II", 3, 0o700) + b"/p\0to\0" + b"\0\0"
    )
    assert payload(confine.Landlock(1, 2, 3)) == struct.pack("<QQQ", 1, 2, 3)
    assert payload(confine.LandlockPort(2, 443)) == struct.pack("<QQ", 2, 443)
    assert payload(confine.Seccomp(b"12345678", listener=True)) == (
        struct.pack("<II", 1, 0) + b"12345678"
    )
    assert payload(confine.Serve()) == b"\0\0\0\0"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (confine.JoinGroup("/a\0b"), r"control group: b'/a\x00b' contains a NUL byte"),
        (confine.MountNew("tmpfs", "/\0"), "new file system: string 1 contains a NUL byte"),
        (
            confine.MountTree(64, "/", confine.ANYTHING),
            "copy of a mount tree: slot 64; there are 64, from 0 on",
        ),
        (
            confine.Seccomp(b"1234"),
            "system call filter: 4 bytes; must be 1 to 4096 instructions of 8",
        ),
        (
            confine.Seccomp(bytes(8 * 4097)),
            "system call filter: 32776 bytes; must be 1 to 4096 instructions of 8",
        ),
    ],
)
def test_impossible_values(step, said):
    """What the launcher would refuse is refused by name."""
    with pytest.raises(BadRequest) as refusal:
        plan.encode([step])
    assert str(refusal.value) == said


@pytest.mark.parametrize(
    ("op", "payload"),
    [
        (16, b"one\0"),
        (18, b"1234"),
        (21, struct.pack("<IIIIQQ", 0, 0, 0, 1, 0, 0) + b"/\0"),
        (24, struct.pack("<II", 0, 1) + b"a\0b\0c\0"),
        (25, struct.pack("<II", 9, 0) + b"a\0b\0"),
        (32, struct.pack("<II", 0, 1) + bytes(8)),
        (34, bytes(16) + b"unterminated"),
    ],
)
def test_what_no_step_looks_like(op, payload):
    """Bytes that no step is encoded to are a `ValueError`."""
    body = struct.pack("<II", op, len(payload)) + payload + bytes(-len(payload) % 4)
    with pytest.raises(ValueError, match="malformed"):
        plan.decode(b"FLP1" + struct.pack("<I", 8 + len(body)) + body)
