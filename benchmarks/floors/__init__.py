"""The C floors: built anew for every run, so that they fit the machine they run on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent
FLAGS = ("-O2", "-Wall", "-Wextra", "-pthread")


class NoCompiler(Exception):
    """Nothing can be divided by a floor that cannot be built."""


def build(into: Path) -> Path:
    """Compile every source of this folder; the program is named as its source."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise NoCompiler("the floors are C programs: install a C compiler (cc) or set CC")
    for source in sorted(SOURCES.glob("*.c")):
        subprocess.run([compiler, *FLAGS, "-o", into / source.stem, source], check=True)
    return into
