"""Plans to begin fuzzing with: `python -m tests.native.corpus DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

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
