"""What came of it: how a process ended, and what a call hands back."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from fairlead.model.access import Denial
from fairlead.model.frozen import dataclass, field

TIMEOUT_EXIT_CODE = 124


class Status(StrEnum):
    """The state of a call's outcome, as every tool reports it."""

    COMPLETED = "completed"
    FAILED = "failed"
    RUNNING = "running"
    DENIED = "denied"
    REJECTED = "rejected"
    APPROVAL_PENDING = "approval-pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a process ended: the same facts for pipe, PTY, container and node.

    `code` is what a shell would say: 128 + N for signal N, 124 after a timeout.
    """

    code: int
    signal: int | None = None
    timed_out: bool = False
    killed_by: str | None = None  # who ended it and why, where it was one of us
    oom: bool = False
    descendants_alive: bool = False
    survivors: tuple[int, ...] = ()  # who could not be ended, as the command knew them


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOutput:
    """A stretch of output as bytes: its first and last part and what fell out between them."""

    head: bytes = b""
    tail: bytes = b""
    omitted: int = 0

    @property
    def kept(self) -> bytes:
        return self.head + self.tail

    @property
    def total(self) -> int:
        return len(self.head) + self.omitted + len(self.tail)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecOutput:
    """What one call learned of a process: its new output, and its ending if it has ended."""

    session_id: int
    chunk_id: str
    output: StreamOutput
    wall_time: float
    ending: Ending | None  # None: still running
    output_held_open: bool = False  # ended, but a descendant keeps the output open
    waiting_for_input: bool = False
    warnings: tuple[str, ...] = ()
    denials: tuple[Denial, ...] = ()  # what mechanisms denied since the last time
    facts: dict[str, Any] = field(default_factory=dict)  # sandbox, approval, denials

    @property
    def status(self) -> Status:
        if self.ending is None:
            return Status.RUNNING
        failed = self.ending.code != 0 or self.ending.timed_out
        return Status.FAILED if failed else Status.COMPLETED
