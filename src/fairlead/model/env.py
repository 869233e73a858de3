"""What will be spawned, word for word."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairlead.model.access import SandboxReport
from fairlead.model.frozen import dataclass
from fairlead.model.params import Size, Stdin


@dataclass(frozen=True, slots=True)
class Rlimit:
    """One resource limit: the number of `resource.RLIMIT_*`, soft and hard."""

    resource: int
    soft: int
    hard: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecEnv:
    """Everything the spawner needs and nothing it may decide.

    `attached` names byte strings that the command finds open for reading under the given
    descriptor numbers (a shell snapshot travels so: never a file, never an argument).
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    sandbox: SandboxReport
    executable: str | None = None  # where it differs from argv[0]
    tty: bool = False
    size: Size = Size()
    plain_tty: bool = False  # no echo, no newline translation: for shells that we drive
    stdin: Stdin = Stdin.NULL
    timeout: float | None = None
    limits: tuple[Rlimit, ...] = ()
    attached: Mapping[int, bytes] | None = None
    warnings: tuple[str, ...] = ()
