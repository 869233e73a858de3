"""A protected name that is a symbolic link: held in place where that can be done, else missing."""

from __future__ import annotations

import pytest

from fairlead.model.access import Access, PathMode, PathRule
from fairlead.model.confine import Attribute, Identity, MountAttach, MountTree
from fairlead.model.container import ContainerEngine, ContainerHost
from fairlead.model.sandbox import Host
from fairlead.sandbox import bubblewrap, container, landlock, namespaces, seatbelt, windows
from fairlead.sandbox.system import System

WORK = PathRule("/work", PathMode.WRITE, Identity(8, 1), True, "workspace")
LINK = PathRule("/work/.claude", PathMode.READ, Identity(8, 2), False, "protected link", link=True)
PLAIN, LINKED = Access(rules=(WORK,)), Access(rules=(WORK, LINK))
HOST = Host(landlock_abi=7, bubblewrap="/usr/bin/bwrap")
FOUND = ContainerHost(engine=ContainerEngine.PODMAN, program="/usr/bin/podman", image="i")
SYSTEM = System(
    proc_read_only=(), proc_masked=(), sys_masked=(), run=False, run_kept=(), devices=()
)


def in_container(access: Access) -> tuple[str, ...]:
    made = container.render(access, FOUND, HOST, home="/root", agent="a", filter_program=b"x" * 8)
    assert made.container is not None
    return (*made.container.options, *(path for path, _ in made.container.shown))


def test_a_mount_holds_it() -> None:
    """On the link itself, which is the one that was looked at."""
    setup = namespaces.render(LINKED, HOST, SYSTEM, agent="a", filter_program=b"").setup
    place = setup.index(MountTree(0, LINK.path, LINK.identity))
    assert setup[place + 1] == MountAttach(0, LINK.path, LINK.identity, Attribute.READ_ONLY)


@pytest.mark.parametrize("tier", ["bubblewrap", "container"])
def test_who_would_follow_it_is_told_nothing(tier: str) -> None:
    """Such a program would mount on what it leads to."""
    render = {
        "bubblewrap": lambda access: bubblewrap.render(access, HOST, SYSTEM, b"").argv,
        "container": in_container,
    }[tier]
    assert "/work" in " ".join(render(LINKED))
    assert not [word for word in render(LINKED) if LINK.path in word]


@pytest.mark.parametrize(
    ("tier", "lacks"),
    [("namespaces", False), ("landlock", True), ("bubblewrap", True), ("container", True)],
)
def test_where_it_can_not_be_held_that_is_missing(tier: str, lacks: bool) -> None:
    """By the word for protected names, and only where there is such a link."""
    missing = {
        "namespaces": lambda access: namespaces.missing(access, HOST),
        "landlock": lambda access: landlock.tier_steps(access, 7, lambda _: ())[1],
        "bubblewrap": lambda access: bubblewrap.missing(access, HOST),
        "container": lambda access: container.missing(access, FOUND),
    }[tier]
    assert ("protected-names" in missing(LINKED)) is lacks
    assert "protected-names" not in missing(PLAIN)


def test_on_other_systems_it_is_closed_by_its_own_name() -> None:
    """A rule for the link, not for what is below it."""
    assert '(deny file-write* (literal (param "RULE_1")))' in seatbelt.profile(LINKED)
    plan = windows.render(Access(rules=(LINK,)), HOST, "a")
    assert {entry.path for entry in plan.entries} == {LINK.path}
