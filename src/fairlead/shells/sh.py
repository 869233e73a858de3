"""The POSIX shell, by whatever program: dash is one under its own name."""

from __future__ import annotations

from fairlead.model.params import Shell

NAMES = ("sh", "dash")
PLACES = ("/bin/sh", "/usr/bin/sh", "/bin/dash", "/usr/bin/dash")


def argv(shell: Shell, script: str, login: bool) -> tuple[str, ...]:
    """The arguments that run `script`."""
    return (shell.path, "-lc" if login else "-c", script)
