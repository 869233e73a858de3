"""What stands around commands is the same object until something changes, and never after."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.access import Limits, Network, PathMode, SandboxPolicy, SandboxType
from fairlead.model.confine import Loopback, Seccomp
from fairlead.model.errors import Rejected, SandboxFailed
from fairlead.model.frozen import replace
from fairlead.model.sandbox import Host, SandboxSettings
from fairlead.sandbox import confiner as module
from fairlead.sandbox import sockets
from fairlead.sandbox import survey as module_of_survey
from fairlead.sandbox.confiner import Confined, Confiner
from fairlead.sandbox.host import Machine
from fairlead.sandbox.survey import Guarded, Surroundings
from fairlead.sandbox.syscalls import ARCHITECTURES, NUMBERS
from tests.sandbox import filter_machine

FULL = Host(landlock_abi=7, uid=1000, gid=1000)
FAILED = SandboxFailed("no", step="mounts", errno=1)


class Play:
    """A home, a workspace with a repository in it, and a machine that is not what it seems."""

    def __init__(self, place: Path) -> None:
        self.home, self.work = place / "home", place / "work"
        self.really = FULL  # what a probe would find
        self.probes = 0
        for directory in (self.home / ".ssh", self.work / ".git/hooks"):
            directory.mkdir(parents=True)

    def confiner(self, host: Host = FULL, *, answers: bool = True, **said: Any) -> Confiner:
        settings = SandboxSettings(
            policy=SandboxPolicy.WORKSPACE_WRITE, workspace=self.work, exclude_slash_tmp=True
        )
        return Confiner(
            replace(settings, **said),
            Surroundings(home=str(self.home), environment={}, sockets=True),
            Machine(host, self._probe),
            self._guarded,
            answers=answers,
        )

    def _probe(self, _host: Host) -> Host:
        self.probes += 1
        return self.really

    def _guarded(self, root: str, git_commit: bool) -> Guarded:
        hooks, own = f"{root}/.git/hooks", f"{root}/.fairlead"
        return Guarded(
            read_only=tuple(filter(os.path.lexists, (hooks, own))),
            absent=tuple(path for path in (hooks, own) if not os.path.lexists(path)),
            links=tuple(filter(os.path.islink, (hooks, own))),
            pinned=(f"{root}/.git",) if git_commit else (),
        )


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Sockets are looked for each time, and only here: those of others come and go."""
    place = Path(os.path.realpath(tmp_path))
    found = sockets.foreign_sockets

    def here(tolerated: tuple[str, ...]) -> list[str]:
        return [path for path in found(tolerated) if Path(path).is_relative_to(place)]

    for where in (sockets, module_of_survey):
        monkeypatch.setattr(where, "foreign_sockets", here)
    monkeypatch.setattr(module, "SOCKETS_EVERY", 0)
    return Play(place)


def mode(confiner: Confiner, path: Path) -> PathMode | None:
    found = confiner.access().rule_for(str(path))
    return found.mode if found else None


# --- The same until something changes -----------------------------------------------------------


def test_nothing_changed_is_the_same_object(play: Play) -> None:
    """The spawner looks for identity: the zygote of before will do."""
    confiner = play.confiner()
    first = confiner.confined("a")
    (play.work / "file").write_text("a command wrote this")
    (play.work / ".git/index").write_text("and this")
    assert confiner.confined("a") is first
    assert first.confinement is not None
    assert first.confinement.agent == "a"


def test_agents_have_their_own(play: Play) -> None:
    """Under the same access; one that is forgotten is rendered anew if it does come back."""
    confiner = play.confiner()
    a, b = confiner.confined("a"), confiner.confined("b")
    assert a.access is b.access
    assert a.confinement != b.confinement
    confiner.forget("a")
    assert confiner.confined("b") is b
    assert confiner.confined("a") is not a


def _replace_root(play: Play) -> None:
    play.work.rename(play.work.parent / "before")
    (play.work / ".git/hooks").mkdir(parents=True)


def _replace_hooks(play: Play) -> None:
    (play.work / ".git/hooks").rename(play.work / ".git/hooks-before")
    (play.work / ".git/hooks").mkdir()


def _remove_hooks(play: Play) -> None:
    (play.work / ".git/hooks").rmdir()


def _make_what_was_absent(play: Play) -> None:
    (play.work / ".fairlead").mkdir()


def _make_a_secret(play: Play) -> None:
    (play.home / ".netrc").write_text("password")


def _replace_a_secret(play: Play) -> None:
    (play.home / ".ssh").rmdir()
    (play.home / ".ssh").mkdir()


def _remove_a_secret(play: Play) -> None:
    (play.home / ".ssh").rmdir()


def _make_a_link_of_what_was_absent(play: Play) -> None:
    (play.work / ".fairlead").symlink_to("elsewhere")


def _change_a_protected_directory(play: Play) -> None:
    (play.work / ".git/hooks/pre-commit").write_text("#!/bin/sh")


CHANGES = {
    "a root is another directory": _replace_root,
    "a protected directory is another one": _replace_hooks,
    "a protected directory is gone": _remove_hooks,
    "something changed in a protected directory": _change_a_protected_directory,
    "a protected name appeared": _make_what_was_absent,
    "a protected name appeared as a link": _make_a_link_of_what_was_absent,
    "a secret appeared": _make_a_secret,
    "a secret is another file, maybe with the old number": _replace_a_secret,
    "a secret is gone": _remove_a_secret,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen_at_the_next_command(play: Play, change: Callable[[Play], None]) -> None:
    """What is set up shows what was there: it is surveyed and set up anew, once."""
    confiner = play.confiner()
    before = confiner.confined("a")
    change(play)
    after = confiner.confined("a")
    assert after is not before
    assert after.confinement is not before.confinement
    assert confiner.confined("a") is after


def test_what_appeared_is_in_the_new_access(play: Play) -> None:
    """A secret is hidden; a protected name is no longer awaited, but carved out."""
    confiner = play.confiner()
    assert mode(confiner, play.home / ".netrc") is None
    assert confiner.access().absent == (str(play.work / ".fairlead"),)
    _make_a_secret(play)
    _make_what_was_absent(play)
    assert mode(confiner, play.home / ".netrc") is PathMode.HIDE
    assert mode(confiner, play.work / ".fairlead") is PathMode.READ
    assert confiner.access().absent == ()


def test_a_protected_link_is_held(play: Play) -> None:
    """What guards the roots says which names are links: each gets a rule of its own."""
    _make_a_link_of_what_was_absent(play)
    (link,) = [rule for rule in play.confiner().access().rules if rule.link]
    assert (link.path, link.mode) == (str(play.work / ".fairlead"), PathMode.READ)


def test_a_secret_in_a_writable_home_is_awaited_by_name(play: Play) -> None:
    """There directories change all the time, and mean nothing."""
    confiner = play.confiner(workspace=play.home)
    before = confiner.confined("a")
    (play.home / "notes").write_text("")
    assert confiner.confined("a") is before
    _make_a_secret(play)
    assert mode(confiner, play.home / ".netrc") is PathMode.HIDE
    assert confiner.confined("a") is not before


def test_a_directory_for_secrets_that_appears(play: Play) -> None:
    """`~/.config` was not there at all: with it come the secrets in it."""
    confiner = play.confiner()
    before = confiner.confined("a")
    (play.home / ".config/gh").mkdir(parents=True)
    assert confiner.confined("a") is not before
    assert mode(confiner, play.home / ".config/gh") is PathMode.HIDE


def test_a_socket_comes_and_goes(play: Play) -> None:
    """Whoever listens is covered from the next command on, and no longer than he listens."""
    confiner = play.confiner()
    before = confiner.confined("a")
    path = play.home.parent / "docker.sock"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(os.fspath(path))
        daemon.listen()
        assert confiner.confined("a") is not before
        assert mode(confiner, path) is PathMode.HIDE
    path.unlink()
    assert mode(confiner, path) is None


def test_sockets_are_not_looked_for_before_every_command(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's table is slow to read."""
    confiner = play.confiner()
    before = confiner.confined("a")
    monkeypatch.setattr(module, "SOCKETS_EVERY", 1e9)
    monkeypatch.setattr(sockets, "foreign_sockets", lambda _: pytest.fail("looked"))
    assert confiner.confined("a") is before


def test_a_root_that_vanished_is_a_refusal(play: Play) -> None:
    """By name; with the root back there is a sandbox again."""
    confiner = play.confiner()
    confiner.confined("a")
    play.work.rename(play.work.parent / "away")
    with pytest.raises(Rejected, match=r"the workspace .*work can't be used: No such file"):
        confiner.confined("a")
    (play.work.parent / "away").rename(play.work)
    assert confiner.confined("a").access.writable[0] == str(play.work)


def test_it_can_be_told_to_look(play: Play) -> None:
    """For what no mark shows. Nothing new is no new sandbox."""
    confiner = play.confiner()
    before = confiner.confined("a")
    confiner.look_again()
    assert confiner.confined("a") is before


# --- Which tier ---------------------------------------------------------------------------------

UNSHARED = replace(FULL, user_namespaces=False, mount_namespaces=False, new_proc=False)
BARE = replace(FULL, launcher=False, bubblewrap="/usr/bin/bwrap")
TIERS = [
    (FULL, SandboxType.NAMESPACES),
    (replace(FULL, user_namespaces=False, root=True, uid=0), SandboxType.NAMESPACES),
    (replace(FULL, landlock_abi=0), SandboxType.NAMESPACES),
    (replace(FULL, bubblewrap="/usr/bin/bwrap"), SandboxType.NAMESPACES),
    (UNSHARED, SandboxType.LANDLOCK),
    (replace(UNSHARED, landlock_abi=1), SandboxType.LANDLOCK),
    (BARE, SandboxType.BUBBLEWRAP),
    (replace(BARE, platform="darwin", bubblewrap=None), SandboxType.SEATBELT),
]
WRAPPED = (SandboxType.BUBBLEWRAP, SandboxType.SEATBELT)


@pytest.mark.parametrize(("host", "tier"), TIERS)
def test_the_first_tier_that_the_machine_offers(play: Play, host: Host, tier: SandboxType) -> None:
    """Namespaces, then Landlock, then bwrap where there is no launcher."""
    confined = play.confiner(host, accept=("all",)).confined("a")
    assert confined.report.type is tier
    assert (confined.confinement is None) is (tier in WRAPPED)
    assert (confined.wrapper is None) is (tier not in WRAPPED)


NOTHING = [
    replace(UNSHARED, landlock_abi=0),
    replace(FULL, seccomp=False),
    replace(UNSHARED, seccomp=False),
    replace(BARE, bubblewrap=None),
    replace(BARE, seccomp=False),
    replace(UNSHARED, landlock_abi=0, bubblewrap="/usr/bin/bwrap"),  # it could do no more either
    replace(BARE, platform="win32"),
    replace(FULL, platform="freebsd14"),
]


@pytest.mark.parametrize("host", NOTHING)
def test_where_nothing_confines_nothing_runs(play: Play, host: Host) -> None:
    """Not even where everything is accepted: less is something, nothing is not."""
    with pytest.raises(Rejected, match=r"no sandbox can be had .* The command was not run\."):
        play.confiner(host, accept=("all",)).confined("a")


def test_a_tier_that_lacks_something_is_refused_unless_accepted(play: Play) -> None:
    """With what it lacks, in words."""
    with pytest.raises(
        Rejected, match=r"with landlock, names like \.git inside a writable root can"
    ):
        play.confiner(UNSHARED).confined("a")


NAMESPACES_LACK = [
    (FULL, {}, ()),
    (replace(FULL, landlock_abi=0), {}, ()),
    (replace(FULL, landlock_abi=5), {"network": Network.FULL}, ("unix-sockets",)),
    (replace(FULL, landlock_abi=6), {"network": Network.FULL}, ()),
    (replace(FULL, new_proc=False), {}, ("pid-namespace",)),
    (replace(FULL, new_proc=False, landlock_abi=5), {}, ("pid-namespace", "signals")),
    (replace(FULL, net_namespaces=False), {}, ()),
    (replace(FULL, net_namespaces=False, landlock_abi=0), {}, ("unix-sockets",)),
    (replace(FULL, groups=False), {}, ()),
    (replace(FULL, groups=False), {"limits": Limits(open_files=9)}, ()),
    (replace(FULL, groups=False), {"limits": Limits(memory=9)}, ("shared-limits",)),
    (replace(FULL, groups=False), {"limits": Limits(processes=9)}, ("shared-limits",)),
    (FULL, {"limits": Limits(memory=9, processes=9)}, ()),
]


@pytest.mark.parametrize(("host", "said", "missing"), NAMESPACES_LACK)
def test_what_the_first_tier_may_lack(
    play: Play, host: Host, said: dict[str, Any], missing: tuple[str, ...]
) -> None:
    """On a machine that does not let it do everything."""
    assert play.confiner(host, accept=("all",), **said).confined("a").report.missing == missing


def internet(confined: Confined) -> bool:
    """Whether the filter lets an internet socket be made."""
    if confined.confinement is not None:
        last = confined.confinement.setup[-1]
        assert isinstance(last, Seccomp)
        program = last.program
    else:
        assert confined.wrapper is not None
        ((_, program),) = confined.wrapper.attached
    number = NUMBERS["x86_64"]["socket"]
    stream = filter_machine.answer(program, ARCHITECTURES["x86_64"], number, (2, 1, 6))
    return stream == (filter_machine.ALLOW, 0)


@pytest.mark.parametrize(
    ("host", "offline"),
    [
        (FULL, True),  # to a network that has only a loopback
        (BARE, True),
        (replace(FULL, net_namespaces=False), False),
        (replace(BARE, net_namespaces=False), False),
        (UNSHARED, False),
    ],
)
def test_without_a_network_of_its_own_the_filter_keeps_commands_off(
    play: Play, host: Host, offline: bool
) -> None:
    """No internet socket can be made, not even for the loopback. With the network full any can."""
    assert internet(play.confiner(host, accept=("all",)).confined("a")) is offline
    full = play.confiner(host, accept=("all",), network=Network.FULL).confined("a")
    assert internet(full)


def test_without_network_namespaces_none_is_made(play: Play) -> None:
    """A plan that makes one would fail."""
    confined = play.confiner(replace(FULL, net_namespaces=False)).confined("a").confinement
    usual = play.confiner().confined("a").confinement
    assert confined is not None
    assert usual is not None
    assert Loopback() not in confined.setup
    assert Loopback() in usual.setup


def test_memory_and_processes_are_the_group_s(play: Play) -> None:
    """Where there are groups: all commands of an agent together. Without, each process's own."""
    limits = Limits(memory=1 << 30, processes=64, open_files=9)
    for host in (FULL, UNSHARED):
        confined = play.confiner(host, limits=limits, accept=("all",)).confined("a")
        assert confined.confinement is not None
        assert (confined.confinement.memory, confined.confinement.processes) == (1 << 30, 64)
        assert confined.limits == replace(limits, processes=None)
        alone = play.confiner(replace(host, groups=False), limits=limits, accept=("all",))
        confined = alone.confined("a")
        assert confined.confinement is not None
        assert (confined.confinement.memory, confined.confinement.processes) == (None, None)
        assert confined.limits == limits


@pytest.mark.parametrize(
    ("answers", "notify", "listener"),
    [(True, True, True), (False, True, False), (True, False, False)],
)
def test_who_is_asked(play: Play, answers: bool, notify: bool, listener: bool) -> None:
    """The filter asks only where the kernel can and somebody answers: else calls would wait."""
    confined = play.confiner(replace(FULL, notify=notify), answers=answers).confined("a")
    assert confined.confinement is not None
    last = confined.confinement.setup[-1]
    assert isinstance(last, Seccomp)
    assert last.listener is listener


# --- When a plan fails --------------------------------------------------------------------------


def test_a_failure_leads_to_the_next_tier(play: Play) -> None:
    """The machine is looked at, and what it can't do is not planned again."""
    play.really = UNSHARED
    confiner = play.confiner(accept=("all",))
    assert confiner.confined("a").report.type is SandboxType.NAMESPACES
    assert confiner.learn(FAILED)
    assert confiner.confined("a").report.type is SandboxType.LANDLOCK
    assert not confiner.learn(FAILED)
    assert play.probes == 1


def test_a_failure_may_lead_to_a_refusal(play: Play) -> None:
    """If what is left is less than the operator accepts, or nothing at all."""
    play.really = UNSHARED
    confiner = play.confiner()
    confiner.confined("a")
    assert confiner.learn(FAILED)
    with pytest.raises(Rejected, match="the sandbox can't be enforced here: with landlock"):
        confiner.confined("a")
    play.really = replace(UNSHARED, landlock_abi=0, why=(("mounts", "EPERM"),))
    confiner = play.confiner()
    assert confiner.learn(FAILED)
    with pytest.raises(Rejected, match=r"no sandbox can be had on this machine \(mounts: EPERM\)"):
        confiner.confined("a")


def test_a_failure_because_of_a_path_is_worth_another_try(play: Play) -> None:
    """Something was replaced between the look and the mount: the machine is as it was, the paths
    are not."""
    confiner = play.confiner()
    confiner.confined("a")
    _replace_hooks(play)
    assert confiner.learn(FAILED)
    confiner.confined("a")
    assert not confiner.learn(FAILED)


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ESTALE])
def test_what_went_away_meanwhile_is_worth_another_try(play: Play, number: int) -> None:
    """What a plan names beside the rules is looked for again."""
    confiner = play.confiner()
    confiner.confined("a")
    assert confiner.learn(SandboxFailed("gone", step="mounts", errno=number))


def test_a_failure_without_any_news(play: Play) -> None:
    """The same plan would fail the same way."""
    confiner = play.confiner()
    confiner.confined("a")
    assert not confiner.learn(FAILED)


def test_words_to_accept_are_checked_at_once(play: Play) -> None:
    """Not when the first command asks."""
    with pytest.raises(Rejected, match="accept: no such word 'metdata'"):
        play.confiner(accept=("metdata",))
