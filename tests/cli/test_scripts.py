"""The command line as a person uses it: every text script beside this file is played.

A script is a list of blocks. A block begins with `# what it shows`, and its commands run one
after the other in an empty directory of their own; tests/console.py has the notation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.console import Step, check, steps_in

SCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))


@dataclass(frozen=True, slots=True)
class Block:
    """Some commands that belong together."""

    script: str
    title: str
    steps: list[Step]

    def __str__(self) -> str:
        return f"{self.script}: {self.title}"


def blocks() -> list[Block]:
    found = []
    for script in SCRIPTS:
        parts = re.split(r"^# (.*)\n", script.read_text(), flags=re.M)[1:]
        for title, text in zip(parts[::2], parts[1::2], strict=True):
            found.append(Block(script.stem, title, steps_in(text)))
    return found


@pytest.mark.parametrize("block", blocks(), ids=str)
def test_a_script_prints_what_it_shows(block: Block, tmp_path: Path) -> None:
    """Each command of a script prints what stands below it, and ends with that exit code."""
    assert block.steps, "a block without a `$ command`"
    check(block.steps, tmp_path)
