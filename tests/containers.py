"""An image made of programs of this machine, and a look at which containers there are."""

from __future__ import annotations

import functools
import io
import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.programs import require

PROGRAMS = (
    *("bash", "cat", "chmod", "env", "head", "id", "ls", "mkdir", "mknod", "mount", "mv"),
    *("readlink", "rm", "setsid", "sh", "sleep", "stty", "tail", "touch", "true", "tty"),
    *("unshare", "wc"),
)
LOCALE = "/usr/lib/locale/C.utf8"  # else shells complain
EXPECTED = "/usr/bin:/bin"  # the PATH that the image's programs expect
_SECONDS = 120
_TRIES, _PAUSE = 5, 0.5  # seconds
_LIBRARY = re.compile(r"(/\S+) \(0x")


@contextmanager
def imported() -> Iterator[str]:
    """The name of an image with a shell and some tools. Without podman the test is skipped."""
    require("podman")
    name = f"localhost/fairlead-test-{os.getpid()}"
    changes = (f"ENV=PATH={EXPECTED}", "ENV=FROM_IMAGE=yes")
    podman("import", *(f"--change={one}" for one in changes), "-", name, given=_tree())
    try:
        yield name
    finally:
        _remove_image(name)


def _remove_image(name: str) -> None:
    """A container of it may be going at the same moment, and podman fails where it is gone then."""
    for _ in range(_TRIES):
        try:
            podman("rmi", "--force", name)
        except AssertionError:
            time.sleep(_PAUSE)
        else:
            return
    podman("rmi", "--force", name)


def podman(*words: str, given: bytes = b"") -> str:
    """What it prints."""
    done = subprocess.run(
        [require("podman"), *words], input=given, capture_output=True, timeout=_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def containers(pid: int | None = None) -> list[str]:
    """The containers that a process has made, this one if none is named."""
    label = f"name=^fairlead-{os.getpid() if pid is None else pid}-"
    return podman("ps", "--all", "--filter", label, "--format", "{{.Names}}").split()


@functools.cache
def _tree() -> bytes:
    """As a tar file: the programs, and the libraries that they need."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for directory in ("dev", "etc", "proc", "root", "run", "sys", "tmp", "usr/bin", "var/tmp"):
            _add_directory(tar, directory)
        libraries = set[str]()
        for name in PROGRAMS:
            path = shutil.which(name)
            assert path is not None, name
            tar.add(os.path.realpath(path), f"usr/bin/{name}")
            libraries |= _libraries(path)
        for path in sorted(libraries):
            tar.add(os.path.realpath(path), path.lstrip("/"))
        _add_link(tar, "bin", "usr/bin")
        if os.path.isdir(LOCALE):
            tar.add(LOCALE, LOCALE.lstrip("/"))
    return packed.getvalue()


def _libraries(path: str) -> set[str]:
    done = subprocess.run(
        ["ldd", path], capture_output=True, text=True, timeout=_SECONDS, check=True
    )
    return set(_LIBRARY.findall(done.stdout))


def _add_directory(tar: tarfile.TarFile, name: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    tar.addfile(entry)


def _add_link(tar: tarfile.TarFile, name: str, target: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    tar.addfile(entry)
