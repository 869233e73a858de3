"""fish: runs only when a call names it, because scripts are written for POSIX shells."""

from __future__ import annotations

from fairlead.model.params import Shell

NAMES = ("fish",)
PLACES = ("/usr/bin/fish", "/usr/local/bin/fish", "/opt/homebrew/bin/fish")


def argv(shell: Shell, script: str, login: bool) -> tuple[str, ...]:
    """The arguments that run `script`."""
    return (shell.path, "-l", "-c", script) if login else (shell.path, "-c", script)
