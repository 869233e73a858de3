"""What will be spawned, word for word."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairlead.model.access import Access, SandboxReport
from fairlead.model.confine import Confinement
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

    The first `wrapped` words of `argv` are a program that confines the command, which is the rest.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    sandbox: SandboxReport
    confinement: Confinement | None = None  # what stands around it; None: nothing
    access: Access | None = None  # what the confinement allows, to say why something failed
    executable: str | None = None  # where it differs from argv[0]
    wrapped: int = 0
    tty: bool = False
    size: Size = Size()
    plain_tty: bool = False  # no echo, no newline translation: for shells that we drive
    stdin: Stdin = Stdin.NULL
    timeout: float | None = None
    limits: tuple[Rlimit, ...] = ()
    attached: Mapping[int, bytes] | None = None
    warnings: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """What runs in the end, without what confines it."""
        return self.argv[self.wrapped :]
