"""How a command is confined, as steps for the launcher: data, and nothing of the machine.

`sandbox/` writes them from an `Access`, `spawn/` encodes them, `native/` applies them. A step that
fails ends the start: nothing ever runs with less than its plan says.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from fairlead.model.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """What a path was when it was looked at: a step that meets something else there fails."""

    device: int
    inode: int


ANYTHING = Identity(0, 0)  # where a step need not look


class Namespace(IntFlag):
    """The kernel's CLONE_NEW* flags."""

    MOUNT = 0x0002_0000
    CGROUP = 0x0200_0000
    UTS = 0x0400_0000
    IPC = 0x0800_0000
    PID = 0x2000_0000
    NET = 0x4000_0000


class Attribute(IntFlag):
    """The kernel's MOUNT_ATTR_* flags."""

    READ_ONLY = 0x1
    NO_SETUID = 0x2
    NO_DEVICES = 0x4
    NO_EXECUTE = 0x8


class MountFlag(IntFlag):
    """The kernel's MS_* flags for a new file system."""

    READ_ONLY = 0x1
    NO_SETUID = 0x2
    NO_DEVICES = 0x4
    NO_EXECUTE = 0x8


class Node(IntEnum):
    """What `MakeNode` makes."""

    DIRECTORY = 1
    FILE = 2
    LINK = 3


@dataclass(frozen=True, slots=True)
class UserNamespace:
    """A user namespace of its own, with these maps in the kernel's text form."""

    uid_map: str
    gid_map: str


@dataclass(frozen=True, slots=True)
class Unshare:
    """Namespaces of its own. With `Namespace.PID`, only what is started later is inside."""

    namespaces: Namespace


@dataclass(frozen=True, slots=True)
class Init:
    """Later steps run in a new process, which dies with this one. Behind `Unshare(PID)` it is
    PID 1: its end ends every process inside. This one waits for it and does nothing else."""


@dataclass(frozen=True, slots=True)
class Loopback:
    """Bring up `lo`."""


@dataclass(frozen=True, slots=True)
class MountTree:
    """Take a detached copy of what is mounted at and below `path`, as it is now, into `slot`."""

    slot: int
    path: str
    identity: Identity
    recursive: bool = True


@dataclass(frozen=True, slots=True)
class MountAttach:
    """Attach the tree in `slot` on `path`, which must be `identity`, with these attributes added.

    The slot is empty then, unless `keep`: then a copy is attached.
    """

    slot: int
    path: str
    identity: Identity
    attributes: Attribute = Attribute(0)
    keep: bool = False


@dataclass(frozen=True, slots=True)
class MountAttributes:
    """Add attributes to the mount at `path` and, if `recursive`, to all below it."""

    path: str
    attributes: Attribute
    recursive: bool = True


@dataclass(frozen=True, slots=True)
class MountPrivate:
    """No mount or unmount crosses the border of this mount namespace, in either direction."""


@dataclass(frozen=True, slots=True)
class MountNew:
    """Mount a new file system."""

    kind: str
    path: str
    options: str = ""
    flags: MountFlag = MountFlag(0)


@dataclass(frozen=True, slots=True)
class MakeNode:
    """Make a directory, an empty file or a symbolic link in a file system of our own."""

    node: Node
    path: str
    mode: int = 0o755
    target: str = ""


@dataclass(frozen=True, slots=True)
class Landlock:
    """Begin a Landlock ruleset that handles these rights; `LandlockApply` puts it in force."""

    files: int = 0
    network: int = 0
    scopes: int = 0


@dataclass(frozen=True, slots=True)
class LandlockPath:
    """Allow these rights beneath `path`."""

    rights: int
    path: str


@dataclass(frozen=True, slots=True)
class LandlockPort:
    """Allow these rights on a TCP port."""

    rights: int
    port: int


@dataclass(frozen=True, slots=True)
class LandlockApply:
    """From here on the ruleset holds, for this process and all that it starts."""


@dataclass(frozen=True, slots=True)
class NoNewPrivileges:
    """No program gives more rights than its caller has, set-uid or not."""


@dataclass(frozen=True, slots=True)
class DropCapabilities:
    """No capability is left, and none can come back."""


@dataclass(frozen=True, slots=True)
class Seccomp:
    """A system call filter, as compiled BPF. With `listener` what it asks about is answered by
    whoever holds the descriptor that the launcher reports."""

    program: bytes
    listener: bool = False


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """Join a cgroup through its `cgroup.procs`, opened before any namespace was made."""

    path: str


@dataclass(frozen=True, slots=True)
class CheckedDirectory:
    """The working directory by path, as this namespace sees it. It must be `identity`."""

    path: str
    identity: Identity


@dataclass(frozen=True, slots=True)
class Identify:
    """Tell the engine which process this is, in its own pid namespace."""


@dataclass(frozen=True, slots=True)
class Serve:
    """Serve: fork a guard for each request, until the engine lets go. `terminals` names the
    devpts whose directory is handed to the engine, or is empty."""

    terminals: str = ""


ConfineStep = (
    UserNamespace
    | Unshare
    | Init
    | Loopback
    | MountTree
    | MountAttach
    | MountAttributes
    | MountPrivate
    | MountNew
    | MakeNode
    | Landlock
    | LandlockPath
    | LandlockPort
    | LandlockApply
    | NoNewPrivileges
    | DropCapabilities
    | Seccomp
    | JoinGroup
    | CheckedDirectory
    | Identify
    | Serve
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container that a launcher serves in: `program run OPTIONS… image`, with what the spawner
    adds. Every path of `shown` has to be, inside, what it was when it was looked at, and what it
    was at `hidden` must not be seen there. `memory` (bytes) and `processes` have to be in force."""

    program: str
    options: tuple[str, ...]
    image: str
    shown: tuple[tuple[str, Identity], ...]
    hidden: tuple[tuple[str, Identity], ...] = ()
    memory: int | None = None
    processes: int | None = None

    def shows(self, path: str) -> bool:
        """Whether a path without links leads to the same place inside."""
        return any(path == one or path.startswith(one + "/") for one, _ in self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What stands around a command. Equal ones are shared by the commands of one agent.

    `setup` is applied once, `each` for every command, last before it becomes the command.
    `memory` (bytes) and `processes` limit all of them together.
    """

    agent: str
    setup: tuple[ConfineStep, ...]
    each: tuple[ConfineStep, ...] = ()
    mount_namespace: bool = True
    terminals: str = ""
    memory: int | None = None
    processes: int | None = None
    container: Container | None = None  # where the setup is done; None: on this machine itself
