"""Bash: `-lc` reads the profile, `-c` does not."""

from __future__ import annotations

from fairlead.model.params import Shell

NAMES = ("bash",)
PLACES = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")


def argv(shell: Shell, script: str, login: bool) -> tuple[str, ...]:
    """The arguments that run `script`."""
    return (shell.path, "-lc" if login else "-c", script)
