"""What an operator says about containers, and what a machine has to make them with."""

from __future__ import annotations

from enum import StrEnum

from fairlead.model.frozen import dataclass


class Backend(StrEnum):
    """What confines commands: whatever this machine does best, or containers."""

    AUTO = "auto"
    CONTAINER = "container"


class ContainerEngine(StrEnum):
    """The program that makes containers."""

    AUTO = "auto"
    PODMAN = "podman"
    DOCKER = "docker"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """The operator's words. The image has to be on this machine: it is never fetched."""

    image: str = ""
    engine: ContainerEngine = ContainerEngine.AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerHost:
    """What was found: the engine's program, the image by its id, and what the image's programs
    expect in their environment. `open_files` and `processes` are the most that we may ask for.
    Without `groups` the engine can't limit what the processes of a container use together.
    `runtime` is the engine's own choice if it is empty."""

    engine: ContainerEngine
    program: str
    image: str
    variables: tuple[tuple[str, str], ...] = ()
    uid: int = 0
    gid: int = 0
    open_files: int = 1024
    processes: int | None = None  # None: no limit
    groups: bool = True
    runtime: str = ""
