"""Which of the machine's own places are here: looked at once, for they do not come and go."""

from __future__ import annotations

import os
from functools import cache

from fairlead.model.frozen import dataclass

_PROC_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "mtrr")
_PROC_MASKED = (
    *("kcore", "keys", "kmsg", "kallsyms", "kpagecount", "kpageflags", "kpagecgroup"),
    *("timer_list", "timer_stats", "sched_debug", "latency_stats", "scsi", "vmallocinfo"),
    *("slabinfo", "pagetypeinfo", "interrupts.d"),
)
_SYS_MASKED = (
    *("/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security"),
    *(
        "/sys/fs/bpf",
        "/sys/fs/fuse/connections",
        "/sys/hypervisor",
        "/sys/devices/virtual/powercap",
    ),
)
# What programs need of /run; everything else in it is a door to some daemon. So is a socket right
# beside the resolver's files: who may not use the network could still ask it for names.
_RUN_KEPT = (
    *("/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf"),
    *("/run/resolvconf/resolv.conf", "/run/NetworkManager/resolv.conf"),
    *("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/wrappers"),
)
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Places of this machine that every sandbox has to deal with."""

    proc_read_only: tuple[str, ...]
    proc_masked: tuple[tuple[str, bool], ...]  # with whether it is a directory
    sys_masked: tuple[str, ...]
    run: bool
    run_kept: tuple[tuple[str, bool], ...]
    devices: tuple[str, ...]
    run_links: tuple[tuple[str, str], ...] = ()  # symbolic links, with what they say


@cache
def system() -> System:
    """What is here."""
    return System(
        proc_read_only=tuple(name for name in _PROC_READ_ONLY if os.path.exists(f"/proc/{name}")),
        proc_masked=_kinds(f"/proc/{name}" for name in _PROC_MASKED),
        sys_masked=tuple(path for path in _SYS_MASKED if os.path.isdir(path)),
        run=os.path.isdir("/run") and not os.path.islink("/run"),
        run_kept=_kinds(path for path in _RUN_KEPT if not os.path.islink(path)),
        run_links=tuple((path, os.readlink(path)) for path in _RUN_KEPT if os.path.islink(path)),
        devices=tuple(name for name in _DEVICES if os.path.exists(f"/dev/{name}")),
    )


def _kinds(paths: object) -> tuple[tuple[str, bool], ...]:
    return tuple((path, os.path.isdir(path)) for path in paths if os.path.exists(path))  # type: ignore[attr-defined]
