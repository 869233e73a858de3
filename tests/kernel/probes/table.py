"""All probes in every tier and as every user, as a table of marks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any

from tests.kernel.people import REPOSITORY, as_user
from tests.kernel.probes import ALL
from tests.kernel.probes.model import WISHED, Outcome, Wish

TIERS = ("namespaces", "landlock", "bubblewrap")
PARTS = 2  # processes that share the probes of one tier
SECONDS = 300
ADMITTED, OWN = "admitted", "n/a"
_SHOWN = 2000

Columns = Mapping[tuple[str, str], Sequence[Outcome]]  # (tier, user) -> what came of each


def run(tier: str, user: str, names: Sequence[str] = ()) -> list[Outcome]:
    """Every probe, or those with these names, in processes of this user."""
    with ExitStack() as stack:
        parts = [_Part(stack, tier, user, part, names) for part in range(PARTS)]
        found = {one.probe: one for one in chain.from_iterable(part.outcomes() for part in parts)}
    return [found[probe.name] for probe in ALL if probe.name in found]


def wrong(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each that is not as it has to be."""
    return [
        f"{one.probe}: wanted {WISHED[one.wish]}, {one.got} {one.said[-300:].strip()!r}"
        for one in outcomes
        if not one.right
    ]


def render(columns: Columns) -> str:
    """A mark in every column: as wished, or what the tier admits; else, what it was instead."""
    heads = [f"{tier}/{user}" for tier, user in columns]
    rows = list(zip(*columns.values(), strict=True))
    width = max(len(row[0].probe) for row in rows)
    lines = ["  ".join(["probe".ljust(width), "wanted ", *heads])]
    for row in rows:
        marks = [_mark(one).ljust(len(head)) for one, head in zip(row, heads, strict=True)]
        lines.append("  ".join([row[0].probe.ljust(width), WISHED[row[0].wish].ljust(7), *marks]))
    return "\n".join([*lines, *_summary(columns)])


def _mark(one: Outcome) -> str:
    if not one.right:
        return one.got.upper()[:16]
    if one.got == WISHED[one.wish]:
        return "ok"
    return ADMITTED if one.excuses else OWN


def _summary(columns: Columns) -> list[str]:
    return [
        f"{tier}/{user}: {sum(map(_is_as_wished, found))} as wished, "
        f"{sum(bool(one.excuses) for one in found)} admitted, {len(wrong(found))} wrong"
        for (tier, user), found in columns.items()
    ]


def _is_as_wished(one: Outcome) -> bool:
    return one.right and one.got == WISHED[one.wish]


class _Part:
    """A process that runs some of the probes."""

    def __init__(
        self, stack: ExitStack, tier: str, user: str, part: int, names: Sequence[str]
    ) -> None:
        self._output, self._errors = (
            stack.enter_context(os.fdopen(os.memfd_create(name), "w+b"))
            for name in ("output", "errors")
        )
        program = (sys.executable, "-m", "tests.kernel.probes.running", tier)
        self._process = subprocess.Popen(
            as_user(user, [*program, "--part", f"{part}/{PARTS}", *names]),
            cwd=REPOSITORY,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._errors,
        )
        stack.callback(self._process.wait)
        stack.callback(self._process.kill)

    def outcomes(self) -> list[Outcome]:
        status = self._process.wait(SECONDS)
        for file in (self._output, self._errors):
            file.seek(0)
        assert status == 0, self._errors.read().decode(errors="replace")[-_SHOWN:]
        return [_outcome(json.loads(line)) for line in self._output]


def _outcome(row: dict[str, Any]) -> Outcome:
    lists = {name: tuple(row[name]) for name in ("excuses", "missing")}
    return Outcome(**{**row, **lists, "wish": Wish(row["wish"])})


def _environment() -> dict[str, str]:
    """Programs of this interpreter first; nothing of whoever runs the tests."""
    places = (os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin")
    return {
        "PATH": os.pathsep.join(places),
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")]),
        "PYTHONDONTWRITEBYTECODE": "1",  # the tree may belong to somebody else
        "LANG": "C.UTF-8",
    }
