"""One command for a live shell, and what came of it."""

from __future__ import annotations

from fairlead.model.frozen import dataclass
from fairlead.model.params import ExecParams


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One command for a live shell."""

    command: str
    timeout: float
    open_stdin: bool
    request: ExecParams  # how to start a shell of our own, should it take one


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOutput:
    """What one command in a live shell came to."""

    start: int  # its output is this range of the session's log
    end: int
    code: int
    cwd: str | None
    wall_time: float
    translated: bool = False  # the terminal made CR LF of every line end
    timed_out: bool = False
    killed_by: str | None = None  # somebody ended the session meanwhile
    descendants_alive: bool = False  # processes that this command started live on
    survivors: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
