"""Saying why nothing ran, in words that help."""

from __future__ import annotations

import errno
import os

from fairlead.model.errors import SandboxFailed, SpawnFailed
from fairlead.model.shown import in_a_line
from fairlead.spawn import confine_plan, plan

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

_CONFINING = frozenset(confine_plan.NAMES)
_PLACES = {
    errno.ENOENT: "the directory does not exist inside the sandbox",
    errno.EACCES: "the directory may not be entered inside the sandbox",
    errno.ESTALE: "the directory was replaced while the command was being started",
}


def explain(report: plan.Failed, name: str) -> SpawnFailed:
    """The launcher's `{step, errno}` as an error a person understands."""
    name = in_a_line(name)
    step = plan.STEP_NAMES.get(report.op, f"step {report.op}")
    if report.op in plan.EXEC_OPS and report.errno in _EXEC:
        text = _EXEC[report.errno].format(name=name)
    elif report.op in _CONFINING:
        return _not_confined(report, step, name)
    else:
        text = f"could not start {name}: {step}: {os.strerror(report.errno)}"
    return SpawnFailed(text, step=step, errno=report.errno)


def _not_confined(report: plan.Failed, step: str, name: str) -> SpawnFailed:
    reason = os.strerror(report.errno)
    if report.op == plan.SERVE_OP and report.errno == errno.EAGAIN:
        text = f"could not start {name}: the agent's processes have reached their limit"
        return SpawnFailed(text, step=step, errno=report.errno)
    if report.op == plan.PLACE_OP:
        text = _PLACES.get(report.errno, "could not be entered inside the sandbox: " + reason)
        return SpawnFailed(f"workdir: {text}", step=step, errno=report.errno)
    text = f"the sandbox could not be set up ({step}: {reason}); {name} was not run"
    return SandboxFailed(text, step=step, errno=report.errno)


def not_started(name: str, error: OSError) -> SpawnFailed:
    """What we ourselves lacked before anything could run."""
    reason = error.strerror or str(error)
    text = f"could not start {in_a_line(name)}: {reason}"
    return SpawnFailed(text, step="preparation", errno=error.errno or 0)
