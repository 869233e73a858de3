"""The command interpreter of Windows. It has no profile, so login changes nothing."""

from __future__ import annotations

from fairlead.model.params import Shell

NAMES = ("cmd",)
PLACES = (r"C:\Windows\System32\cmd.exe",)


def argv(shell: Shell, script: str, login: bool) -> tuple[str, ...]:
    """The arguments that run `script`."""
    return (shell.path, "/c", script)
