"""What an agent is told of how its commands run."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.config.options import Options
from fairlead.config.surroundings import surroundings
from fairlead.model.access import Network, SandboxPolicy

AT = Path("/work place")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (Options(cwd=AT), ("in a sandbox", "write below /work place and in temporary", "loopback")),
        (Options(cwd=AT, preset="read-only"), ("in a sandbox", "write nothing")),
        (Options(cwd=AT, preset="full-access"), ("nothing confines them",)),
        (Options(cwd=AT, sandbox=SandboxPolicy.EXTERNAL), ("Something around Fairlead may",)),
        (Options(cwd=AT, writable_roots=(Path("/b"),)), ("below /work place, /b and",)),
        (Options(cwd=AT, exclude_tmpdir=True, exclude_slash_tmp=True), ("below /work place, and",)),
        (Options(cwd=AT, network=Network.FULL), ("and reach the network",)),
    ],
)
def test_an_agent_knows_how_far_its_commands_reach(
    options: Options, words: tuple[str, ...]
) -> None:
    """It is told what holds under these options, and nothing that holds under others."""
    said = surroundings(options)
    for word in words:
        assert word in said
    confined = options.sandbox_settings.confines
    assert ("nothing confines them" in said) is not confined
    assert ("is refused" in said) is confined
