"""Zsh: `-lc` reads the profile too; `.zshenv` is read either way."""

from __future__ import annotations

from fairlead.model.params import Shell

NAMES = ("zsh",)
PLACES = ("/bin/zsh", "/usr/bin/zsh", "/usr/local/bin/zsh")


def argv(shell: Shell, script: str, login: bool) -> tuple[str, ...]:
    """The arguments that run `script`."""
    return (shell.path, "-lc" if login else "-c", script)
