"""What several contenders share: tokens, PTYs, and how to look at a process's memory."""

from __future__ import annotations

import fcntl
import gc
import importlib
import itertools
import os
import pty
import resource
import struct
import subprocess
import termios
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

BASH = ("bash", "--norc", "-i")
PLAIN_ENV = {**os.environ, "TERM": "dumb"}
READ_SIZE = 65536


def lines() -> Iterator[tuple[str, str]]:
    """Lines to type, each with its answer, which the terminal's echo of the line does not hold."""
    for number in itertools.count(1):
        yield f"echo h''i-{number}\n", f"hi-{number}\r\n"


def start_on_pty(argv: Sequence[str]) -> tuple[subprocess.Popen[bytes], int]:
    """A child on a new PTY of 24x80, with the means of the standard library."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen(
        argv, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=PLAIN_ENV
    )
    os.close(slave)
    return child, master


def end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()


class Memory:
    """The resident memory of some processes, in KiB."""

    def __init__(self, *pids: int) -> None:
        self._folders = [Path(f"/proc/{pid}") for pid in pids or (os.getpid(),)]
        gc.collect()
        for folder in self._folders:
            with suppress(OSError):  # without it the peak is that of the whole life
                (folder / "clear_refs").write_text("5")
        self._before = self._sum("VmRSS")

    def grown(self) -> float:
        """By how much more is resident now."""
        gc.collect()
        return self._sum("VmRSS") - self._before

    def peak_growth(self) -> float:
        """By how much more was resident at the worst moment."""
        return self._sum("VmHWM") - self._before

    def _sum(self, key: str) -> float:
        return sum(_status(folder, key) for folder in self._folders)


def _status(folder: Path, key: str) -> float:
    for line in (folder / "status").read_text().splitlines():
        if line.startswith(key + ":"):
            return float(line.split()[1])
    raise ValueError(f"{folder} does not say {key}")


def load(module: str) -> Any:
    """A module of a peer, which is there or not."""
    return importlib.import_module(module)


def raise_open_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def require(fact: bool, text: str) -> None:
    """A benchmark of wrong results is worth nothing."""
    if not fact:
        raise RuntimeError(text)
