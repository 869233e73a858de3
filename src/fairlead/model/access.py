"""What may be touched: the words of sandbox and approval policies."""

from __future__ import annotations

from enum import StrEnum

from fairlead.model.confine import Identity
from fairlead.model.frozen import dataclass


class SandboxPolicy(StrEnum):
    """How far a command may reach."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    DANGER_FULL_ACCESS = "danger-full-access"
    EXTERNAL = "external-sandbox"


class ApprovalPolicy(StrEnum):
    """When a person is asked."""

    NEVER = "never"
    UNLESS_TRUSTED = "unless-trusted"
    ON_FAILURE = "on-failure"
    ON_REQUEST = "on-request"
    GRANULAR = "granular"


class SandboxType(StrEnum):
    """The mechanism that confines a command."""

    NONE = "none"
    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    BUBBLEWRAP = "bubblewrap"
    CONTAINER = "container"
    SEATBELT = "seatbelt"
    WINDOWS_TOKEN = "windows-token"


class Network(StrEnum):
    """What a command may reach. OFF still has a loopback of its own: a server and its clients
    work, as long as the same agent started both."""

    OFF = "off"
    FULL = "full"


class PathMode(StrEnum):
    """What may be done at and below a path."""

    READ = "ro"
    WRITE = "rw"
    HIDE = "mask"


@dataclass(frozen=True, slots=True)
class PathRule:
    """One path and what may be done there. Deeper rules win over shallower ones."""

    path: str  # absolute, without symbolic links
    mode: PathMode
    identity: Identity
    directory: bool
    because: str  # "workspace", "protected", "secret" …: for explain and for denials
    link: bool = False  # it is a symbolic link, which may not be replaced: all else is without any


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a command may use up; None where nothing but the machine limits it."""

    memory: int | None = None  # bytes, of all commands of an agent together
    processes: int | None = None  # of all commands of an agent together
    cpu_seconds: int | None = None  # of one process
    file_bytes: int | None = None  # of one file
    open_files: int | None = None  # of one process


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a command may touch, resolved against this machine. Everything that no rule names is
    readable and not writable.

    `rules` are sorted, parents before children. `absent` are protected paths that do not exist:
    nothing can stand on them, so they are watched. `repositories` are those that the rules know,
    each `.git` with where it leads: another one is new.
    """

    rules: tuple[PathRule, ...] = ()
    absent: tuple[str, ...] = ()
    repositories: tuple[tuple[str, str], ...] = ()
    network: Network = Network.OFF
    private_tmp: bool = False
    devices: tuple[str, ...] = ()  # paths in /dev beyond the harmless ones
    limits: Limits = Limits()
    git_commit: bool = False

    @property
    def writable(self) -> tuple[str, ...]:
        return tuple(rule.path for rule in self.rules if rule.mode is PathMode.WRITE)

    def rule_for(self, path: str) -> PathRule | None:
        """The deepest rule at or above an absolute path without links; None: readable only."""
        found = None
        for rule in self.rules:
            if path == rule.path or path.startswith(rule.path.rstrip("/") + "/"):
                found = rule
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Something that was not allowed, as evidence: what, of which path, host or system call, and
    which mechanism said so. A guess from words and an exit code says that it is one."""

    what: str  # "write", "read", "connect", "system call", "create", "guess"
    by: str
    path: str | None = None
    host: str | None = None
    syscall: str | None = None

    @property
    def facts(self) -> dict[str, str]:
        """As a result reports it: absent facts are absent keys."""
        given = (("path", self.path), ("host", self.host), ("syscall", self.syscall))
        return {"what": self.what, **{k: v for k, v in given if v is not None}, "by": self.by}


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReport:
    """Under what a command ran, and what that could not enforce. Travels with the result."""

    type: SandboxType
    tier: str
    missing: tuple[str, ...] = ()


PRESETS: dict[str, tuple[SandboxPolicy, ApprovalPolicy]] = {
    "read-only": (SandboxPolicy.READ_ONLY, ApprovalPolicy.ON_REQUEST),
    "auto": (SandboxPolicy.WORKSPACE_WRITE, ApprovalPolicy.ON_REQUEST),
    "strict": (SandboxPolicy.WORKSPACE_WRITE, ApprovalPolicy.UNLESS_TRUSTED),
    "full-access": (SandboxPolicy.DANGER_FULL_ACCESS, ApprovalPolicy.NEVER),
}
