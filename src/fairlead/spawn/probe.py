"""Finding out what this machine lets us do, by doing it: each probe is a small plan that is
carried out for real, since what looks allowed may still fail late."""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import ExitStack

from fairlead.model.confine import (
    Attribute,
    ConfineStep,
    Init,
    Landlock,
    LandlockApply,
    Loopback,
    MountAttributes,
    MountFlag,
    MountNew,
    MountPrivate,
    Namespace,
    NoNewPrivileges,
    Seccomp,
    Unshare,
    UserNamespace,
)
from fairlead.model.frozen import replace
from fairlead.model.sandbox import Host
from fairlead.spawn import cgroup, installed, launcher, plan, probe_bubblewrap
from fairlead.spawn.start import launch_steps
from fairlead.spawn.steps import Wiring

_ALLOW_ALL = b"\x06\0\0\0\0\0\xff\x7f"  # return SECCOMP_RET_ALLOW
_NEWEST_ABI = 7
_SCOPES = 3
_SECONDS = 5.0


def probe(host: Host) -> Host:
    """The same host with every guess replaced by what is so."""
    found = launcher.find()
    if found is None:
        without = replace(host, launcher=False, why=(("launcher", launcher.why_missing()),))
        return probe_bubblewrap.probe(without, installed.bubblewrap())
    return _Probing(os.fspath(found), host).result()


class _Probing:
    def __init__(self, binary: str, host: Host) -> None:
        self._binary = binary
        self._host = host
        self._why: list[tuple[str, str]] = []

    def result(self) -> Host:
        user = self._can("user namespaces", [self._user()])
        head: list[ConfineStep] = [self._user()] if user else []
        read_only: list[ConfineStep] = [MountPrivate(), MountAttributes("/", Attribute.READ_ONLY)]
        mounts = self._can("mounts", [*head, Unshare(Namespace.MOUNT), *read_only])
        if user and not mounts:
            user = False  # it exists, and gives nothing: AppArmor does so
        proc: list[ConfineStep] = [
            MountPrivate(),
            MountNew("proc", "/proc", "", MountFlag.NO_SETUID),
        ]
        pid = Namespace.MOUNT | Namespace.PID
        net: list[ConfineStep] = [*head, Unshare(Namespace.NET | Namespace.MOUNT), Loopback()]
        quiet: list[ConfineStep] = [NoNewPrivileges()]
        return replace(
            self._host,
            launcher=True,
            user_namespaces=user,
            mount_namespaces=mounts,
            new_proc=mounts
            and self._can("a /proc of its own", [*head, Unshare(pid), Init(), *proc]),
            net_namespaces=mounts and self._can("network namespaces", net),
            seccomp=self._can("seccomp", [*quiet, Seccomp(_ALLOW_ALL)]),
            notify=self._can("system call notifications", [*quiet, Seccomp(_ALLOW_ALL, True)]),
            landlock_abi=self._landlock_abi(),
            groups=self._groups(),
            why=tuple(self._why),
        )

    def _groups(self) -> bool:
        reason = cgroup.why_not()
        if reason is not None:
            self._why.append(("control groups", reason))
        return reason is None

    def _user(self) -> UserNamespace:
        host = self._host
        return UserNamespace(f"{host.uid} {host.uid} 1", f"{host.gid} {host.gid} 1")

    def _landlock_abi(self) -> int:
        """The newest whose own right is accepted: the ABI number itself can't be asked for."""
        for abi, ruleset in (
            (6, Landlock(scopes=_SCOPES)),
            (5, Landlock(files=1 << 15)),
            (4, Landlock(network=3)),
            (3, Landlock(files=1 << 14)),
            (2, Landlock(files=1 << 13)),
            (1, Landlock(files=1)),
        ):
            if self._try([NoNewPrivileges(), ruleset, LandlockApply()]) is None:
                return max(abi, self._host.landlock_abi) if abi == 6 else abi
        self._why.append(("Landlock", "the kernel has none, or it is not switched on (lsm=)"))
        return 0

    def _can(self, what: str, steps: Sequence[ConfineStep]) -> bool:
        failed = self._try(steps)
        if failed is not None:
            self._why.append((what, _words(failed)))
        return failed is None

    def _try(self, steps: Sequence[ConfineStep]) -> plan.Failed | None:
        """Carry it out, and then our own launcher's --version, which says that it ran."""
        tail = (plan.Argv((b"fairlead-launcher", b"--version")), plan.Exec(self._binary.encode()))
        with ExitStack() as always, open(os.devnull, "r+b") as null:
            root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            always.callback(os.close, root)
            wiring = Wiring(
                stdin=null.fileno(), stdout=null.fileno(), stderr=null.fileno(), directory=root
            )
            streams = plan.Descriptors(wiring.pairs)
            launched = launch_steps(self._binary, [*steps, streams, *tail], wiring, always)
            return _outcome(launched.control.socket, launched.guard)


def _outcome(control: socket.socket, pid: int) -> plan.Failed | None:
    """What failed, if anything did. Who neither says so nor comes to a good end has failed too."""
    reports = bytearray()
    control.settimeout(_SECONDS)
    silent = plan.Failed(0, 0, errno.EIO)
    try:
        while data := control.recv(4096):
            reports += data
    except TimeoutError:
        silent = plan.Failed(0, 0, errno.ETIMEDOUT)
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
    finally:
        control.close()
    status = os.waitpid(pid, 0)[1]
    said = (one for one in plan.parse_reports(reports) if isinstance(one, plan.Failed))
    return next(said, silent if status else None)


def _words(failed: plan.Failed) -> str:
    text = f"{plan.STEP_NAMES.get(failed.op, 'a step')}: {os.strerror(failed.errno)}"
    if _apparmor_restricts():
        text += " (AppArmor: kernel.apparmor_restrict_unprivileged_userns=1)"
    return text


def _apparmor_restricts() -> bool:
    try:
        with open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") as file:
            return file.read().strip() == "1"
    except OSError:
        return False
