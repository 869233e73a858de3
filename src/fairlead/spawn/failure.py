"""Saying why nothing ran, in words that help."""

from __future__ import annotations

import errno
import os

from fairlead.model.errors import SpawnFailed
from fairlead.spawn import plan

_SHOWN = 200  # characters of a name
_EXEC = {
    errno.ENOENT: "command not found: {name}",
    errno.EACCES: "not executable: {name} (permission denied)",
    errno.EPERM: "not permitted to execute: {name}",
    errno.ENOEXEC: "not a program: {name} (no known format and no #! line)",
    errno.ENOTDIR: "command not found: {name} (a part of its path is not a directory)",
    errno.EISDIR: "not executable: {name} (a directory)",
    errno.ENAMETOOLONG: "command not found: {name} (the name is too long)",
    errno.E2BIG: "arguments and environment are too long for the kernel: {name}",
    errno.ELOOP: "too many symbolic links: {name}",
    errno.ETXTBSY: "being written to: {name}",
}


def explain(report: plan.Failed, name: str) -> SpawnFailed:
    """The launcher's `{step, errno}` as an error a person understands."""
    name = _short(name)
    step = plan.STEP_NAMES.get(report.op, f"step {report.op}")
    if report.op in plan.EXEC_OPS and report.errno in _EXEC:
        text = _EXEC[report.errno].format(name=name)
    else:
        text = f"could not start {name}: {step}: {os.strerror(report.errno)}"
    return SpawnFailed(text, step=step, errno=report.errno)


def not_started(name: str, error: OSError) -> SpawnFailed:
    """What we ourselves lacked before anything could run."""
    reason = error.strerror or str(error)
    text = f"could not start {_short(name)}: {reason}"
    return SpawnFailed(text, step="preparation", errno=error.errno or 0)


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
