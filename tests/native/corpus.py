"""Plans to begin fuzzing with: `python -m tests.native.corpus DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

from fairlead.model import confine
from fairlead.model.confine import ANYTHING, Attribute, Identity, MountFlag, Namespace, Node
from fairlead.spawn import plan

_END: list[plan.Step] = [
    plan.Argv((b"sh", b"-c", b"echo hello")),
    plan.Environment((b"PATH=/usr/bin:/bin", b"LANG=C.UTF-8")),
    plan.Exec(b"sh"),
]
PLANS: dict[str, list[plan.Step]] = {
    "thin": _END,
    "guarded": [
        plan.Guard(own_session=True),
        plan.Session(),
        plan.ParentDeathSignal(9),
        plan.Descriptors(((7, 0), (8, 1), (8, 2))),
        plan.ControllingTty(0),
        plan.Limit(7, 256, 512),
        plan.ResetSignals(),
        plan.WorkingDirectoryFd(9),
        plan.Umask(0o22),
        *_END,
    ],
    "by-descriptor": [
        plan.Guard(own_session=False, own_group=True),
        plan.ProcessGroup(),
        plan.WorkingDirectory(b"/tmp"),
        plan.Argv((b"",)),
        plan.Environment(()),
        plan.ExecFd(5),
    ],
    "confined": [
        confine.JoinGroup("/sys/fs/cgroup/one/cgroup.procs"),
        confine.UserNamespace("0 1000 1", "0 1000 1"),
        confine.Unshare(Namespace.MOUNT | Namespace.PID | Namespace.NET),
        confine.Init(),
        confine.Loopback(),
        confine.MountPrivate(),
        confine.MountTree(0, "/", Identity(2, 3)),
        confine.MountTree(63, "/work", ANYTHING, recursive=False),
        confine.MountNew("tmpfs", "/tmp", "size=1m", MountFlag.NO_SETUID),
        confine.MakeNode(Node.DIRECTORY, "/tmp/new"),
        confine.MakeNode(Node.LINK, "/tmp/link", target="new"),
        confine.MountAttach(0, "/tmp/new", ANYTHING, Attribute.READ_ONLY, keep=True),
        confine.MountAttach(63, "/tmp/new", Identity(2, 3)),
        confine.MountAttributes("/", Attribute.READ_ONLY),
        confine.NoNewPrivileges(),
        confine.Landlock(1, 2, 3),
        confine.LandlockPath(1, "/usr"),
        confine.LandlockPort(2, 443),
        confine.LandlockApply(),
        confine.DropCapabilities(),
        confine.Seccomp(b"\6\0\0\0\0\0\xff\x7f", listener=True),
        confine.Serve("/dev/pts"),
    ],
    "inside": [
        plan.Guard(own_session=False),
        confine.Landlock(scopes=2),
        confine.LandlockApply(),
        confine.CheckedDirectory("/work", Identity(2, 3)),
        confine.Identify(),
        *_END,
    ],
}


def write(directory: Path) -> list[Path]:
    """One file per plan."""
    files = []
    for name, steps in PLANS.items():
        files.append(directory / f"{name}.plan")
        files[-1].write_bytes(plan.encode(steps))
    return files


if __name__ == "__main__":
    write(Path(sys.argv[1]))
