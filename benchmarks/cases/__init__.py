"""All benchmarks, in the order of the report."""

from __future__ import annotations

from benchmarks.cases import (
    cli,
    confined,
    echo,
    flood,
    idle,
    imports,
    one_shot,
    pipe_output,
    pty_output,
    session_command,
    shells,
    tax,
)
from benchmarks.model import Case

CASES: dict[str, Case] = {
    "one-shot": one_shot,
    "confined": confined,
    "tax": tax,
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
