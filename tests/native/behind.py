"""Commands behind steps that confine: the usual steps, and what is said behind them."""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

from fairlead.model import confine
from fairlead.model.confine import Identity, Namespace
from fairlead.spawn import plan
from tests.native import harness
from tests.native.harness import command

ALLOW_ALL = struct.pack("<HBBI", 6, 0, 0, 0x7FFF_0000)
# load the call's number; if it is getpriority's on x86-64 or aarch64, EXFULL; else allow
DENY_GETPRIORITY = (
    struct.pack("<HBBI", 0x20, 0, 0, 0)
    + struct.pack("<HBBI", 0x15, 1, 0, 140)
    + struct.pack("<HBBI", 0x15, 0, 1, 141)
    + struct.pack("<HBBI", 6, 0, 0, 0x0005_0000 | errno.EXFULL)
    + ALLOW_ALL
)
READ, WRITE, EXECUTE, READ_DIR = 1 << 2, 1 << 1, 1 << 0, 1 << 3
USER = confine.UserNamespace(f"0 {os.geteuid()} 1", f"0 {os.getegid()} 1")
NEVER = Identity(1, 1)


def unshare(*kinds: Namespace) -> list[confine.ConfineStep]:
    """Namespaces that anybody may make, by way of a user namespace."""
    whole = Namespace(0)
    for kind in kinds:
        whole |= kind
    return [USER, confine.Unshare(whole)]


MOUNTS: list[confine.ConfineStep] = [*unshare(Namespace.MOUNT), confine.MountPrivate()]
QUIET: list[confine.ConfineStep] = [confine.NoNewPrivileges()]


def inside(launcher: Path, steps: Sequence[plan.Step], *argv: str) -> str:
    """What a command says behind these steps."""
    reader, writer = os.pipe()
    wiring = plan.Descriptors(((writer, 1), (writer, 2)))
    with harness.Launch(launcher, [*steps, wiring, *command(*argv)], keep=[writer]) as launch:
        os.close(writer)
        with os.fdopen(reader) as stream:
            text = stream.read()
        reports = launch.finish()
    assert reports == [], reports
    return text


def python(launcher: Path, steps: Sequence[plan.Step], code: str) -> str:
    return inside(launcher, steps, sys.executable, "-ISc", code).strip()


def identity(path: Path) -> Identity:
    found = path.stat()
    return Identity(found.st_dev, found.st_ino)
