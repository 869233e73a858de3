"""The net under the tests holds."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.conftest import children, still_there
from tests.front_ends import ROOT
from tests.programs import require

HEEDING = """
import signal
from tests.conftest import BACKGROUND, heed_signals

heed_signals()
print([signum for signum in BACKGROUND if signal.getsignal(signum) is signal.SIG_IGN])
"""


def test_a_living_child_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that a test forgot is named by pid and command."""
    monkeypatch.setattr("tests.conftest.SECONDS_TO_GO", 0.01)
    before = children()
    with subprocess.Popen(["sleep", "60"]) as child:
        left = still_there(children() - before)
        child.kill()
    assert left == [f"{child.pid} sleep 60"]


def test_a_zombie_is_seen() -> None:
    """A process that ended and was never waited for counts as left behind."""
    before = children()
    with subprocess.Popen(["true"]) as child:
        left = still_there(children() - before)
    assert left == [f"{child.pid} (zombie)"]


def test_a_child_that_was_waited_for_is_gone() -> None:
    """A process that ended and was waited for is not held against a test."""
    before = children()
    subprocess.run(["true"], check=True)
    assert still_there(children() - before) == []


def test_a_program_that_is_here_is_found() -> None:
    """`require` gives the path of a program that is installed."""
    assert require("sh").endswith("/sh")


@pytest.mark.parametrize(("ci", "outcome"), [("true", "Failed"), ("", "Skipped")])
def test_a_missing_program_is_never_silent(
    ci: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing program fails a test in CI and is a skip elsewhere, and the package is named."""
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BaseException, match="Debian package nodejs") as raised:
        require("node")
    assert type(raised.value).__name__ == outcome


def test_tests_in_the_background_heed_signals() -> None:
    """What the tests start ignores nothing, also where `nohup` or `&` have the tests ignore it."""

    def ignore() -> None:
        for signum in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(signum, signal.SIG_IGN)

    done = subprocess.run(
        [sys.executable, "-c", HEEDING],
        preexec_fn=ignore,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
