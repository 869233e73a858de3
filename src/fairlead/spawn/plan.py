"""The launcher's language: plans to it, reports from it, commands to its guard. Pure.

`native/plan.h` and `native/report.h` are the other end. A plan is `FLP1`, its whole length, then
steps (`wire.py`). Everything little endian. The steps that confine are in `confine_plan.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any

from fairlead.model.confine import ConfineStep
from fairlead.model.errors import BadRequest, Bug
from fairlead.model.frozen import dataclass
from fairlead.spawn import confine_plan, wire
from fairlead.spawn.wire import Parts

MAX_PLAN_BYTES = 8 * 1024 * 1024
MAX_DESCRIPTORS = 256
PASSED = 0x8000_0000  # with this bit a number is the place of a descriptor sent with the plan


@dataclass(frozen=True, slots=True)
class Guard:
    """The launcher stays as the command's parent and keeper; later steps run in its child.

    A group of its own is enough to outlive a signal to the engine's group, and cheaper: a new
    session also gets the scheduler to set up a group of its own (autogroup).
    """

    own_session: bool
    own_group: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """A session of its own."""


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A process group of its own."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Exactly these descriptors, as (the launcher's number, the command's number)."""

    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ControllingTty:
    """This descriptor, numbered as the command sees it, becomes the controlling terminal."""

    fd: int


@dataclass(frozen=True, slots=True)
class ParentDeathSignal:
    """A signal when the parent dies: process `parent`, or the guard if that is 0."""

    signal: int
    parent: int = 0


@dataclass(frozen=True, slots=True)
class Limit:
    """One resource limit."""

    resource: int
    soft: int
    hard: int


@dataclass(frozen=True, slots=True)
class ResetSignals:
    """Every signal does what it does by default, and none is blocked."""


@dataclass(frozen=True, slots=True)
class WorkingDirectory:
    """The working directory, by path."""

    path: bytes


@dataclass(frozen=True, slots=True)
class WorkingDirectoryFd:
    """The working directory, by the launcher's descriptor."""

    fd: int


@dataclass(frozen=True, slots=True)
class Umask:
    """The file mode creation mask."""

    mode: int


@dataclass(frozen=True, slots=True)
class Argv:
    """The arguments, the program's name first."""

    items: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment, as NAME=value."""

    items: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Exec:
    """Become this program: a path, or a name to be found on the environment's PATH."""

    path: bytes


@dataclass(frozen=True, slots=True)
class ExecFd:
    """Become the program behind the launcher's descriptor. Not for scripts: it is closed then."""

    fd: int


Step = (
    Guard
    | Session
    | ProcessGroup
    | Descriptors
    | ControllingTty
    | ParentDeathSignal
    | Limit
    | ResetSignals
    | WorkingDirectory
    | WorkingDirectoryFd
    | Umask
    | Argv
    | Environment
    | Exec
    | ExecFd
    | ConfineStep
)

STEP_NAMES: dict[int, str] = {
    0: "plan",
    1: "guard",
    2: "session",
    3: "process group",
    4: "descriptors",
    5: "controlling terminal",
    6: "parent death signal",
    7: "resource limit",
    8: "signals",
    9: "working directory",
    10: "working directory",
    11: "umask",
    12: "arguments",
    13: "environment",
    14: "executable",
    15: "executable",
    **confine_plan.NAMES,
}
EXEC_OPS = frozenset({14, 15})
PLACE_OP, SERVE_OP = 34, 36


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing ran: step number `step`, which is an `op`, met this errno."""

    step: int
    op: int
    errno: int


@dataclass(frozen=True, slots=True)
class Started:
    """The command runs."""

    pid: int


@dataclass(frozen=True, slots=True)
class Exited:
    """The command ended with this wait status; others of its tree may live on."""

    status: int
    others_alive: bool


@dataclass(frozen=True, slots=True)
class Gone:
    """No descendant is left, and neither is the guard."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The launcher serves. If it was told of terminals, their directory came with this."""


@dataclass(frozen=True, slots=True)
class Listener:
    """The descriptor that came with this answers what the system call filter asks about."""


@dataclass(frozen=True, slots=True)
class Command:
    """Its sender is the command. The kernel says who that is, if the receiver asked for it."""


Report = Failed | Started | Exited | Gone | Ready | Listener | Command

_HEADER = Struct("<4sI")
_PAIR = Struct("<II")
_LIMIT = Struct("<IIQQ")
_REPORT = Struct("<Iiii")
_COMMAND = Struct("<Ii")
_MAGIC = b"FLP1"

_KILL_TREE = _COMMAND.pack(2, 0)
_REQUEST_GUARD = _COMMAND.pack(1, 0)


def encode(steps: Sequence[Step]) -> bytes:
    """A plan as the launcher reads it. Raises `BadRequest` for values that no process can have."""
    parts = [b""]
    for step in steps:
        parts += _ENCODERS[type(step)](step)
    length = _HEADER.size + sum(map(len, parts))
    if length > MAX_PLAN_BYTES:
        raise BadRequest(f"arguments and environment are too long: {length} bytes")
    parts[0] = _HEADER.pack(_MAGIC, length)
    return b"".join(parts)


def decode(plan: bytes) -> tuple[Step, ...]:
    """The steps of a plan that `encode` made. Raises `ValueError` for anything else."""
    if len(plan) < _HEADER.size or _HEADER.unpack_from(plan) != (_MAGIC, len(plan)):
        raise ValueError("not a plan")
    return tuple(_decode_step(op, payload) for op, payload in _split(plan))


def parse_reports(buffer: bytearray) -> list[Report]:
    """The reports that have arrived whole. They are taken off the buffer."""
    size = len(buffer) - len(buffer) % _REPORT.size
    reports = [_parse_report(*fields) for fields in _REPORT.iter_unpack(buffer[:size])]
    del buffer[:size]
    return reports


def kill_tree() -> bytes:
    """The command to kill every descendant until none is left."""
    return _KILL_TREE


def signal_tree(signum: int) -> bytes:
    """The command to send a signal to every descendant."""
    return _COMMAND.pack(1, signum)


def request_guard() -> bytes:
    """The request to a serving launcher for a guard. Its socket goes with it, and nothing else."""
    return _REQUEST_GUARD


def _descriptors(step: Descriptors) -> Parts:
    if len(step.pairs) > MAX_DESCRIPTORS:
        raise BadRequest(f"descriptors: at most {MAX_DESCRIPTORS}, not {len(step.pairs)}")
    return wire.HEAD.pack(4, 8 * len(step.pairs)), *(_PAIR.pack(*pair) for pair in step.pairs)


def _argv(step: Argv) -> Parts:
    if not step.items:
        raise BadRequest("arguments: empty; the program's name comes first")
    return wire.strings(12, step.items, "argument")


_BARE = {op: wire.bare(op) for op in (2, 3, 8)}
_ENCODERS: dict[type, Callable[[Any], Parts]] = {
    Guard: lambda step: wire.one_word(1, step.own_session | step.own_group << 1),
    Session: lambda _: _BARE[2],
    ProcessGroup: lambda _: _BARE[3],
    Descriptors: _descriptors,
    ControllingTty: lambda step: wire.one_word(5, step.fd),
    ParentDeathSignal: lambda step: (wire.HEAD.pack(6, 8), _PAIR.pack(step.signal, step.parent)),
    Limit: lambda step: (
        wire.HEAD.pack(7, 24),
        _LIMIT.pack(step.resource, 0, _unsigned(step.soft), _unsigned(step.hard)),
    ),
    ResetSignals: lambda _: _BARE[8],
    WorkingDirectory: lambda step: wire.path(9, step.path, STEP_NAMES[9]),
    WorkingDirectoryFd: lambda step: wire.one_word(10, step.fd),
    Umask: lambda step: wire.one_word(11, step.mode),
    Argv: _argv,
    Environment: lambda step: wire.strings(13, step.items, "environment:"),
    Exec: lambda step: wire.path(14, step.path, STEP_NAMES[14]),
    ExecFd: lambda step: wire.one_word(15, step.fd),
    **confine_plan.ENCODERS,
}


def _unsigned(limit: int) -> int:
    """`resource.RLIM_INFINITY` is -1; to the kernel it is the largest number."""
    return limit & 0xFFFF_FFFF_FFFF_FFFF


def _limit(resource: int, soft: int, hard: int) -> Limit:
    infinity = 0xFFFF_FFFF_FFFF_FFFF
    return Limit(resource, -1 if soft == infinity else soft, -1 if hard == infinity else hard)


def _split(plan: bytes) -> Iterator[tuple[int, bytes]]:
    at = _HEADER.size
    while at < len(plan):
        if at + wire.HEAD.size > len(plan):
            raise ValueError("a step reaches out of the plan")
        op, size = wire.HEAD.unpack_from(plan, at)
        begin = at + wire.HEAD.size
        at = begin + size + len(wire.PADDING[size % 4])
        if at > len(plan) or any(plan[begin + size : at]):
            raise ValueError("a step reaches out of the plan")
        yield op, plan[begin : begin + size]


def _decode_step(op: int, payload: bytes) -> Step:
    decoder = _DECODERS.get(op)
    if decoder is None:
        raise ValueError(f"no such step: {op}")
    try:
        return decoder(payload)
    except Exception as error:
        raise ValueError(f"{STEP_NAMES[op]}: malformed: {error}") from error


def _bare(step: Step, payload: bytes) -> Step:
    if payload:
        raise ValueError("has a payload")
    return step


def _limit_of(payload: bytes) -> Limit:
    resource, _, soft, hard = _LIMIT.unpack(payload)
    return _limit(resource, soft, hard)


_DECODERS: dict[int, Callable[[bytes], Step]] = {
    1: lambda payload: Guard(bool(wire.word_of(payload) & 1), bool(wire.word_of(payload) & 2)),
    2: lambda payload: _bare(Session(), payload),
    3: lambda payload: _bare(ProcessGroup(), payload),
    4: lambda payload: Descriptors(tuple(_PAIR.iter_unpack(payload))),
    5: lambda payload: ControllingTty(wire.word_of(payload)),
    6: lambda payload: ParentDeathSignal(*_PAIR.unpack(payload)),
    7: _limit_of,
    8: lambda payload: _bare(ResetSignals(), payload),
    9: lambda payload: WorkingDirectory(wire.path_of(payload)),
    10: lambda payload: WorkingDirectoryFd(wire.word_of(payload)),
    11: lambda payload: Umask(wire.word_of(payload)),
    12: lambda payload: Argv(wire.strings_of(payload)),
    13: lambda payload: Environment(wire.strings_of(payload)),
    14: lambda payload: Exec(wire.path_of(payload)),
    15: lambda payload: ExecFd(wire.word_of(payload)),
    **confine_plan.DECODERS,
}


def _parse_report(kind: int, a: int, b: int, c: int) -> Report:
    match kind:
        case 1:
            return Failed(a, b, c)
        case 2:
            return Started(a)
        case 3:
            return Exited(a, bool(b))
        case 4:
            return Gone()
        case 5:
            return Ready()
        case 6:
            return Listener()
        case 7:
            return Command()
    raise Bug(f"the launcher sent a report of unknown kind {kind}")
