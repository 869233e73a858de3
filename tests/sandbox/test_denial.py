"""Was that us? Evidence is a path that the plan closes, next to the kernel's words for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.model.access import (
    Access,
    Denial,
    Network,
    PathMode,
    PathRule,
    SandboxReport,
    SandboxType,
)
from fairlead.model.confine import ANYTHING
from fairlead.model.env import ExecEnv
from fairlead.model.output import Ending, ExecOutput, StreamOutput
from fairlead.sandbox.denial import Resolve, denials_in, is_evidence

ACCESS = Access(
    rules=(
        PathRule("/home/u/.ssh", PathMode.HIDE, ANYTHING, True, "secret"),
        PathRule("/work", PathMode.WRITE, ANYTHING, True, "workspace"),
        PathRule("/work/.git/hooks", PathMode.READ, ANYTHING, True, "protected"),
    )
)
GUESS = Denial(what="guess", by="exit code and words in the output")


def denied(
    text: str, code: int = 1, access: Access | None = ACCESS, resolve: Resolve = str
) -> tuple[Denial, ...]:
    env = ExecEnv(
        argv=("x",),
        cwd=Path("/work"),
        env={},
        sandbox=SandboxReport(type=SandboxType.NAMESPACES, tier="namespaces"),
        access=access,
    )
    output = ExecOutput(
        session_id=1,
        chunk_id="",
        output=StreamOutput(head=text.encode()),
        wall_time=0.1,
        ending=Ending(code=code),
    )
    return denials_in(env, output, resolve=resolve)


def write(path: str, why: str = "") -> Denial:
    return Denial(what="write", path=path, by=f"read-only mount{why}")


SAID = [
    ("touch: cannot touch '/etc/x': Read-only file system", write("/etc/x")),
    ("bash: line 1: /etc/x: Read-only file system", write("/etc/x")),
    ("mkdir: cannot create directory ‘/opt/y’: Read-only file system", write("/opt/y")),
    ("OSError: [Errno 30] Read-only file system: '/usr/z'", write("/usr/z")),
    ("Error: EROFS: read-only file system, open '/etc/x'", write("/etc/x")),
    (
        "sh: 1: cannot create .git/hooks/pre-commit: Read-only file system",
        write("/work/.git/hooks/pre-commit", " (protected)"),
    ),
    (
        "cat: /home/u/.ssh/id_rsa: Permission denied",
        Denial(what="read", path="/home/u/.ssh/id_rsa", by="hidden (secret)"),
    ),
    (
        "PermissionError: [Errno 13] Permission denied: '/home/u/.ssh'",
        Denial(what="read", path="/home/u/.ssh", by="hidden (secret)"),
    ),
    (
        "mv: cannot move '/work/.git/hooks' to 'h': Device or resource busy",
        Denial(what="write", path="/work/.git/hooks", by="kept in place by a mount"),
    ),
    (
        "curl: (6) Could not resolve host: example.org",
        Denial(what="connect", host="example.org", by="network off"),
    ),
    ("connect: Network is unreachable", Denial(what="connect", by="network off")),
]


def test_a_link_that_may_not_be_followed_is_no_evidence() -> None:
    """A command can name any path, also one that we can't resolve."""

    def resolve(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    assert denied("cat: /proc/1/root/x: Permission denied", resolve=resolve) == (GUESS,)


@pytest.mark.parametrize(("line", "denial"), SAID)
def test_evidence(line: str, denial: Denial) -> None:
    """What was meant is named, and by what it was denied."""
    found = denied(f"some output\n{line}\n")
    assert found == (denial,)
    assert is_evidence(denial)


NOT_US = [
    "cat: /root/other: Permission denied",  # readable as far as we are concerned
    "touch: cannot touch '/work/x': Read-only file system",  # writable: not our doing
    "kill: (1) - Operation not permitted",
]


@pytest.mark.parametrize("line", NOT_US)
def test_words_alone_are_a_guess(line: str) -> None:
    """It says so, and is no evidence."""
    assert denied(line) == (GUESS,)
    assert not is_evidence(GUESS)


@pytest.mark.parametrize("code", [2, 126, 127])
def test_some_exit_codes_mean_something_else(code: int) -> None:
    """Misuse, not executable, not found: the words are the program's own."""
    assert denied("permission denied", code) == ()


def test_success_is_no_denial() -> None:
    """Whatever it says."""
    assert denied("touch: '/etc/x': Read-only file system", code=0) == ()


def test_unconfined_is_no_denial() -> None:
    """Nothing of ours stood around it."""
    assert denied("touch: '/etc/x': Read-only file system", access=None) == ()


def test_with_the_network_open_it_is_not_us() -> None:
    """A name that can't be resolved is somebody else's trouble then."""
    access = Access(rules=ACCESS.rules, network=Network.FULL)
    assert denied("Could not resolve host: example.org", access=access) == ()


def test_the_same_is_said_once_and_not_endlessly() -> None:
    """A thousand files are not a thousand denials."""
    lines = "".join(f"touch: cannot touch '/etc/{n}': Read-only file system\n" for n in range(99))
    assert len(denied(lines)) == 16
    assert len(denied("touch: cannot touch '/etc/x': Read-only file system\n" * 9)) == 1


def test_the_retry_of_a_flood_is_bounded() -> None:
    """A line without end costs no more than its beginning."""
    assert denied("x" * 10_000_000 + ": permission denied /etc/x") == (GUESS,)
