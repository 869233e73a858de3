"""The plan as tables: who a command is there, what holds it, and what paths say to it."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.access import Access, Limits, Network, PathMode, PathRule
from fairlead.model.confine import ANYTHING
from fairlead.model.frozen import replace
from fairlead.model.sandbox import MISSING, Host
from fairlead.sandbox.windows import (
    LOW,
    MEDIUM,
    OWNER_RIGHTS,
    Entry,
    Job,
    Kind,
    Rights,
    identity,
    missing,
    render,
)

READ, WRITE, HIDE = PathMode.READ, PathMode.WRITE, PathMode.HIDE
HOST = Host(machine="AMD64", launcher=False)
ADMINISTRATOR = replace(HOST, root=True)


def rule(path: str, mode: PathMode) -> PathRule:
    return PathRule(path, mode, ANYTHING, True, "x")


WORK = rule("C:\\work", WRITE)
GIT = rule("C:\\work\\.git", WRITE)
HOOKS = rule("C:\\work\\.git\\hooks", READ)
SSH = rule("C:\\Users\\u\\.ssh", HIDE)
ACCESS = Access(rules=(SSH, WORK, GIT, HOOKS))
PLAN = render(ACCESS, HOST, "an agent")
SID = PLAN.sid


def test_the_token_has_less_than_we_have() -> None:
    """No group that is more than a user, no privilege but one that everybody needs, and it can't
    write upwards."""
    token = PLAN.token
    assert "S-1-5-32-544" in token.disabled
    assert token.kept_privilege == "SeChangeNotifyPrivilege"
    assert token.integrity == LOW == "S-1-16-4096"


def test_what_is_denied_to_the_sandbox_is_denied() -> None:
    """Its identity is among those that each access has to be granted to; none of the disabled ones
    is."""
    token = PLAN.token
    assert token.restricting[0] == SID
    assert not set(token.restricting) & set(token.disabled)
    assert {"S-1-1-0", "S-1-5-32-545"} <= set(token.restricting)


def entries(path: str) -> set[tuple[Kind, str, Rights, bool]]:
    return {
        (one.kind, one.sid, one.rights, one.inherited) for one in PLAN.entries if one.path == path
    }


PATHS = [
    # A root: labelled low with all in it, itself not to be moved, and owning it gives nothing.
    (
        WORK.path,
        {
            (Kind.LABEL, LOW, Rights.ALL, True),
            (Kind.DENY, SID, Rights.MOVE, False),
            (Kind.GRANT, OWNER_RIGHTS, Rights.ALL, False),
            (Kind.DENY, SID, Rights.CHILDREN, False),  # .git stays in it
        },
    ),
    # Kept in place, and holds what is protected.
    (
        GIT.path,
        {
            (Kind.LABEL, LOW, Rights.ALL, True),
            (Kind.DENY, SID, Rights.MOVE, False),
            (Kind.GRANT, OWNER_RIGHTS, Rights.ALL, False),
            (Kind.DENY, SID, Rights.CHILDREN, False),
        },
    ),
    # Protected: not labelled as the root around it, and nothing in it may be written.
    (HOOKS.path, {(Kind.LABEL, MEDIUM, Rights.ALL, True), (Kind.DENY, SID, Rights.WRITE, True)}),
    # Hidden.
    (SSH.path, {(Kind.LABEL, MEDIUM, Rights.ALL, True), (Kind.DENY, SID, Rights.ALL, True)}),
]


@pytest.mark.parametrize(("path", "wanted"), PATHS, ids=[row[0] for row in PATHS])
def test_what_a_path_says(path: str, wanted: set[tuple[Kind, str, Rights, bool]]) -> None:
    """By the kind of its rule, and by what lies in it."""
    assert entries(path) == wanted


def test_nothing_else_is_touched() -> None:
    """No entry for a path that no rule names and that no root holds: not the home directory that a
    secret lies in."""
    assert {one.path for one in PLAN.entries} == {one.path for one in ACCESS.rules}


def test_nobody_but_the_sandbox_is_denied_anything() -> None:
    """All others have what they had."""
    assert {one.sid for one in PLAN.entries if one.kind is Kind.DENY} == {SID}


def test_a_holder_is_below_a_root_and_not_beside_it() -> None:
    """Names that begin alike are other directories."""
    made = render(
        Access(rules=(WORK, rule("C:\\workshop\\keys", HIDE), rule("c:\\WORK\\a\\b", READ))),
        HOST,
        "a",
    )
    holders = [one.path for one in made.entries if one.rights is Rights.CHILDREN]
    assert holders == ["c:\\WORK\\a"]


def test_only_a_writable_root_is_labelled_low() -> None:
    """Read-only: nothing is."""
    made = render(Access(rules=(SSH,)), HOST, "a")
    assert not [one for one in made.entries if one.sid == LOW]
    assert Entry(path=SSH.path, kind=Kind.DENY, sid=made.sid) in made.entries


def test_an_identity_is_this_sandbox_s() -> None:
    """The same for the same agent and access, another for any other; shaped as an account's."""
    assert identity(ACCESS, "a") == identity(ACCESS, "a")
    others = {identity(ACCESS, "a"), identity(ACCESS, "b"), identity(Access(), "a")}
    assert len(others) == 3
    assert all(len(one.split("-")) == 8 and one.startswith("S-1-5-21-") for one in others)
    assert all(int(number) < 2**32 for one in others for number in one.split("-")[4:])
    assert identity(Access(rules=(rule("C:\\\udcff", WRITE),)), "a")


def test_the_job_holds_all_processes_together() -> None:
    """It ends with our last handle, nothing breaks out of it, and it counts for all."""
    assert PLAN.job == Job(kill_on_close=True, breakaway=False, user_interface=False)
    limits = Limits(memory=1 << 30, processes=64, cpu_seconds=9)
    made = render(replace(ACCESS, limits=limits), HOST, "a").job
    assert (made.memory, made.active_processes, made.cpu_seconds) == (1 << 30, 64, 9)
    assert PLAN.pseudo_console


@pytest.mark.parametrize(
    ("network", "host", "blocked", "lacks"),
    [
        (Network.OFF, HOST, False, True),
        (Network.OFF, ADMINISTRATOR, True, False),
        (Network.FULL, HOST, False, False),
        (Network.FULL, ADMINISTRATOR, False, False),
    ],
)
def test_the_network(network: Network, host: Host, blocked: bool, lacks: bool) -> None:
    """Only an administrator can block it. Whoever is none is told that it is open."""
    access = replace(ACCESS, network=network)
    assert render(access, host, "a").block_network is blocked
    assert ("network" in missing(access, host)) is lacks


ALWAYS = {"pid-namespace", "terminals", "devices", "shared-memory", "seccomp"}


@pytest.mark.parametrize(
    ("said", "lacks"),
    [
        ({}, set()),
        ({"private_tmp": True}, {"private-tmp"}),
        ({"limits": Limits(memory=1, processes=1)}, set()),
    ],
)
def test_what_is_missing(said: dict[str, Any], lacks: set[str]) -> None:
    """In words that an operator can accept."""
    assert set(missing(replace(ACCESS, **said), ADMINISTRATOR)) == ALWAYS | lacks
    assert ALWAYS | lacks <= set(MISSING)
