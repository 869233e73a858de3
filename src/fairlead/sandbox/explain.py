"""A plan in words that a person can check, one line for each thing; and the same as data."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.model.access import Access, Limits, Network, SandboxType
from fairlead.model.confine import Loopback
from fairlead.model.shown import escaped
from fairlead.sandbox.confiner import Confined
from fairlead.sandbox.system import System, system

_MOUNTED = (SandboxType.NAMESPACES, SandboxType.BUBBLEWRAP)  # tiers that see other mounts than we
_OWN = "pts shm mqueue"


def lines(confined: Confined) -> list[str]:
    """The plan, as `fairlead sandbox --explain` prints it."""
    report, access = confined.report, confined.access
    mounted = report.type in _MOUNTED
    return [
        f"tier {report.tier}"
        + (f", without {', '.join(report.missing)}" if report.missing else ""),
        *_ground(confined),
        *_paths(access),
        *(_mounts(access, system(), proc="pid-namespace" not in report.missing) if mounted else ()),
        _network(access.network, own=_has_own_network(confined)),
        "privileges none (no capability, no set-uid, system calls filtered)",
        *(f"limit {name} {value}" for name, value in _limits(access.limits).items()),
    ]


def _has_own_network(confined: Confined) -> bool:
    """Else it is only the filter that keeps commands away from the one of the machine."""
    confinement, wrapper = confined.confinement, confined.wrapper
    if confinement is not None:
        return confinement.container is not None or Loopback() in confinement.setup
    return wrapper is not None and "--unshare-net" in wrapper.argv


def _ground(confined: Confined) -> list[str]:
    """What there is where no line below says something else."""
    container = confined.confinement.container if confined.confinement is not None else None
    if container is None:
        return ["ro /"]
    return [f"image {container.image} (read-only)", "rw /tmp /var/tmp ~ (the container's own)"]


def _paths(access: Access) -> list[str]:
    """What may be read and written where: what stands further down wins.
    Commands chose some of the names."""
    return [
        *(f"{rule.mode} {escaped(rule.path)} ({rule.because})" for rule in access.rules),
        *(["rw /tmp (private)"] if access.private_tmp else []),
        *(f"watch {escaped(path)} (moved aside if it appears)" for path in access.absent),
    ]


def facts(confined: Confined) -> dict[str, object]:
    """The plan, as `fairlead sandbox --explain --json` prints it."""
    report, access = confined.report, confined.access
    return {
        "type": str(report.type),
        "tier": report.tier,
        "missing": list(report.missing),
        "rules": [
            {"path": rule.path, "mode": str(rule.mode), "because": rule.because}
            for rule in access.rules
        ],
        "watched": list(access.absent),
        "private_tmp": access.private_tmp,
        "network": str(access.network),
        "devices": list(access.devices),
        "limits": _limits(access.limits),
    }


def _mounts(access: Access, system: System, *, proc: bool) -> Iterator[str]:
    """What is there instead of the host's."""
    own = (*system.devices, *_OWN.split(), *(path[5:] for path in access.devices))
    yield f"fresh /dev ({' '.join(own)})"
    if proc:
        yield "fresh /proc (of the processes inside; nothing of the kernel's can be changed)"
    if system.run:
        kept = " ".join(path for path, _ in system.run_kept) or "empty"
        yield f"fresh /run ({kept})"
    for path in system.sys_masked:
        yield f"mask {path} (the kernel's own)"


def _network(network: Network, *, own: bool) -> str:
    if network is Network.FULL:
        return "net full"
    return f"net none ({'a loopback of its own' if own else 'no loopback either'})"


def _limits(limits: Limits) -> dict[str, int]:
    named = {
        "memory": limits.memory,
        "processes": limits.processes,
        "cpu_seconds": limits.cpu_seconds,
        "file_bytes": limits.file_bytes,
        "open_files": limits.open_files,
    }
    return {name: value for name, value in named.items() if value is not None}
