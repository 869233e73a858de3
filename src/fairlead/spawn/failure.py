"""Saying why nothing ran, in words that help."""

from __future__ import annotations

import errno
import os

from fairlead.model.errors import SpawnFailed
from fairlead.spawn import plan

_EXEC = {
    errno.ENOENT: "command not found: {name}",
    errno.EACCES: "not executable: {name} (permission denied)",
    errno.EPERM: "not permitted to execute: {name}",
    errno.ENOEXEC: "not a program: {name} (no known format and no #! line)",
    errno.ENOTDIR: "command not found: {name} (a part of its path is not a directory)",
    errno.EISDIR: "not executable: {name} (a directory)",
    errno.E2BIG: "arguments and environment are too long for the kernel: {name}",
    errno.ELOOP: "too many symbolic links: {name}",
    errno.ETXTBSY: "being written to: {name}",
}


def explain(report: plan.Failed, name: str) -> SpawnFailed:
    """The launcher's `{step, errno}` as an error a person understands."""
    step = plan.STEP_NAMES.get(report.op, f"step {report.op}")
    if report.op in plan.EXEC_OPS and report.errno in _EXEC:
        text = _EXEC[report.errno].format(name=name)
    else:
        text = f"could not start {name}: {step}: {os.strerror(report.errno)}"
    return SpawnFailed(text, step=step, errno=report.errno)
