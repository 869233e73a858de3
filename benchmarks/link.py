"""The harness's end of a worker: started, asked for batches, never waited for too long, ended."""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.model import Sample

ERROR_TAIL = 200
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of whatever a worker leaves behind, so that it can be ended and reaped."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def reap_orphans() -> None:
    """End and reap every child of ours: to be called when no worker is left."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := children.read_text().split():
        for pid in map(int, pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


class WorkerGone(Exception):
    """The worker ended, refused or took too long; the text says which."""


class Worker:
    """A process that answers `warm count` lines with a list of samples."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=env,
                start_new_session=True,
                bufsize=0,
            )
        self._unread = b""

    def wait_ready(self, patience: float) -> None:
        answer = self._answer(patience)
        if "missing" in answer:
            raise WorkerGone(answer["missing"])

    def batch(self, warm: int, count: int, patience: float) -> list[Sample]:
        """Ask for `count` samples after `warm` unmeasured runs."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # its last words are worth more
            self._process.stdin.write(f"{warm} {count}\n".encode())
        answer = self._answer(patience)
        if isinstance(answer, dict):
            raise WorkerGone(answer.get("failed", "answered nonsense"))
        return list(answer)

    def stop(self, grace: float = 3.0) -> None:
        """Let it clean up, then insist, with all that stayed in its process group."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _answer(self, patience: float) -> Any:
        line = self._line(time.monotonic() + patience)
        try:
            return json.loads(line)
        except ValueError:
            raise WorkerGone(f"answered nonsense: {line[:60]!r}") from None

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    raise WorkerGone("took too long")
                data = os.read(self._process.stdout.fileno(), 1 << 20)
                if not data:
                    raise WorkerGone(self._last_words())
                self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _last_words(self) -> str:
        text = self._log.read_text(errors="replace").strip()
        last = " | ".join(text.splitlines()[-2:])[-ERROR_TAIL:]
        return f"ended: {last or 'without a word'}"
