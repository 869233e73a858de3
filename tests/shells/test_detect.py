"""Which shell is used, and which one a name means."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.model.errors import BadRequest
from fairlead.model.params import Shell, ShellKind
from fairlead.shells import argv
from fairlead.shells.detect import Detected, detect, named, session_detected, session_shell

BASH = Shell(kind=ShellKind.BASH, path="/bin/bash")
ZSH = Shell(kind=ShellKind.ZSH, path="/bin/zsh")
ALL = frozenset({"/bin/bash", "/bin/zsh", "/bin/sh", "/usr/bin/fish", "/bin/dash"})


def on(
    there: frozenset[str], passwd: str | None, variable: str | None, platform: str = "linux"
) -> Detected:
    on_path = {path.rsplit("/", 1)[-1]: path for path in sorted(there)}
    return detect(passwd, variable, there.__contains__, on_path.get, platform)


def test_the_passwd_entry_comes_first() -> None:
    """The user's own shell is taken before $SHELL, which an agent may have set."""
    assert on(ALL, "/bin/zsh", "/bin/bash") == Detected(ZSH)


def test_then_the_variable() -> None:
    """Without an entry, or with one that is no login, $SHELL says it."""
    assert on(ALL, None, "/bin/zsh").shell == ZSH
    assert on(ALL, "/usr/sbin/nologin", "/bin/zsh") == Detected(ZSH)
    assert on(ALL, "/bin/false", None) == Detected(BASH)


def test_a_shell_that_moved_is_looked_for() -> None:
    """An entry that points nowhere still says the kind."""
    assert on(ALL, "/usr/local/bin/zsh", None).shell == ZSH


def test_fish_does_not_run_scripts() -> None:
    """Scripts are not written for fish, so bash runs them, and it says so."""
    found = on(ALL, "/usr/bin/fish", None)
    assert found.shell == BASH
    assert found.note == "scripts run in /bin/bash, because the login shell is /usr/bin/fish"


def test_fish_and_only_sh() -> None:
    """Where there is no bash, sh runs what fish would not."""
    found = on(frozenset({"/usr/bin/fish", "/bin/sh"}), "/usr/bin/fish", "/usr/bin/fish")
    assert found.shell == Shell(kind=ShellKind.SH, path="/bin/sh")


def test_dash_keeps_its_path() -> None:
    """dash is a POSIX shell under its own path."""
    assert on(ALL, "/bin/dash", None).shell == Shell(kind=ShellKind.SH, path="/bin/dash")


@pytest.mark.parametrize(
    ("platform", "there", "kind"),
    [
        ("darwin", ALL, ShellKind.ZSH),
        ("linux", ALL, ShellKind.BASH),
        ("linux", frozenset(), ShellKind.SH),
        ("win32", frozenset({"/pwsh", "/cmd"}), ShellKind.POWERSHELL),
        ("win32", frozenset({"/cmd"}), ShellKind.CMD),
        ("win32", frozenset(), ShellKind.CMD),
    ],
)
def test_fallbacks(platform: str, there: frozenset[str], kind: ShellKind) -> None:
    """With nothing to go by, each platform has its order."""
    assert on(there, None, None, platform).shell.kind is kind


def test_windows_paths_are_read() -> None:
    """A drive, backslashes and .EXE do not hide the kind."""
    path = r"C:\Program Files\PowerShell\7\PWSH.EXE"
    found = detect(None, path, lambda _: True, lambda _: None, "win32")
    assert found.shell == Shell(kind=ShellKind.POWERSHELL, path=path)


def test_this_machine() -> None:
    """The session's shell is there, can be run, and is asked for only once."""
    shell = session_shell()
    assert os.access(shell.path, os.X_OK)
    assert shell.kind is not ShellKind.FISH
    assert session_detected() is session_detected()


def test_names_and_paths(require: Callable[[str], str]) -> None:
    """A call may name a kind, or the path of one."""
    for name in ("bash", "zsh", "sh", "dash", "fish"):
        path = require(name)
        assert named(name) == named(path)
        assert argv(named(name), "true", False)[0] == path
    assert named("dash").kind is ShellKind.SH


@pytest.mark.parametrize(
    ("untrusted", "complaint"),
    [
        ("python", "one of bash, zsh, sh, dash, fish, pwsh, powershell, cmd, or the absolute"),
        ("", "one of bash"),
        ("BASH", "one of bash"),
        ("bash -x", "one of bash"),
        ("-bash", "one of bash"),
        ("/usr/bin/env", "one of bash"),
        ("/bin/bash\0", "NUL"),
        ("./bash", "starts at the root"),
        ("/no/such/bash", "not found, or is not executable"),
        ("cmd", "cmd was not found on this machine"),
    ],
)
def test_other_names_are_refused(untrusted: str, complaint: str) -> None:
    """What is no shell, or is not there, is refused with the reason."""
    with pytest.raises(BadRequest, match=r"^shell: ") as refusal:
        named(untrusted)
    assert complaint in str(refusal.value)


def test_a_path_must_be_a_program(tmp_path: Path) -> None:
    """Neither a directory nor a file without the executable bit will do."""
    (tmp_path / "bash").mkdir()
    (tmp_path / "zsh").write_text("")
    for name in ("bash", "zsh"):
        with pytest.raises(BadRequest, match="not executable"):
            named(str(tmp_path / name))
