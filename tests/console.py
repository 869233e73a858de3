"""Commands and what they print, as documents and text scripts show them.

`$ command`, which may go on with lines of `> `; below it what is printed, both streams, and
`[exit N]` where that is not 0. `…` stands for any text in a line; a line of `…` alone stands for
any lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ANY = "…"
SECONDS = 60


@dataclass(frozen=True, slots=True)
class Step:
    """One command and what it should print."""

    command: str
    expected: str


def steps_in(text: str) -> list[Step]:
    """The commands of a text, in order."""
    commands = re.split(r"^\$ ", text, flags=re.M)[1:]
    steps = []
    for command in commands:
        first, *rest = command.splitlines()
        lines = [first]
        while rest and rest[0].startswith("> "):
            lines.append(rest.pop(0)[2:])
        steps.append(Step("\n".join(lines), "\n".join(rest)))
    return steps


def matches(expected: str, printed: str) -> bool:
    """Whether the output is what is shown, `…` standing for what varies."""
    lines = [_pattern(line) for line in expected.strip().splitlines()]
    text = printed.strip()
    return re.fullmatch("".join(lines), f"{text}\n" if text else "") is not None


def _pattern(line: str) -> str:
    if line.strip() == ANY:
        return r"(?:.*\n)*?"
    return ".*".join(re.escape(part) for part in line.rstrip().split(ANY)) + r"[ \t]*\n"


def run(argv: list[str], cwd: Path) -> str:
    """Both streams, as a person at a terminal sees them. The interpreter's own bin comes first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        argv,
        cwd=cwd,
        env={**os.environ, "PATH": path, "HOME": str(cwd)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="backslashreplace",
        timeout=SECONDS,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout
    return f"{done.stdout.rstrip()}\n[exit {done.returncode}]"


def check(steps: list[Step], cwd: Path) -> None:
    """Run each command in this directory and compare."""
    for step in steps:
        printed = run(["bash", "-c", step.command], cwd)
        assert matches(step.expected, printed), f"$ {step.command}\n{printed}"
