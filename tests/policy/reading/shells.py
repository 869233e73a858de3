"""Real shells, watched: which programs a text makes them start, with which words."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import Join, PlainCommand, Reading
from tests.programs import require

Started = Counter[tuple[str, ...]]

# Each start leaves a file of its own with the words, and succeeds.
PROBE = """#!/bin/dash
printf '%s\\0' "${0##*/}" "$@" > "$STARTED/$$"
"""
OPTIONS = {
    ShellKind.BASH: ("bash", "--norc", "--noprofile"),
    ShellKind.ZSH: ("zsh", "-f"),
    ShellKind.SH: ("dash",),
}


def started(text: str, shell: ShellKind, names: Iterable[str]) -> tuple[Started, str]:
    """What the shell starts of these names, which are all programs, and what it complains of."""
    with tempfile.TemporaryDirectory() as place:
        programs, log, work = (Path(place, part) for part in ("bin", "log", "work"))
        for directory in (programs, log, work):
            directory.mkdir()
        probe = Path(place, "probe")
        probe.write_text(PROBE)
        probe.chmod(0o755)
        for name in set(names):
            os.symlink(probe, programs / name)
        require("dash")
        path, *options = OPTIONS[shell]
        ended, held = os.pipe()
        done = subprocess.run(
            [require(path), *options, "-c", text],
            env={"PATH": str(programs), "STARTED": str(log), "LC_ALL": "C.UTF-8"},
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[held],
            timeout=60,
        )
        os.close(held)
        with os.fdopen(ended, "rb") as end:
            end.read()  # also what runs in the background holds the other end
        found = [file.read_bytes() for file in log.iterdir()]
    words = [tuple(map(os.fsdecode, record[:-1].split(b"\0"))) for record in found]
    return Counter(words), os.fsdecode(done.stderr)


def expected(reading: Reading) -> Started:
    """What should start if every program succeeds: all but what comes after `||`."""
    counted: Started = Counter()
    skipping = False
    for part in reading.parts:
        assert isinstance(part, PlainCommand)
        if part.join not in (Join.PIPE, Join.PIPE_ALL):
            skipping = part.join is Join.OR
        if not skipping:
            counted[part.argv] += 1
    return counted
