"""The grammars are loaded late, and kept from taking long."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fairlead.model.params import ShellKind
from fairlead.policy.reading import grammar
from fairlead.policy.reading.parts import Why
from fairlead.policy.reading.read import read_script

LOADED = "sorted(name for name in sys.modules if name.startswith('tree_sitter'))"
SCRIPT = f"""
import sys
from fairlead.policy import danger, safe
from fairlead.policy.reading.read import ShellKind, read_argv, read_script
read_argv(['ls', '-l'])
read_script('dir', ShellKind.CMD)
print({LOADED})
read_script('ls', ShellKind.BASH)
print({LOADED})
"""


def test_grammars_are_loaded_when_a_text_is_read():
    """Neither importing the package nor reading words loads a grammar; reading a text does."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    before, after = done.stdout.splitlines()
    assert before == "[]"
    assert "tree_sitter_bash" in after
    assert "tree_sitter_powershell" not in after


@pytest.mark.parametrize(
    ("shell", "text"), [(ShellKind.BASH, "a |" * 9000), (ShellKind.POWERSHELL, "ls | " * 900)]
)
def test_what_takes_too_long_is_not_plain(
    shell: ShellKind, text: str, monkeypatch: pytest.MonkeyPatch
):
    """A grammar that is not done in time is stopped, and the text is not plain."""
    monkeypatch.setattr(grammar, "SECONDS", 0.0)
    (doubt,) = read_script(text, shell).doubts()
    assert doubt.why is Why.TOO_SLOW


def test_short_texts_need_no_deadline(monkeypatch: pytest.MonkeyPatch):
    """A line of usual length is read whatever the clock says."""
    monkeypatch.setattr(grammar, "SECONDS", 0.0)
    assert read_script("ls -l | wc", ShellKind.BASH).plain
