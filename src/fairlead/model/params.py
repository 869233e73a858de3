"""What was asked: one request, parsed and typed, before anybody judged it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from fairlead.model.frozen import dataclass, field


class Stdin(StrEnum):
    """What a command without a terminal reads from. NULL, so that nothing hangs on a read."""

    NULL = "null"
    OPEN = "open"


class SandboxPermissions(StrEnum):
    """Whether this one call asks for more than the sandbox allows, or to run outside of it."""

    USE_DEFAULT = "use_default"
    WITH_ADDITIONAL = "with_additional_permissions"
    REQUIRE_ESCALATED = "require_escalated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraPermissions:
    """What one call asks for on top of the sandbox policy. Paths are absolute."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool = False

    @property
    def any(self) -> bool:
        return bool(self.read or self.write or self.network)

    @property
    def shown(self) -> str:
        """As a person would read it."""
        named = [f"to read {path}" for path in self.read]
        named += [f"to write below {path}" for path in self.write]
        return ", ".join([*named, *(["the network"] if self.network else [])])


class ShellKind(StrEnum):
    """The shells whose argv we know how to derive."""

    BASH = "bash"
    ZSH = "zsh"
    SH = "sh"
    FISH = "fish"
    POWERSHELL = "powershell"
    CMD = "cmd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """A shell that exists on this machine."""

    kind: ShellKind
    path: str


@dataclass(frozen=True, slots=True)
class Size:
    """Rows and columns of a terminal."""

    rows: int = 24
    cols: int = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecParams:
    """One request to run something: what the agent said, resolved but not judged."""

    call_id: str
    tool: str
    argv: tuple[str, ...]
    cwd: Path
    agent: str = "default"
    script: str | None = None  # the shell text, when argv was derived from one
    shell: Shell | None = None
    login: bool = False
    env: Mapping[str, str] = field(default_factory=dict)  # overrides that the call asked for
    tty: bool = False
    size: Size = Size()
    plain_tty: bool = False  # no echo, no newline translation: for shells that we drive
    screen: bool = False  # somebody looks at the terminal as a terminal: it may use its abilities
    stdin: Stdin = Stdin.NULL
    timeout: float | None = None  # seconds the *process* may live
    sandbox_permissions: SandboxPermissions = SandboxPermissions.USE_DEFAULT
    extra: ExtraPermissions | None = None
    justification: str | None = None
    prefix_rule: tuple[str, ...] | None = None
    session_id: int | None = None  # the number that the call wants for its session
    files: tuple[Path, ...] = ()  # of a patch: what it would touch; an approval is for these

    @property
    def shown(self) -> str:
        """The command as a person would read it."""
        if self.script is not None:
            return self.script
        from shlex import join

        return join(self.argv)
