"""`fairlead run` as a person or a script starts it: on pipes, or in a terminal of our own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlead.model.params import Size
from fairlead.spawn.pty import resize
from tests.spawn.running import PATIENCE, is_running

ROOT = Path(__file__).parents[2]
RUN = (sys.executable, "-m", "fairlead", "run", "--preset", "full-access")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "dumb"}


def fairlead_run(*words: str, **fields: Any) -> subprocess.CompletedProcess[bytes]:
    """Run to the end, with output caught."""
    if "input" not in fields:
        fields["stdin"] = subprocess.DEVNULL
    argv = [*RUN, *words]
    return subprocess.run(
        argv, env=environment(), capture_output=True, timeout=PATIENCE, check=False, **fields
    )


def fairlead_start(*words: str) -> subprocess.Popen[bytes]:
    """Start on pipes."""
    pipe = subprocess.PIPE
    return subprocess.Popen([*RUN, *words], env=environment(), stdin=pipe, stdout=pipe)


class Terminal:
    """A terminal with `fairlead run` (or another program) in it, as its session's leader."""

    def __init__(
        self, words: Sequence[str], *, size: Size | None = None, program: Sequence[str] = RUN
    ) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(program[0], [*program, *words], environment())
        if size is not None:
            resize(self.master, size)
        self.text = b""

    @property
    def path(self) -> str:
        """Of the side that programs have open."""
        number = fcntl.ioctl(self.master, 0x80045430, b"\0" * 4)  # TIOCGPTN
        return f"/dev/pts/{int.from_bytes(number, sys.byteorder)}"

    def shows(self, text: bytes) -> None:
        """Read until it does."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.text:
            left = deadline - time.monotonic()
            assert select.select([self.master], [], [], max(0, left))[0], (text, self.text)
            try:
                read = os.read(self.master, 65536)
            except OSError:  # EIO: everybody has gone
                read = b""
            assert read, (text, self.text)
            self.text += read

    def types(self, text: bytes) -> None:
        os.write(self.master, text)

    def code(self) -> int:
        """Wait for the end."""
        try:
            while os.read(self.master, 65536):
                pass
        except OSError:
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        os.close(self.master)
        if is_running(self.pid):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
