"""A program that stands in for podman: it notes what it is asked, and says what it is told to.

A container of it is no container: the launcher begins on this machine. So everything around
containers can be tried where there are none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fairlead.model.confine import Confinement, Container, Identity, NoNewPrivileges

_PROGRAM = """#!/bin/sh
cd {directory} || exit 1
echo "$*" >>asked
[ ! -e slow ] || read -r go <slow
[ ! -e "fails-$1" ] || {{ cat "fails-$1" >&2; exit 125; }}
[ ! -e "says-$1" ] || cat "says-$1"
[ "$1" = run ] && [ ! -e silent ] || exit 0
for word; do
    path=${{word#type=bind,src=}} path=${{path%%,*}}
    case $word in
    *,dst=/run/.fairlead/launcher,*) launcher=$path ;;
    *,dst=/run/.fairlead/meet,*) meet=$path ;;
    esac
done
setsid "$launcher" connect "$meet/engine" </dev/null >/dev/null 2>&1 &
"""


@dataclass(frozen=True, slots=True)
class ScriptedEngine:
    """It lives in a directory, and what it does is said by files there."""

    directory: Path

    @property
    def program(self) -> str:
        return str(self.directory / "podman")

    def install(self) -> ScriptedEngine:
        self.directory.mkdir(exist_ok=True)
        path = Path(self.program)
        path.write_text(_PROGRAM.format(directory=self.directory))
        path.chmod(0o755)
        return self

    def says(self, word: str, text: str) -> None:
        (self.directory / f"says-{word}").write_text(text)

    def fails(self, word: str, text: str) -> None:
        (self.directory / f"fails-{word}").write_text(text)

    def never_connects(self) -> None:
        (self.directory / "silent").touch()

    def waits(self) -> None:
        """Each time it is asked something, for a line of `goes_on`."""
        os.mkfifo(self.directory / "slow")

    def goes_on(self) -> None:
        with (self.directory / "slow").open("w") as file:
            file.write("\n")
        (self.directory / "slow").unlink()

    def asked(self, word: str) -> list[str]:
        """Each time it was asked for something, in full."""
        path = self.directory / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.split()[0] == word]

    def confinement(
        self,
        *shown: tuple[str, Identity],
        hidden: tuple[tuple[str, Identity], ...] = (),
        agent: str = "default",
    ) -> Confinement:
        container = Container(
            program=self.program, options=("--some",), image="id", shown=shown, hidden=hidden
        )
        return Confinement(
            agent=agent, setup=(NoNewPrivileges(),), terminals="/dev/pts", container=container
        )


def identity(path: Path) -> Identity:
    found = path.stat()
    return Identity(found.st_dev, found.st_ino)
