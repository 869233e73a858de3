"""All benchmarks, in the order of the report."""

from __future__ import annotations

from benchmarks.cases import (
    cli,
    echo,
    flood,
    idle,
    imports,
    one_shot,
    pipe_output,
    pty_output,
    session_command,
    shells,
)
from benchmarks.model import Case

CASES: dict[str, Case] = {
    "one-shot": one_shot,
    "shells": shells,
    "echo": echo,
    "session-command": session_command,
    "pipe-output": pipe_output,
    "pty-output": pty_output,
    "flood": flood,
    "idle": idle,
    "import": imports,
    "cli": cli,
}
