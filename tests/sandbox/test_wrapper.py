"""A command behind a program that confines it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.model.access import SandboxReport, SandboxType
from fairlead.model.env import ExecEnv
from fairlead.sandbox.wrapper import Wrapper

ENV = ExecEnv(
    argv=("make", "--", "-j"),
    cwd=Path("/work"),
    env={"A": "b"},
    sandbox=SandboxReport(type=SandboxType.BUBBLEWRAP, tier="bubblewrap"),
    attached={9: b"snapshot"},
)


def test_its_words_come_first() -> None:
    """Then two dashes, so that nothing of the command is an option; the command is still known."""
    env = Wrapper(argv=("bwrap", "--x")).around(ENV)
    assert env.argv == ("bwrap", "--x", "--", "make", "--", "-j")
    assert env.command == ENV.argv
    assert (env.cwd, env.env, env.attached) == (ENV.cwd, ENV.env, ENV.attached)


def test_a_directory_is_said_where_it_would_be_forgotten() -> None:
    """By its own option."""
    env = Wrapper(argv=("bwrap",), directory_option="--chdir").around(ENV)
    assert env.argv[:4] == ("bwrap", "--chdir", "/work", "--")
    assert env.command == ENV.argv


def test_what_it_reads_comes_with_what_the_command_reads() -> None:
    """Each under its number; the same number twice is our own mistake."""
    env = Wrapper(argv=("bwrap",), attached=((60, b"filter"),)).around(ENV)
    assert env.attached == {9: b"snapshot", 60: b"filter"}
    with pytest.raises(AssertionError, match="wanted twice"):
        Wrapper(argv=("bwrap",), attached=((9, b"filter"),)).around(ENV)
