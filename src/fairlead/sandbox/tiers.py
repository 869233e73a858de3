"""Which mechanism confines a command on this machine, and what it can't do here.

The first tier that the machine offers is taken. What a tier lacks is named by words from one list;
the operator may accept some of them, and nothing else is ever left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.model.access import SandboxReport, SandboxType
from fairlead.model.errors import Rejected
from fairlead.model.frozen import dataclass
from fairlead.model.sandbox import EVERYTHING, MISSING, Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What a tier does of what is wanted."""

    type: SandboxType
    missing: tuple[str, ...] = ()

    @property
    def report(self) -> SandboxReport:
        return SandboxReport(type=self.type, tier=str(self.type), missing=self.missing)


def check_accept(words: Iterable[str]) -> tuple[str, ...]:
    """The operator's list, or `Rejected` for a word that means nothing."""
    known = [*MISSING, EVERYTHING]
    for word in words:
        if word not in known:
            raise Rejected(f"accept: no such word {word!r}; allowed: {', '.join(known)}")
    return tuple(words)


def demand(fit: Fit, accept: tuple[str, ...], host: Host) -> SandboxReport:
    """The report of a tier that does enough. `Rejected` with the remedy otherwise."""
    refused = [word for word in fit.missing if word not in accept and EVERYTHING not in accept]
    if not refused:
        return fit.report
    raise Rejected(
        f"the sandbox can't be enforced here: with {fit.type}, {_meanings(refused)}. "
        f"The command was not run. {remedy(host)}; or accept less: --accept {','.join(refused)}"
    )


def nothing_confines(host: Host) -> Rejected:
    """Where there is no tier at all."""
    reasons = "; ".join(f"{what}: {why}" for what, why in host.why) or "no mechanism was found"
    return Rejected(
        f"no sandbox can be had on this machine ({reasons}). The command was not run. "
        f"{remedy(host)}"
    )


def remedy(host: Host) -> str:
    """What to do so that the first tier can be had: the most likely reason first."""
    why = dict(host.why)
    if host.platform == "win32":  # windows.py has a plan, and nothing that carries it out
        return "On Windows, run Fairlead in WSL 2, which is a Linux"
    if host.platform != "linux":
        return "On Linux all of it can be had"
    if not host.launcher:
        build = (
            "Build the launcher: install gcc (Debian: apt-get install gcc) and run `make native`"
        )
        wanting = host.user_namespaces and not host.bubblewrap  # it can't do without them either
        return f"{build}; or install bubblewrap (apt-get install bubblewrap)" if wanting else build
    if "user namespaces" in why and "AppArmor" in why["user namespaces"]:
        return "As root: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    if host.user_namespaces and not host.seccomp:
        return (
            "Boot a kernel with CONFIG_SECCOMP_FILTER, or let seccomp(2) be called (in a container)"
        )
    if not host.user_namespaces:
        return (
            "Allow user namespaces (sysctl user.max_user_namespaces=15000, and "
            "kernel.unprivileged_userns_clone=1 where that exists), or in a container allow "
            "unshare and mount (--security-opt seccomp=unconfined --security-opt "
            "apparmor=unconfined)"
        )
    if not host.new_proc:
        return "Let a new /proc be mounted (in a container: --security-opt systempaths=unconfined)"
    if not host.groups:
        return (
            "Start Fairlead in a control group that is its own (systemd-run --user --scope "
            "-p Delegate=yes fairlead …)"
        )
    return "`fairlead doctor` says what this machine lacks"


def _meanings(words: list[str]) -> str:
    return ", ".join(MISSING[word] for word in words)
