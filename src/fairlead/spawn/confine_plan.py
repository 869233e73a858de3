"""The launcher's language for confinement: its steps as bytes, and back. Pure.

`native/plan.h` is the other end. A payload is a part of fixed size, then strings or a program.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from struct import Struct
from typing import Any

from fairlead.model import confine
from fairlead.model.confine import ConfineStep, Identity
from fairlead.model.errors import BadRequest
from fairlead.spawn import wire
from fairlead.spawn.wire import Parts

MAX_FILTER_INSTRUCTIONS = 4096
MOUNT_SLOTS = 64

NAMES: dict[int, str] = {
    16: "user namespace",
    17: "namespaces",
    18: "first process",
    19: "loopback interface",
    20: "copy of a mount tree",
    21: "mount tree",
    22: "mount attributes",
    23: "private mounts",
    24: "new file system",
    25: "new file",
    26: "Landlock ruleset",
    27: "Landlock rule for a path",
    28: "Landlock rule for a port",
    29: "Landlock",
    30: "no new privileges",
    31: "dropped capabilities",
    32: "system call filter",
    33: "control group",
    34: "working directory",
    35: "identification",
    36: "service",
}

_WORDS_2 = Struct("<II")
_WORDS_4 = Struct("<IIII")
_IDENTITY = Struct("<QQ")
_TREE = Struct("<IIQQ")
_ATTACH = Struct("<IIIIQQ")
_RULESET = Struct("<QQQ")
_RULE = Struct("<Q")
_PORT = Struct("<QQ")
_INSTRUCTION = 8  # the size of a struct sock_filter


def _text(op: int, name: str, fixed: bytes = b"") -> Parts:
    return wire.path(op, os.fsencode(name), NAMES[op], fixed)


def _texts(op: int, *names: str, fixed: bytes = b"") -> Parts:
    return wire.strings(op, [os.fsencode(name) for name in names], f"{NAMES[op]}: string", fixed)


def _slot(op: int, slot: int) -> int:
    if 0 <= slot < MOUNT_SLOTS:
        return slot
    raise BadRequest(f"{NAMES[op]}: slot {slot}; there are {MOUNT_SLOTS}, from 0 on")


def _tree(step: confine.MountTree) -> Parts:
    identity = step.identity
    words = (_slot(20, step.slot), step.recursive, identity.device, identity.inode)
    return _text(20, step.path, _TREE.pack(*words))


def _attach(step: confine.MountAttach) -> Parts:
    words = (_slot(21, step.slot), step.attributes, step.keep, 0)
    fixed = _ATTACH.pack(*words, step.identity.device, step.identity.inode)
    return _text(21, step.path, fixed)


def _filter(step: confine.Seccomp) -> Parts:
    count, rest = divmod(len(step.program), _INSTRUCTION)
    if rest or not 1 <= count <= MAX_FILTER_INSTRUCTIONS:
        raise BadRequest(
            f"{NAMES[32]}: {len(step.program)} bytes; "
            f"must be 1 to {MAX_FILTER_INSTRUCTIONS} instructions of {_INSTRUCTION}"
        )
    return wire.raw(32, _WORDS_2.pack(step.listener, 0) + step.program)


_BARE = {op: wire.bare(op) for op in (18, 19, 23, 29, 30, 31, 35)}
ENCODERS: dict[type, Callable[[Any], Parts]] = {
    confine.UserNamespace: lambda step: _texts(16, step.uid_map, step.gid_map),
    confine.Unshare: lambda step: wire.one_word(17, step.namespaces),
    confine.Init: lambda _: _BARE[18],
    confine.Loopback: lambda _: _BARE[19],
    confine.MountTree: _tree,
    confine.MountAttach: _attach,
    confine.MountAttributes: lambda step: _text(
        22, step.path, _WORDS_2.pack(step.attributes, step.recursive)
    ),
    confine.MountPrivate: lambda _: _BARE[23],
    confine.MountNew: lambda step: _texts(
        24, step.kind, step.path, step.options, fixed=_WORDS_2.pack(step.flags, 0)
    ),
    confine.MakeNode: lambda step: _texts(
        25, step.path, step.target, fixed=_WORDS_2.pack(step.node, step.mode)
    ),
    confine.Landlock: lambda step: wire.raw(
        26, _RULESET.pack(step.files, step.network, step.scopes)
    ),
    confine.LandlockPath: lambda step: _text(27, step.path, _RULE.pack(step.rights)),
    confine.LandlockPort: lambda step: wire.raw(28, _PORT.pack(step.rights, step.port)),
    confine.LandlockApply: lambda _: _BARE[29],
    confine.NoNewPrivileges: lambda _: _BARE[30],
    confine.DropCapabilities: lambda _: _BARE[31],
    confine.Seccomp: _filter,
    confine.JoinGroup: lambda step: _text(33, step.path),
    confine.CheckedDirectory: lambda step: _text(
        34, step.path, _IDENTITY.pack(step.identity.device, step.identity.inode)
    ),
    confine.Identify: lambda _: _BARE[35],
    confine.Serve: lambda step: _text(36, step.terminals),
}


def _nothing(step: ConfineStep) -> Callable[[bytes], ConfineStep]:
    def decode(payload: bytes) -> ConfineStep:
        if payload:
            raise ValueError("has a payload")
        return step

    return decode


def _parted(fixed: Struct, payload: bytes, strings: int) -> tuple[tuple[int, ...], list[str]]:
    """The numbers at the beginning, and so many strings behind them."""
    found = wire.strings_of(payload[fixed.size :])
    if len(found) != strings:
        raise ValueError(f"{len(found)} strings")
    return fixed.unpack_from(payload), [os.fsdecode(one) for one in found]


def _zero(word: int) -> None:
    if word:
        raise ValueError("a reserved word is in use")


def _user_namespace_of(payload: bytes) -> ConfineStep:
    _, (uid_map, gid_map) = _parted(Struct(""), payload, 2)
    return confine.UserNamespace(uid_map, gid_map)


def _tree_of(payload: bytes) -> ConfineStep:
    (slot, recursive, device, inode), (path,) = _parted(_TREE, payload, 1)
    return confine.MountTree(slot, path, Identity(device, inode), bool(recursive))


def _attach_of(payload: bytes) -> ConfineStep:
    (slot, added, keep, zero, device, inode), (path,) = _parted(_ATTACH, payload, 1)
    _zero(zero)
    attributes = confine.Attribute(added)
    return confine.MountAttach(slot, path, Identity(device, inode), attributes, bool(keep))


def _attributes_of(payload: bytes) -> ConfineStep:
    (added, recursive), (path,) = _parted(_WORDS_2, payload, 1)
    return confine.MountAttributes(path, confine.Attribute(added), bool(recursive))


def _new_of(payload: bytes) -> ConfineStep:
    (flags, zero), (kind, path, options) = _parted(_WORDS_2, payload, 3)
    _zero(zero)
    return confine.MountNew(kind, path, options, confine.MountFlag(flags))


def _node_of(payload: bytes) -> ConfineStep:
    (node, mode), (path, target) = _parted(_WORDS_2, payload, 2)
    return confine.MakeNode(confine.Node(node), path, mode, target)


def _path_rule_of(payload: bytes) -> ConfineStep:
    (rights,), (path,) = _parted(_RULE, payload, 1)
    return confine.LandlockPath(rights, path)


def _filter_of(payload: bytes) -> ConfineStep:
    listener, zero = _WORDS_2.unpack_from(payload)
    _zero(zero)
    return confine.Seccomp(payload[_WORDS_2.size :], bool(listener))


def _directory_of(payload: bytes) -> ConfineStep:
    (device, inode), (path,) = _parted(_IDENTITY, payload, 1)
    return confine.CheckedDirectory(path, Identity(device, inode))


DECODERS: dict[int, Callable[[bytes], ConfineStep]] = {
    16: _user_namespace_of,
    17: lambda payload: confine.Unshare(confine.Namespace(wire.word_of(payload))),
    18: _nothing(confine.Init()),
    19: _nothing(confine.Loopback()),
    20: _tree_of,
    21: _attach_of,
    22: _attributes_of,
    23: _nothing(confine.MountPrivate()),
    24: _new_of,
    25: _node_of,
    26: lambda payload: confine.Landlock(*_RULESET.unpack(payload)),
    27: _path_rule_of,
    28: lambda payload: confine.LandlockPort(*_PORT.unpack(payload)),
    29: _nothing(confine.LandlockApply()),
    30: _nothing(confine.NoNewPrivileges()),
    31: _nothing(confine.DropCapabilities()),
    32: _filter_of,
    33: lambda payload: confine.JoinGroup(os.fsdecode(wire.path_of(payload))),
    34: _directory_of,
    35: _nothing(confine.Identify()),
    36: lambda payload: confine.Serve(os.fsdecode(wire.path_of(payload))),
}
