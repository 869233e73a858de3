"""`fairlead doctor`: what this machine offers, what is missing, and how to get it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from fairlead.cli.finding import Finding
from fairlead.cli.flags import Flag, Syntax
from fairlead.model.errors import BadRequest

SYNTAX = Syntax(
    usage="fairlead doctor [--json]",
    about="Looks at this machine. Exit code 1 if something that is needed is missing.",
    flags=(Flag("json", "print the findings as JSON"),),
)


def main(arguments: Sequence[str]) -> int:
    line = SYNTAX.parse(arguments)
    if line.words:
        raise BadRequest(f"doctor: unexpected {line.words[0]!r}")
    from fairlead.cli import enforcing

    findings = [*(look() for look in LOOKS), *enforcing.findings()]
    if line.on("json"):
        print(json.dumps([asdict(one) for one in findings], indent=2))
    else:
        print("\n".join(str(one) for one in findings))
    return 1 if any(one.needed and not one.ok for one in findings) else 0


def _python() -> Finding:
    return Finding(
        what="Python",
        ok=sys.version_info >= (3, 11),
        found=platform.python_version(),
        remedy="Fairlead needs 3.11 or newer",
        needed=True,
    )


def _system() -> Finding:
    return Finding(
        what="system",
        ok=sys.platform == "linux",
        found=f"{platform.system()} {platform.release()} {platform.machine()}",
        remedy="only Linux is supported so far",
        needed=True,
    )


def _launcher() -> Finding:
    from fairlead.spawn import launcher

    found = launcher.find()
    return Finding(
        what="native launcher (guards every command, nothing escapes)",
        ok=found is not None,
        found="ready" if found is not None else "the pure-Python path is used",
        remedy="" if found is not None else launcher.why_missing(),
    )


def _children() -> Finding:
    ok = Path("/proc/thread-self/children").exists()
    return Finding(
        what="process trees in /proc",
        ok=ok,
        found="readable" if ok else "no task/*/children",
        remedy="mount /proc, with a kernel that has CONFIG_PROC_CHILDREN",
    )


def _terminals() -> Finding:
    try:
        limit = int(Path("/proc/sys/kernel/pty/max").read_text())
        master, slave = os.openpty()
        os.close(master)
        os.close(slave)
    except OSError as error:
        return Finding(
            what="terminals",
            ok=False,
            found=error.strerror or str(error),
            remedy="mount devpts on /dev/pts",
        )
    return Finding(what="terminals", ok=True, found=f"at most {limit}")


def _descriptors() -> Finding:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Finding(
        what="open files",
        ok=soft >= 1024,
        found=f"{soft} (hard limit {hard}); a session takes up to four",
        remedy="raise it with `ulimit -n`",
    )


def _log_directory() -> Finding:
    import tempfile

    directory = tempfile.gettempdir()
    free = shutil.disk_usage(directory).free >> 20
    return Finding(
        what="room for output logs",
        ok=free >= 512,
        found=f"{free} MiB in {directory}",
        remedy="set TMPDIR to a directory with more room",
    )


def _shells() -> Finding:
    from fairlead.shells.detect import session_detected

    found = session_detected()
    others = [name for name in ("bash", "zsh", "dash", "fish") if shutil.which(name)]
    note = f" ({found.note})" if found.note else ""
    return Finding(
        what="shell", ok=True, found=f"{found.shell.path}{note}; there are {', '.join(others)}"
    )


LOOKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _system,
    _launcher,
    _children,
    _terminals,
    _descriptors,
    _log_directory,
    _shells,
)
