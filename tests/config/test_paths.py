"""Where Fairlead keeps what is its own."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from fairlead.config.paths import home, state_directory


def test_the_home_directory_is_the_variables_or_the_passwd_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A variable that is empty or relative names no home."""
    monkeypatch.setenv("HOME", "/somewhere")
    assert home() == "/somewhere"
    for nothing in ("", "relative"):
        monkeypatch.setenv("HOME", nothing)
        assert home() == pwd.getpwuid(os.getuid()).pw_dir


def test_the_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """`$XDG_STATE_HOME` if that is a whole path, else below the home directory."""
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert state_directory() == Path("/state/fairlead")
    for nothing in ("", "state"):
        monkeypatch.setenv("XDG_STATE_HOME", nothing)
        assert state_directory() == Path("/somewhere/.local/state/fairlead")
