"""Text becomes argv: the right words, and real shells that obey them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.model.params import Shell, ShellKind
from fairlead.shells import SHELLS, argv
from fairlead.shells.powershell import UTF8_CONSOLE

SCRIPT = "echo 'it is' \"$LEVEL\""


@pytest.mark.parametrize(
    ("kind", "path", "login", "expected"),
    [
        (ShellKind.BASH, "/bin/bash", True, ("/bin/bash", "-lc", SCRIPT)),
        (ShellKind.BASH, "/bin/bash", False, ("/bin/bash", "-c", SCRIPT)),
        (ShellKind.ZSH, "/bin/zsh", True, ("/bin/zsh", "-lc", SCRIPT)),
        (ShellKind.ZSH, "/bin/zsh", False, ("/bin/zsh", "-c", SCRIPT)),
        (ShellKind.SH, "/bin/dash", True, ("/bin/dash", "-lc", SCRIPT)),
        (ShellKind.SH, "/bin/sh", False, ("/bin/sh", "-c", SCRIPT)),
        (ShellKind.FISH, "/bin/fish", True, ("/bin/fish", "-l", "-c", SCRIPT)),
        (ShellKind.FISH, "/bin/fish", False, ("/bin/fish", "-c", SCRIPT)),
        (ShellKind.POWERSHELL, "pwsh", True, ("pwsh", "-Command", UTF8_CONSOLE + SCRIPT)),
        (
            ShellKind.POWERSHELL,
            "pwsh",
            False,
            ("pwsh", "-NoProfile", "-Command", UTF8_CONSOLE + SCRIPT),
        ),
        (ShellKind.CMD, "cmd.exe", True, ("cmd.exe", "/c", SCRIPT)),
        (ShellKind.CMD, "cmd.exe", False, ("cmd.exe", "/c", SCRIPT)),
    ],
)
def test_the_words(kind: ShellKind, path: str, login: bool, expected: tuple[str, ...]) -> None:
    """Each shell has its own spelling, and the script is always one word, as it was."""
    assert argv(Shell(kind=kind, path=path), SCRIPT, login) == expected


def test_every_kind_has_its_module() -> None:
    """The table is complete, and no program's name stands in two modules."""
    names = [name for module in SHELLS.values() for name in module.NAMES]
    assert set(SHELLS) == set(ShellKind)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("program", "kind", "profile", "text"),
    [
        ("bash", ShellKind.BASH, ".bash_profile", "export LEVEL=login"),
        ("zsh", ShellKind.ZSH, ".zprofile", "export LEVEL=login"),
        ("dash", ShellKind.SH, ".profile", "export LEVEL=login"),
        (
            "fish",
            ShellKind.FISH,
            ".config/fish/config.fish",
            "status is-login; and set -x LEVEL login",
        ),
    ],
)
def test_real_shells(
    tmp_path: Path,
    require: Callable[[str], str],
    program: str,
    kind: ShellKind,
    profile: str,
    text: str,
) -> None:
    """A login shell reads the profile and another does not; quotes survive."""
    place = tmp_path / profile
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text + "\n")
    shell = Shell(kind=kind, path=require(program))
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LEVEL": "plain"}
    said = {
        login: subprocess.run(
            argv(shell, SCRIPT, login), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ).stdout
        for login in (True, False)
    }
    assert said == {True: b"it is login\n", False: b"it is plain\n"}
