"""Which settings run programs: one of each kind, and what looks like one and does not."""

from __future__ import annotations

import pytest

from fairlead.protect.gitconfig import parse
from fairlead.protect.programs import RUNS_PROGRAMS, why_dangerous

RUNS = [
    "[core]\nfsmonitor = /tmp/x",
    "[core]\nsshCommand = x",
    "[core]\nhooksPath = hooks",
    "[core]\npager = x",
    "[core]\neditor = x",
    "[alias]\nst = !x",
    "[alias]\nst = -c core.pager=x log",
    '[credential "https://x"]\nhelper = x',
    '[filter "a.b"]\nclean = x',
    '[diff "x"]\ntextconv = x',
    '[merge "x"]\ndriver = x',
    "[include]\npath = x",
    '[includeIf "gitdir:x"]\npath = x',
    '[remote "o"]\nurl = ext::sh -c x',
    '[remote "o"]\nurl = -x',
    '[url "ext::sh"]\ninsteadOf = https://',
    '[submodule "x"]\nupdate = !x',
    '[remote "o"]\nuploadpack = x',
    "[gpg]\nprogram = x",
    '[gpg "ssh"]\nprogram = x',
    "[protocol]\nallow = always",
    "[pager]\nlog = x",
    "[init]\ntemplateDir = x",
]
HARMLESS = [
    "[core]\nbare = false",
    "[core]\nfsmonitor = true",
    "[core]\nfsmonitor",
    "[user]\nname = !x",
    '[remote "origin"]\nurl = https://example.org/x.git',
    '[remote "origin"]\nurl = git@example.org:x.git',
    '[remote "origin"]\nfetch = +refs/heads/*:refs/remotes/origin/*',
    '[branch "main"]\nremote = origin',
    '[url "https://example.org/"]\ninsteadOf = x:',
    '[submodule "x"]\nupdate = rebase',
    "[pager]\nlog = false",
]


@pytest.mark.parametrize("text", RUNS)
def test_a_program_is_run(text: str) -> None:
    """And there is a reason to tell a person."""
    (entry,) = parse(text.encode())
    assert why_dangerous(entry)


@pytest.mark.parametrize("text", HARMLESS)
def test_nothing_is_run(text: str) -> None:
    """What git itself brings, and plain data."""
    (entry,) = parse(text.encode())
    assert why_dangerous(entry) is None


def test_the_names_are_spelled_as_entries_are() -> None:
    """A pattern with a capital letter would never match."""
    assert all(pattern == pattern.lower() for pattern, _, _ in RUNS_PROGRAMS)
