"""What a watcher sees. Exactly one `Started` and one `Ended` per process."""

from __future__ import annotations

from fairlead.model.frozen import dataclass
from fairlead.model.output import Ending

MAX_CHUNK_BYTES = 8192
MAX_CHUNKS_PER_CALL = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A process runs."""

    call_id: str
    session_id: int
    agent: str
    argv: tuple[str, ...]
    cwd: str
    pid: int
    tty: bool
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """It wrote something: at most 8192 bytes, cut on a character boundary."""

    call_id: str
    session_id: int
    offset: int  # of the first byte, in the whole output
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FellBehind:
    """The watcher was too slow: `skipped` bytes are in the log and not in the stream."""

    call_id: str
    session_id: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """Somebody typed into it, or looked at it while it ran (no data)."""

    call_id: str
    session_id: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The process is gone. `unsent` bytes of output went past the cap on chunks."""

    call_id: str
    session_id: int
    ending: Ending
    wall_time: float
    total_bytes: int
    unsent: int = 0


Event = Started | Chunk | FellBehind | Interaction | Ended
