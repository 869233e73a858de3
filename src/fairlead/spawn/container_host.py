"""What this machine has to make containers with: an engine's program, and the image.

Both are looked up and nothing is fetched: what runs is what the operator has put there.
"""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

from fairlead.model.container import ContainerEngine, ContainerHost, ContainerSettings
from fairlead.model.errors import Rejected, SandboxFailed
from fairlead.spawn import installed
from fairlead.spawn.container_engine import ask

_BY_PREFERENCE = (ContainerEngine.PODMAN, ContainerEngine.DOCKER)
_UNKNOWN = ("image not known", "no such image", "no such object")
_MOST_OPEN_FILES = 1 << 20
_VERSION_2 = Path("/sys/fs/cgroup/cgroup.controllers")
_NOT_RUN = "The command was not run"


def find(settings: ContainerSettings) -> ContainerHost:
    """The engine and the image by its id, or `Rejected` with the remedy."""
    engine, program = _engine(settings.engine)
    image = _image(program, settings.image)
    return ContainerHost(
        engine=engine,
        program=program,
        image=image["Id"],
        variables=_variables(image),
        uid=os.geteuid(),
        gid=os.getegid(),
        open_files=_most_open_files(),
        processes=_most_processes(),
        groups=_can_limit(),
        runtime=_runtime(engine),
    )


def _engine(wanted: ContainerEngine) -> tuple[ContainerEngine, str]:
    wished = _BY_PREFERENCE if wanted is ContainerEngine.AUTO else (wanted,)
    for engine in wished:
        program = installed.program(str(engine))
        if program is not None:
            return engine, program
    names = " or ".join(wished)
    raise Rejected(
        f"no container can be made: {names} is not installed on this machine. {_NOT_RUN}. "
        "Install it (Debian: apt-get install podman runc), or leave out --backend container"
    )


def _image(program: str, name: str) -> dict[str, Any]:
    """What the engine knows of the image."""
    try:
        text = ask((program, "image", "inspect", name))
    except SandboxFailed as error:
        raise _no_image(program, name, str(error)) from None
    try:
        (found,) = json.loads(text)
        if not found["Id"]:
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise _does_not_work(program, "what it says of an image can't be understood") from None
    assert isinstance(found, dict)
    return found


def _no_image(program: str, name: str, why: str) -> Rejected:
    if any(words in why.lower() for words in _UNKNOWN):
        by_name = os.path.basename(program)
        return Rejected(
            f"the image {name} is not on this machine, and images are never fetched. {_NOT_RUN}. "
            f"Get it first (`{by_name} pull {name}`, or `{by_name} import FILE.tar {name}`)"
        )
    return _does_not_work(program, why)


def _does_not_work(program: str, why: str) -> Rejected:
    return Rejected(
        f"{program} does not work here: {why.rstrip('.?')}. {_NOT_RUN}. "
        f"`{os.path.basename(program)} info`, as the same user, says more"
    )


def _variables(image: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The environment that its programs expect."""
    config = image.get("Config")
    lines = config.get("Env") if isinstance(config, dict) else None
    pairs = (line.partition("=") for line in lines or () if isinstance(line, str))
    return tuple((name, value) for name, equals, value in pairs if name and equals)


def _most_open_files() -> int:
    """Without its privileges root can't go above its own limit either."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN_FILES)


def _can_limit() -> bool:
    """In version 1 of control groups an ordinary user has none to give: podman says so in a
    warning, and goes on without."""
    return os.geteuid() == 0 or _VERSION_2.exists()


def _runtime(engine: ContainerEngine) -> str:
    """crun, which podman prefers, does not start where both versions of control groups are in
    use; runc does."""
    both = engine is ContainerEngine.PODMAN and not _VERSION_2.exists()
    return "runc" if both and installed.program("runc") is not None else ""


def _most_processes() -> int:
    """podman lowers its own limit to the highest pid there can be, and who lacks CAP_SYS_RESOURCE
    can't give a container more than itself has."""
    pids = int(Path("/proc/sys/kernel/pid_max").read_text())
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    return pids if hard == resource.RLIM_INFINITY else min(hard, pids)
