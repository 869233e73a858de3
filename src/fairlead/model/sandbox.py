"""What an operator says about confinement, and what a machine can do about it."""

from __future__ import annotations

from pathlib import Path

from fairlead.model.access import Limits, Network, SandboxPolicy
from fairlead.model.frozen import dataclass

# What a command may never read, unless the operator says so: keys, tokens, sessions.
SECRETS = (
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.kube",
    "~/.docker",
    "~/.netrc",
    "~/.npmrc",
    "~/.pypirc",
    "~/.git-credentials",
    "~/.password-store",
    "~/.config/gh",
    "~/.config/gcloud",
    "~/.config/git/credentials",
    "~/.config/op",
    "~/.config/hub",
    "~/.config/containers",
    "~/.config/chromium",
    "~/.config/google-chrome",
    "~/.mozilla",
    "~/.local/share/keyrings",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "~/.vault-token",
    "~/.bash_history",
    "~/.zsh_history",
    "~/.local/share/fish/fish_history",
    "~/.psql_history",
    "~/.python_history",
    "~/.node_repl_history",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh/ssh_host_*_key",
    "/etc/ssl/private",
)

# What a shell or git runs or obeys at its next start, where the home directory is writable.
STARTUP_FILES = (
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".gitconfig",
    ".config/git",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".local/bin",
    ".pam_environment",
    ".xprofile",
    ".xsessionrc",
    ".vimrc",
    ".tmux.conf",
    ".mcp.json",
)

# What an operator may let in, by name.
DEVICES = {"kvm": "/dev/kvm", "dri": "/dev/dri", "fuse": "/dev/fuse", "nvidia": "/dev/nvidia*"}

# What a mechanism may lack: the words that `accept` takes, each with what it means.
MISSING: dict[str, str] = {
    "protected-names": "names like .git inside a writable root can be changed",
    "deny-read": "secrets can be read",
    "hidden-names": "the names of files in hidden directories can be listed",
    "metadata": "mode, times and attributes of files outside the writable roots can be changed",
    "truncate": "files outside the writable roots can be emptied",
    "signals": "signals can be sent to other processes of the same user",
    "unix-sockets": "sockets of other programs can be connected to",
    "pid-namespace": "other processes can be seen",
    "network": "the network can be reached",
    "private-tmp": "/tmp is shared",
    "devices": "all devices that the user may open can be opened",
    "terminals": "other terminals of the same user can be read and written",
    "seccomp": "no system call is filtered",
    "shared-limits": "memory and processes are limited for each process, not for all together",
    "shared-memory": "System V and POSIX shared memory of the same user can be reached",
}
EVERYTHING = "all"
NOTHING_LESS: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """How far commands may reach, in the operator's words. `workspace` is where they work.

    `deny_read` and `allow_read` are paths or globs, `~` is the home directory; an `allow_read`
    takes back what `deny_read` or the list of secrets would hide. `accept` names what may be
    missing where this machine can't enforce everything.
    """

    policy: SandboxPolicy
    workspace: Path
    writable_roots: tuple[Path, ...] = ()
    granted: tuple[Path, ...] = ()  # writable for one call, also where the policy is read-only
    exclude_tmpdir: bool = False
    exclude_slash_tmp: bool = False
    network: Network = Network.OFF
    deny_read: tuple[str, ...] = ()
    allow_read: tuple[str, ...] = ()
    git_commit: bool = True
    private_tmp: bool = False
    devices: tuple[str, ...] = ()
    limits: Limits = Limits()
    accept: tuple[str, ...] = NOTHING_LESS

    @property
    def confines(self) -> bool:
        return self.policy in (SandboxPolicy.READ_ONLY, SandboxPolicy.WORKSPACE_WRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What this machine lets us do, found by doing it. `why` has a reason for each thing that
    it does not."""

    platform: str = "linux"  # as `sys.platform` has it
    machine: str = "x86_64"
    root: bool = False
    uid: int = 0
    gid: int = 0
    user_namespaces: bool = True
    mount_namespaces: bool = True  # with or without a user namespace
    new_proc: bool = True  # a pid namespace with a /proc of its own
    net_namespaces: bool = True
    landlock_abi: int = 0
    seccomp: bool = True
    notify: bool = True  # system calls can be asked about
    groups: bool = True  # control groups for memory and processes
    launcher: bool = True
    bubblewrap: str | None = None
    why: tuple[tuple[str, str], ...] = ()

    @property
    def namespaces(self) -> bool:
        return self.launcher and self.mount_namespaces and self.seccomp
