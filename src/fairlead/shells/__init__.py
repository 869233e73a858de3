"""Shells: text becomes argv. One module per shell with the same few names, in one table."""

from __future__ import annotations

from typing import Protocol

from fairlead.model.params import Shell, ShellKind
from fairlead.shells import bash, cmd, fish, powershell, sh, zsh


class ShellModule(Protocol):
    """What each module here offers: its programs' names, where they usually are, and argv."""

    @property
    def NAMES(self) -> tuple[str, ...]: ...

    @property
    def PLACES(self) -> tuple[str, ...]: ...

    def argv(self, shell: Shell, script: str, login: bool) -> tuple[str, ...]: ...


SHELLS: dict[ShellKind, ShellModule] = {
    ShellKind.BASH: bash,
    ShellKind.ZSH: zsh,
    ShellKind.SH: sh,
    ShellKind.FISH: fish,
    ShellKind.POWERSHELL: powershell,
    ShellKind.CMD: cmd,
}


def argv(shell: Shell, script: str, login: bool) -> tuple[str, ...]:
    """The arguments that make `shell` run `script`."""
    return SHELLS[shell.kind].argv(shell, script, login)
