"""What an engine can be told. Everything has a default."""

from __future__ import annotations

import re
from pathlib import Path

from fairlead.model.access import PRESETS, ApprovalPolicy, Limits, Network, SandboxPolicy
from fairlead.model.container import Backend, ContainerEngine, ContainerSettings
from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass, field
from fairlead.model.limits import Capacity
from fairlead.model.sandbox import SandboxSettings
from fairlead.shells.environment import EnvironmentPolicy

DEFAULT_PRESET = "auto"
_IMAGE = re.compile(r"[A-Za-z0-9][\w./:@-]*", re.ASCII)
_UNASKED = ("auto", "read-only")  # presets under which a contained command runs unasked


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of one engine.

    `sandbox` and `approval` override what the preset says. `cwd` is the workspace: what
    `workspace-write` lets commands write, beside temporary files and `writable_roots`. `shell`
    names the shell that scripts run in where a call names none; the default is the user's own.
    """

    cwd: Path = field(default_factory=Path.cwd)
    preset: str = DEFAULT_PRESET
    sandbox: SandboxPolicy | None = None
    approval: ApprovalPolicy | None = None
    writable_roots: tuple[Path, ...] = ()
    exclude_tmpdir: bool = False
    exclude_slash_tmp: bool = False
    private_tmp: bool = False
    network: Network = Network.OFF
    deny_read: tuple[str, ...] = ()
    allow_read: tuple[str, ...] = ()
    git_commit: bool | None = None  # the default is what the preset says: yes in `auto`
    devices: tuple[str, ...] = ()
    limits: Limits = Limits()
    accept: tuple[str, ...] = ()  # what may be missing where not everything can be enforced
    backend: Backend = Backend.AUTO  # what confines: what this machine does best, or containers
    image: str = ""  # of containers; it has to be on this machine
    engine: ContainerEngine = ContainerEngine.AUTO  # podman if there is one, else docker
    environment: EnvironmentPolicy = EnvironmentPolicy()
    shell: str | None = None
    allow_login: bool = True
    login_seconds: float = 10.0  # how long a login shell's start-up may take to be remembered
    capacity: Capacity = Capacity()
    log_bytes: int = 256 << 20  # of one session's output on disk
    memory_bytes: int = 64 << 20  # of all sessions' output in memory
    log_directory: Path | None = None

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise BadRequest(f"preset: expected one of {', '.join(PRESETS)}, got {self.preset}")
        self._check_container()

    @property
    def sandbox_policy(self) -> SandboxPolicy:
        return self.sandbox or PRESETS[self.preset][0]

    @property
    def approval_policy(self) -> ApprovalPolicy:
        return self.approval or PRESETS[self.preset][1]

    @property
    def auto_allow_sandboxed(self) -> bool:
        """Whether a command that the sandbox will contain runs unasked."""
        return self.preset in _UNASKED

    @property
    def container_settings(self) -> ContainerSettings | None:
        """What containers are made of, or None if commands do not go into any."""
        if self.backend is not Backend.CONTAINER:
            return None
        return ContainerSettings(image=self.image, engine=self.engine)

    def _check_container(self) -> None:
        """Nothing of this is ever taken for less than it says."""
        if self.backend is not Backend.CONTAINER:
            for name, said in (("image", self.image), ("engine", self.engine.value != "auto")):
                if said:
                    raise BadRequest(f"{name}: means nothing without backend container")
            return
        if not _IMAGE.fullmatch(self.image):
            raise BadRequest(
                f"image: backend container needs the name of an image, got {self.image!r}"
            )
        if not self.sandbox_settings.confines:
            raise BadRequest(
                f"backend container confines, and sandbox {self.sandbox_policy} does not"
            )

    @property
    def sandbox_settings(self) -> SandboxSettings:
        """What the sandbox is told."""
        git_commit = self.preset == "auto" if self.git_commit is None else self.git_commit
        return SandboxSettings(
            policy=self.sandbox_policy,
            workspace=self.cwd,
            writable_roots=self.writable_roots,
            exclude_tmpdir=self.exclude_tmpdir,
            exclude_slash_tmp=self.exclude_slash_tmp,
            network=self.network,
            deny_read=self.deny_read,
            allow_read=self.allow_read,
            git_commit=git_commit,
            private_tmp=self.private_tmp,
            devices=self.devices,
            limits=self.limits,
            accept=self.accept,
        )
