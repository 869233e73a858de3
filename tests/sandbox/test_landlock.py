"""The steps of the second tier by what the kernel knows, and the words for what it lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from fairlead.model.access import Access, Limits, Network, PathMode, PathRule
from fairlead.model.confine import (
    ANYTHING,
    ConfineStep,
    DropCapabilities,
    Identity,
    Landlock,
    LandlockApply,
    LandlockPath,
    NoNewPrivileges,
    Seccomp,
)
from fairlead.model.frozen import replace
from fairlead.model.sandbox import MISSING, Host
from fairlead.sandbox import landlock

READ, WRITE, HIDE = PathMode.READ, PathMode.WRITE, PathMode.HIDE
FULL = Network.FULL

# A small machine: directories and what is in them.
TREE = {
    "/": ["bin", "dev", "etc", "home", "tmp", "usr", "work"],
    "/dev": ["mqueue", "null", "ptmx", "pts", "random", "sda", "shm", "tty", "urandom", "zero"],
    "/etc": ["passwd", "shadow", "ssl"],
    "/etc/ssl": ["certs", "private"],
    "/home": ["u", "v"],
    "/home/u": [".bashrc", ".netrc", ".ssh", "notes"],
}


def listing(directory: str) -> Iterable[str]:
    return TREE.get(directory, [])


def rule(path: str, mode: PathMode, *, directory: bool = True, because: str = "x") -> PathRule:
    return PathRule(path, mode, Identity(8, len(path)), directory, because)


WORK = rule("/work", WRITE)


def steps(*rules: PathRule, abi: int = 7, **said: Any) -> tuple[ConfineStep, ...]:
    return landlock.tier_steps(replace(Access(rules=rules), **said), abi, listing)[0]


def missing(*rules: PathRule, abi: int = 7, **said: Any) -> set[str]:
    words = landlock.tier_steps(replace(Access(rules=rules), **said), abi, listing)[1]
    assert set(words) <= set(MISSING)
    assert len(words) == len(set(words))
    return set(words)


def allowed(*rules: PathRule, abi: int = 7, **said: Any) -> dict[str, int]:
    """Rights by path: of two rules for one path, the kernel adds them up."""
    found: dict[str, int] = {}
    for step in steps(*rules, abi=abi, **said):
        if isinstance(step, LandlockPath):
            found[step.path] = found.get(step.path, 0) | step.rights
    return found


# What the kernel's header says: LANDLOCK_ACCESS_FS_*, _NET_*, LANDLOCK_SCOPE_* by ABI.
FIRST = 0x1FFF  # execute … make_sym
HANDLED = [
    # ABI, files, network, scopes
    (1, FIRST, 0, 0),
    (2, FIRST | 0x2000, 0, 0),
    (3, FIRST | 0x6000, 0, 0),
    (4, FIRST | 0x6000, 3, 0),
    (5, FIRST | 0xE000, 3, 0),
    (6, FIRST | 0xE000, 3, 3),
    (7, FIRST | 0xE000, 3, 3),
]


@pytest.mark.parametrize(("abi", "files", "network", "scopes"), HANDLED)
def test_everything_that_the_kernel_knows_is_handled(
    abi: int, files: int, network: int, scopes: int
) -> None:
    """What is handled and not allowed is denied. With the network full its ports are not."""
    assert steps(WORK, abi=abi)[0] == Landlock(files=files, network=network, scopes=scopes)
    assert steps(WORK, abi=abi, network=FULL)[0] == Landlock(files=files, scopes=scopes)
    assert steps(WORK, abi=abi)[-1] == LandlockApply()


@pytest.mark.parametrize("abi", range(1, 8))
def test_no_rule_allows_what_is_not_handled(abi: int) -> None:
    """The kernel refuses such a rule, and with it the whole plan."""
    handled = HANDLED[abi - 1][1]
    rules = (WORK, rule("/home/u/.bashrc", WRITE, directory=False))
    for path, rights in allowed(*rules, abi=abi, private_tmp=True, devices=("/dev/kvm",)).items():
        assert rights, path
        assert rights & ~handled == 0, path


# Words that are always missing, and the ABI with which others are not.
ALWAYS = {"metadata", "unix-sockets", "pid-namespace", "terminals", "shared-memory"}
UNTIL = {"truncate": 3, "devices": 5, "signals": 6}


@pytest.mark.parametrize("abi", range(1, 8))
def test_what_is_missing_by_abi(abi: int) -> None:
    """Each word is there until the kernel that brought it."""
    assert missing(WORK, abi=abi) == ALWAYS | {word for word, until in UNTIL.items() if abi < until}


SSH = rule("/home/u/.ssh", HIDE)
NETRC = rule("/home/u/.netrc", HIDE, directory=False)
MISSING_FOR = [
    ((), {}, set()),
    ((NETRC,), {}, set()),
    ((SSH,), {}, {"hidden-names"}),
    ((WORK, rule("/work/.git", READ)), {}, {"protected-names"}),
    ((WORK, rule("/work/keys", HIDE)), {}, {"deny-read", "hidden-names"}),
    ((WORK, rule("/work/secret", HIDE, directory=False)), {}, {"deny-read"}),
    ((rule("/work/s", HIDE, directory=False, because="socket"), WORK), {}, set()),
    ((WORK,), {"private_tmp": True}, {"private-tmp"}),
    ((WORK,), {"network": FULL}, set()),
]


@pytest.mark.parametrize(("rules", "said", "words"), MISSING_FOR)
def test_what_is_missing_for_an_access(
    rules: tuple[PathRule, ...], said: dict[str, Any], words: set[str]
) -> None:
    """A carve-out in a root can't be had, nor the names in a hidden directory be hidden."""
    assert missing(*rules, **said) == ALWAYS | words


@pytest.mark.parametrize("groups", [True, False])
def test_limits_of_many_processes_together(groups: bool) -> None:
    """Only a group of processes can have them, as in the tiers with namespaces."""
    limited = Access(rules=(WORK,), limits=Limits(memory=1))
    _, words = landlock.tier_steps(limited, 7, listing, groups=groups)
    assert ("shared-limits" in words) is not groups
    _, words = landlock.tier_steps(Access(rules=(WORK,)), 7, listing, groups=groups)
    assert "shared-limits" not in words


BESIDE = [
    ((), {"/bin", "/etc", "/home", "/tmp", "/usr", "/work"}),
    ((SSH,), {"/home/u/.bashrc", "/home/u/.netrc", "/home/u/notes", "/home/v", "/etc"}),
    ((SSH, NETRC), {"/home/u/.bashrc", "/home/u/notes", "/home/v", "/etc"}),
    (
        (rule("/etc/shadow", HIDE, directory=False), rule("/etc/ssl/private", HIDE)),
        {"/etc/passwd", "/etc/ssl/certs", "/home"},
    ),
]


@pytest.mark.parametrize(("rules", "wanted"), BESIDE)
def test_what_is_hidden_is_left_out(rules: tuple[PathRule, ...], wanted: set[str]) -> None:
    """All that stands beside the way to it may be read and executed; it and its parents have no
    right but to be listed."""
    found = allowed(*rules)
    assert found.pop("/") == landlock.READ_DIR
    readable = {path for path, rights in found.items() if not path.startswith("/dev")}
    assert wanted <= readable
    for one in rules:
        on_the_way = {one.path[:n] for n, c in enumerate(one.path) if c == "/" and n} | {one.path}
        assert not on_the_way & readable
    rights = {found[path] for path in readable}
    assert rights == {landlock.EXECUTE | landlock.READ_FILE}


def test_what_lies_in_a_root_can_not_be_hidden() -> None:
    """Then all that is readable stays so, which is named; nothing is hidden by halves."""
    found = allowed(WORK, rule("/work/keys", HIDE), SSH)
    assert found["/home"] == landlock.EXECUTE | landlock.READ_FILE


def test_too_much_beside_the_way() -> None:
    """A directory with thousands of names is not taken apart: it is missing, and said so."""
    names = {**TREE, "/home/u": [*TREE["/home/u"], *(f"f{n}" for n in range(5000))]}
    _, words = landlock.tier_steps(Access(rules=(SSH,)), 7, lambda path: names.get(path, []))
    assert "deny-read" in words


def test_what_can_not_be_listed_stays_closed() -> None:
    """Nobody knows what is in it, so nothing in it is allowed."""
    names = {**TREE, "/home/u": []}
    made, words = landlock.tier_steps(Access(rules=(SSH,)), 7, lambda path: names.get(path, []))
    paths = [step.path for step in made if isinstance(step, LandlockPath)]
    assert not [path for path in paths if path.startswith("/home/u")]
    assert "deny-read" not in words


def test_a_root_has_every_right_but_devices() -> None:
    """A directory; a file has those that mean something for a file."""
    found = allowed(WORK, rule("/home/u/.bashrc", WRITE, directory=False))
    everything = FIRST | 0xE000
    devices = landlock.MAKE_CHAR | landlock.MAKE_BLOCK | landlock.IOCTL_DEV
    assert found["/work"] == everything & ~devices
    file = landlock.EXECUTE | landlock.READ_FILE | landlock.WRITE_FILE | landlock.TRUNCATE
    assert found["/home/u/.bashrc"] == file


def test_only_the_outermost_root_is_a_rule() -> None:
    """What lies below one has its rights already."""
    found = allowed(WORK, rule("/work/.git", WRITE), rule("/work/.git/hooks", READ))
    assert "/work/.git" not in found
    assert "/work/.git/hooks" not in found


def test_devices() -> None:
    """The harmless ones that are there, terminals, shared memory, and what was asked for; no
    disk."""
    found = {path: rights for path, rights in allowed(WORK).items() if path.startswith("/dev")}
    use = landlock.READ_FILE | landlock.WRITE_FILE | landlock.IOCTL_DEV
    whole = FIRST | 0xE000
    devices = landlock.MAKE_CHAR | landlock.MAKE_BLOCK | landlock.IOCTL_DEV
    assert found == {
        **dict.fromkeys(
            (f"/dev/{n}" for n in ("null", "zero", "random", "urandom", "tty", "ptmx", "pts")), use
        ),
        "/dev/shm": whole & ~devices,
        "/dev/mqueue": whole & ~devices,
    }
    assert allowed(WORK, devices=("/dev/kvm",))["/dev/kvm"] == use


def test_a_private_tmp_is_at_least_writable() -> None:
    """It is shared, which is named."""
    assert allowed(private_tmp=True)["/tmp"] & landlock.WRITE_FILE
    assert not allowed()["/tmp"] & landlock.WRITE_FILE


def test_what_stands_around_commands() -> None:
    """No new privileges first, the filter last; no namespace is claimed, and what the rules stood
    on is watched."""
    host = Host(landlock_abi=7)
    made = landlock.confinement(
        Access(rules=(WORK,)), (LandlockApply(),), b"12345678", host, "an agent"
    )
    assert made.setup == (
        NoNewPrivileges(),
        LandlockApply(),
        DropCapabilities(),
        Seccomp(b"12345678", listener=True),
    )
    assert not made.mount_namespace
    assert made.agent == "an agent"


@pytest.mark.parametrize(("abi", "own"), [(5, False), (6, True), (7, True)])
def test_each_command_can_signal_only_its_own(abi: int, own: bool) -> None:
    """In a domain of its own, where the kernel has scopes. It leaves files alone: moving them
    between directories has to be allowed for that."""
    access = Access(rules=(rule("/", WRITE),))
    made = landlock.confinement(access, (), b"12345678", Host(landlock_abi=abi), "a")
    wanted = (
        Landlock(files=landlock.REFER, scopes=landlock.SCOPE_SIGNAL),
        LandlockPath(landlock.REFER, "/"),
        LandlockApply(),
    )
    assert made.each == (wanted if own else ())


def test_links_are_not_listed(tmp_path: Any) -> None:
    """What they lead to has a name of its own; what can't be read lists nothing."""
    (tmp_path / "b").write_text("")
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert landlock.names_in(str(tmp_path)) == ["a", "b"]
    assert landlock.names_in(str(tmp_path / "b")) == []
    assert landlock.names_in("/no/such/directory") == []


def test_identities_are_not_looked_at_here() -> None:
    """A Landlock rule is bound to what the path is when the launcher opens it."""
    again = replace(WORK, identity=ANYTHING)
    assert steps(WORK) == steps(again)
