"""What this machine can enforce, for `fairlead doctor`: each thing is done, not looked up."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fairlead.cli.finding import Finding
from fairlead.config.options import Options
from fairlead.confining import confiner_for, machine
from fairlead.model.access import SandboxPolicy
from fairlead.model.errors import ExecError, Rejected
from fairlead.model.params import ExecParams
from fairlead.model.requirement import Grant, RuleRef, Skip
from fairlead.model.sandbox import EVERYTHING, MISSING, Host
from fairlead.sandbox.namespaces import SCOPES_SINCE_ABI
from fairlead.sandbox.tiers import remedy

_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_CLONE = "/proc/sys/kernel/unprivileged_userns_clone"
_MOST = "/proc/sys/user/max_user_namespaces"
_IN_CONTAINER = ("/.dockerenv", "/run/.containerenv")
_SECONDS = 10.0


def findings() -> Iterator[Finding]:
    """The verdict first, then each thing that it rests on."""
    machine().probe()
    host = machine().host
    yield from _verdict(host)
    yield _user_namespaces(host)
    yield _of(host, "mounts", host.mount_namespaces, "a mount namespace of its own")
    yield _proc(host)
    yield _of(host, "network namespaces", host.net_namespaces, "the network can be cut off")
    yield _landlock(host)
    yield _of(host, "seccomp", host.seccomp, "system calls can be filtered", _SECCOMP)
    yield _notifications(host)
    yield _groups(host)
    yield _bubblewrap(host)
    yield _containers()


_SECCOMP = "a kernel with CONFIG_SECCOMP_FILTER; in a container: --security-opt seccomp=unconfined"


def _verdict(host: Host) -> Iterator[Finding]:
    """What the default policy comes to here, and whether a command starts under it."""
    with tempfile.TemporaryDirectory(prefix="fairlead-doctor-") as workspace:
        options = Options(cwd=Path(workspace), accept=(EVERYTHING,))
        Path(workspace, ".git/hooks").mkdir(parents=True)  # as in most: something to protect
        try:
            report = confiner_for(options).confined("doctor").report
        except Rejected as error:
            yield Finding(what="sandbox", ok=False, found=str(error), needed=True)
            return
        yield _enforced(report.tier, report.missing, host)
        yield _confined_start(options, ", accepting what is missing" if report.missing else "")


def _enforced(tier: str, missing: tuple[str, ...], host: Host) -> Finding:
    if not missing:
        found = f"{tier}, everything is enforced"
        return Finding(what="sandbox", ok=True, found=found, needed=True)
    return Finding(
        what="sandbox",
        ok=False,
        found=f"{tier}, but {'; '.join(MISSING[word] for word in missing)}",
        remedy=f"{_cure(host)}; or accept less: --accept {','.join(missing)}",
        needed=True,
    )


def _cure(host: Host) -> str:
    lacks_only_those = host.launcher and not host.user_namespaces
    return userns_remedy() if lacks_only_those else remedy(host)


def _confined_start(options: Options, accepting: str) -> Finding:
    from fairlead.cli.foreground import run_planned

    params = ExecParams(
        call_id="doctor", tool="doctor", argv=("true",), script=None, cwd=options.cwd
    )
    because = RuleRef("fairlead doctor")
    grant = Grant(requirement=Skip(because), decision="skip", because=str(because))
    try:
        code = run_planned(params, grant, options)
        failed = f"`true` ended with {code}" if code else ""
    except (ExecError, OSError) as error:
        failed = str(error)
    return Finding(
        what="a confined command",
        ok=not failed,
        found=failed or f"started and ended under {SandboxPolicy.WORKSPACE_WRITE}{accepting}",
        remedy="" if not failed else "what is missing below may be the reason",
        needed=True,
    )


def _of(host: Host, what: str, ok: bool, found: str, cure: str = "") -> Finding:
    if ok:
        return Finding(what=what, ok=True, found=found)
    why = dict(host.why).get(what, "not without what is missing above")
    return Finding(what=what, ok=False, found=why, remedy=cure)


def _user_namespaces(host: Host) -> Finding:
    found = "the user may make namespaces"
    return _of(host, "user namespaces", host.user_namespaces, found, userns_remedy())


def userns_remedy() -> str:
    """What forbids them, by the switches that are known to."""
    if _switch(_APPARMOR) == "1":
        return "as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    if _switch(_CLONE) == "0":
        return "as root: sysctl kernel.unprivileged_userns_clone=1"
    if _switch(_MOST) == "0":
        return "as root: sysctl user.max_user_namespaces=15000"
    options = "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
    if any(map(os.path.exists, _IN_CONTAINER)):
        return f"start this container with {options}"
    return f"a kernel with CONFIG_USER_NS; in a container: {options}"


def _switch(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _proc(host: Host) -> Finding:
    found = "other processes can't be seen"
    cure = "in a container: --security-opt systempaths=unconfined" if host.mount_namespaces else ""
    return _of(host, "a /proc of its own", host.new_proc, found, cure)


def _landlock(host: Host) -> Finding:
    if not host.launcher:
        return Finding(what="Landlock", ok=False, found="not used without the launcher")
    abi = host.landlock_abi
    cure = "Linux 5.13 or newer, with landlock in lsm= on the kernel's command line"
    if abi and abi < SCOPES_SINCE_ABI:
        text = f"ABI {abi}, without scopes for signals and abstract sockets"
        return Finding(what="Landlock", ok=False, found=text, remedy="Linux 6.12 or newer")
    return _of(host, "Landlock", bool(abi), f"ABI {abi}", cure)


def _notifications(host: Host) -> Finding:
    found = "denied system calls are reported"
    cure = "without them a denied system call is an error to the command, and no news to us"
    return _of(host, "system call notifications", host.notify, found, cure)


def _groups(host: Host) -> Finding:
    found = "memory and processes of an agent can be limited together"
    cure = (
        "start Fairlead in a group that is its own, with memory and pids controllers: "
        "systemd-run --user --scope -p Delegate=yes fairlead …"
    )
    return _of(host, "control groups", host.groups, found, cure)


def _bubblewrap(host: Host) -> Finding:
    from fairlead.spawn import installed

    path = installed.bubblewrap()
    return Finding(
        what="bubblewrap",
        ok=path is not None,
        found=f"{path}, used only where the launcher is not built" if path else "not installed",
        remedy=""
        if host.launcher
        else "install bubblewrap (Debian: apt-get install bubblewrap), or build the launcher",
    )


def _containers() -> Finding:
    from fairlead.spawn import installed

    found = [_version(path) for path in map(installed.program, ("podman", "docker")) if path]
    return Finding(
        what="containers",
        ok=bool(found),
        found=", ".join(found) or "neither podman nor docker is installed",
        remedy="needed only for backend = container",
    )


def _version(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path} ({error})"
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else path
