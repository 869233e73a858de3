"""A container around the commands of an agent, in the words that podman and docker share.

Pure: an `Access`, the workspace and what was found on the machine in, arguments out. A container
shows its image and the writable roots, at the paths that they have outside, and nothing else of
the machine. What serves inside is our launcher, so the filter and the guards are the same as
everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fairlead.model.access import Access, Limits, Network, PathMode, PathRule
from fairlead.model.confine import (
    Confinement,
    Container,
    Identity,
    NoNewPrivileges,
    Seccomp,
)
from fairlead.model.container import ContainerEngine, ContainerHost
from fairlead.model.env import ExecEnv
from fairlead.model.errors import Rejected
from fairlead.model.frozen import dataclass, replace
from fairlead.model.sandbox import SECRETS, Host, SandboxSettings
from fairlead.sandbox.namespaces import own_domain
from fairlead.sandbox.survey import is_below

TERMINALS = "/dev/pts"
TEMPORARY = ("/tmp", "/var/tmp")
MOST_PROCESSES = 4096  # where nobody set a limit: a fork bomb must end somewhere
LABEL = "fairlead"
_TMPFS = "rw,nosuid,nodev,exec,mode=1777"
_MASK = "ro,nosuid,nodev,noexec,size=4k,mode=0000"

# Never a root, and never shown by one above it: through these a command would own the machine.
DANGEROUS: dict[str, str] = {
    "/": "it is the whole machine",
    "/bin": "it holds the machine's programs",
    "/boot": "it holds what the machine starts from",
    "/dev": "it holds the machine's devices",
    "/etc": "it holds the machine's configuration",
    "/home": "it holds everybody's home directories",
    "/lib": "it holds the machine's programs",
    "/lib64": "it holds the machine's programs",
    "/proc": "it shows every process of the machine",
    "/root": "it is a home directory, with its keys and start-up files",
    "/run": "it holds the sockets of daemons, the container engine's among them",
    "/sbin": "it holds the machine's programs",
    "/sys": "it is the kernel's own",
    "/tmp": "it is shared by all programs; containers have one of their own",
    "/usr": "it holds the machine's programs",
    "/var": "it holds the data of the machine's daemons",
    "/var/lib/containers": "it holds the container engine's own data",
    "/var/lib/docker": "it holds the container engine's own data",
    "/var/run": "it holds the sockets of daemons, the container engine's among them",
    "/var/tmp": "it is shared by all programs; containers have one of their own",
    "~": "it is a home directory, with its keys and start-up files",
    "~/.local/share/containers": "it holds the container engine's own data",
}
# A directory of these may not be a root either; below the others there is honest work.
_WHOLLY = frozenset(
    (
        *("/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/var/run"),
        *("/var/lib/containers", "/var/lib/docker", "~/.local/share/containers"),
    )
)
# What the host's environment says of the host, and the image's says better.
_OF_THE_HOST = ("PATH", "SHELL", "TMPDIR", "XDG_RUNTIME_DIR")


def render(
    access: Access,
    found: ContainerHost,
    host: Host,
    *,
    home: str,
    agent: str,
    filter_program: bytes,
) -> Confinement:
    """Everything that stands around the commands of `agent`, for an access `as_shown`. Raises
    `Rejected`."""
    rules = access.rules
    refuse_dangerous(rules, home)
    options = (
        *(("--runtime", found.runtime) if found.runtime else ()),
        *_walls(found),
        *_limits(access.limits, found),
        *(("--network", "none") if access.network is Network.OFF else ()),
        *(part for path in access.devices for part in ("--device", path)),
        *_file_systems(rules, home, found.engine),
    )
    hidden = _identities(rule for rule in rules if rule.mode is PathMode.HIDE)
    seen = [rule for rule in rules if rule.mode is not PathMode.HIDE and not rule.link]
    shown = _identities(seen)
    labels = _labels(agent, (found.program, found.image, *options, *map(str, (*shown, *hidden))))
    return Confinement(
        agent=agent,
        setup=(NoNewPrivileges(), Seccomp(filter_program, listener=host.notify)),
        each=own_domain(host),
        terminals=TERMINALS,
        container=Container(
            program=found.program,
            options=(*labels, *options),
            image=found.image,
            shown=shown,
            hidden=hidden,
            memory=access.limits.memory if found.groups else None,
            processes=access.limits.processes if found.groups else None,
        ),
    )


def as_shown(access: Access, workspace: PathRule) -> Access:
    """The access without what a container does not show: there are the roots and what is below
    them. The workspace is seen even where it may not be written."""
    roots = [rule for rule in access.rules if rule.mode is PathMode.WRITE]
    if not any(is_below(workspace.path, root.path) for root in roots):
        roots = [workspace, *roots]
    below = [
        rule
        for rule in access.rules
        if rule not in roots and any(is_below(rule.path, root.path) for root in roots)
    ]
    rules = sorted([*roots, *below], key=lambda rule: rule.path.split("/"))
    return replace(access, rules=tuple(rules))


def _identities(rules: Iterable[PathRule]) -> tuple[tuple[str, Identity], ...]:
    return tuple((rule.path, rule.identity) for rule in rules)


def refuse_dangerous(rules: Sequence[PathRule], home: str) -> None:
    """Raises `Rejected` for a root that would hand the machine to the command."""
    for rule in rules:
        if rule.mode is PathMode.HIDE:
            continue
        for path, why in _dangerous(home):
            wholly = path in _WHOLLY or why == _SECRET
            named = _expanded(path, home)
            if is_below(named, rule.path) or (wholly and is_below(rule.path, named)):
                raise Rejected(
                    f"{rule.path} can't be shown to a container ({named}: {why}). "
                    "The command was not run. Choose a directory of its own for the work"
                )


def own_temporary(settings: SandboxSettings) -> SandboxSettings:
    """A container has temporary files of its own, so the host's are no roots."""
    return replace(settings, exclude_tmpdir=True, exclude_slash_tmp=True, private_tmp=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """How a container differs, for a command, from the machine around it."""

    image: tuple[tuple[str, str], ...]  # what the image's programs expect
    host: tuple[tuple[str, str], ...]  # what the host says of itself
    container: Container
    groups: bool  # what all use together is limited by the engine

    def around(self, env: ExecEnv) -> ExecEnv:
        """The same command, inside. A directory that is shown is so without links: they may lead
        elsewhere there. Any other one is the image's."""
        directory = os.path.realpath(env.cwd)
        return replace(
            env,
            env=variables(env.env, dict(self.host), dict(self.image)),
            cwd=Path(directory) if self.container.shows(directory) else env.cwd,
        )

    def limits_of_each(self, limits: Limits) -> Limits:
        """What is left to limit for each process. The engine limits the container's memory and
        its processes; by the process, a user's other processes would count as well."""
        return replace(limits, memory=None, processes=None) if self.groups else limits


def inside(container: Container, found: ContainerHost, environment: Mapping[str, str]) -> Inside:
    """For a container of what was found, on a machine with this environment."""
    host = tuple((name, environment[name]) for name in _OF_THE_HOST if name in environment)
    return Inside(image=found.variables, host=host, container=container, groups=found.groups)


def variables(
    env: Mapping[str, str], host: Mapping[str, str], image: Mapping[str, str]
) -> dict[str, str]:
    """The environment inside: the image's, then ours, but for what ours took from the host."""
    ours = {
        name: value
        for name, value in env.items()
        if name not in _OF_THE_HOST or host.get(name) != value
    }
    return {**image, **ours}


_SECRET = "it is kept from every command"


def _dangerous(home: str) -> Iterator[tuple[str, str]]:
    yield from DANGEROUS.items()
    for pattern in SECRETS:
        if "*" not in pattern:
            yield pattern, _SECRET


def _expanded(path: str, home: str) -> str:
    return home.rstrip("/") + path[1:] if path.startswith("~") else path


def _walls(found: ContainerHost) -> Iterator[str]:
    yield from ("--read-only", "--cap-drop", "all")
    yield from ("--security-opt", "no-new-privileges")
    # With labels the workspace would have to be labelled anew, and our socket could not be used.
    yield from ("--security-opt", "label=disable")
    yield from ("--user", f"{found.uid}:{found.gid}")
    yield from ("--ipc", "private", "--cgroupns", "private")
    yield from ("--log-driver", "none", "--stop-signal", "KILL", "--workdir", "/")
    yield from ("--hostname", "fairlead", "--no-healthcheck")
    if found.engine is ContainerEngine.PODMAN:
        yield from ("--http-proxy=false", "--read-only-tmpfs=false")
        if found.uid:  # files in the workspace stay those of who runs us
            yield from ("--userns", "keep-id")


def missing(access: Access, found: ContainerHost) -> tuple[str, ...]:
    """What of the access this engine can't enforce."""
    limits = access.limits
    together = limits.memory is not None or limits.processes is not None
    return (
        *(["protected-names"] if any(rule.link for rule in access.rules) else []),
        *(["shared-limits"] if together and not found.groups else []),
    )


def _limits(limits: Limits, found: ContainerHost) -> Iterator[str]:
    most = limits.processes or MOST_PROCESSES
    processes = -1 if found.processes is None else found.processes
    if found.groups:
        yield from ("--pids-limit", str(most))
        if limits.memory is not None:
            yield from ("--memory", str(limits.memory), "--memory-swap", str(limits.memory))
    else:
        processes = most if processes < 0 else min(most, processes)
    # Named one by one: the engine's defaults may be more than this machine gives.
    files = limits.open_files or found.open_files
    yield from ("--ulimit", f"nofile={files}:{files}")
    yield from ("--ulimit", f"nproc={processes}:{processes}")
    yield from ("--ulimit", "core=0:0")


def _file_systems(rules: Sequence[PathRule], home: str, engine: ContainerEngine) -> Iterator[str]:
    """Both engines mount parents before children, whatever the order here."""
    for path in dict.fromkeys((*TEMPORARY, home)):
        if path != "/":
            # podman would give it the image's content. runc gives it the image's mode in any
            # case, so it has to be the user's own.
            options = f"{_TMPFS},U,notmpcopyup" if engine is ContainerEngine.PODMAN else _TMPFS
            yield from ("--tmpfs", f"{_plain(path, ':')}:{options}")
    for rule in rules:
        if not rule.link:  # it would be followed
            yield from _mount(rule, engine)


def _mount(rule: PathRule, engine: ContainerEngine) -> tuple[str, str]:
    podman = engine is ContainerEngine.PODMAN
    match rule.mode, rule.directory:
        case PathMode.HIDE, True:
            # podman would fill it with what it covers.
            options = f"{_MASK},notmpcopyup" if podman else _MASK
            return "--tmpfs", f"{_plain(rule.path, ':')}:{options}"
        case PathMode.HIDE, False:
            return "--mount", _bind("/dev/null", rule.path, "readonly")
        case PathMode.READ, True if podman:
            # What is mounted below is left out, for it would stay writable.
            return "--mount", _bind(rule.path, rule.path, "readonly", "bind-nonrecursive")
        case PathMode.READ, _:
            return "--mount", _bind(rule.path, rule.path, "readonly")
        case _:
            return "--mount", _bind(rule.path, rule.path)


def _bind(source: str, target: str, *words: str) -> str:
    return ",".join(("type=bind", f"src={_plain(source)}", f"dst={_plain(target)}", *words))


def _plain(path: str, also: str = "") -> str:
    """The engines have no way to quote that all of their versions agree on."""
    wrong = [sign for sign in (*',"\n', *also) if sign in path]
    if wrong:
        raise Rejected(
            f"{path!r} can't be given to a container: its name contains {wrong[0]!r}. "
            "The command was not run"
        )
    return path


def _labels(agent: str, spec: tuple[str, ...]) -> Iterator[str]:
    """For people, and for the engine that comes after us."""
    import hashlib  # slow to load, and only containers need it

    digest = hashlib.sha256("\0".join(spec).encode("utf-8", "surrogateescape")).hexdigest()
    yield from ("--label", f"{LABEL}.agent={agent}")
    yield from ("--label", f"{LABEL}.policy={digest[:16]}")
