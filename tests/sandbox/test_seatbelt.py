"""The profile as text: which rules, in which order, and that no name can get into it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fairlead.model.access import Access, Limits, Network, PathMode, PathRule
from fairlead.model.confine import ANYTHING
from fairlead.model.frozen import replace
from fairlead.model.sandbox import MISSING
from fairlead.sandbox.seatbelt import missing, parameters, profile, render

READ, WRITE, HIDE = PathMode.READ, PathMode.WRITE, PathMode.HIDE


def rule(path: str, mode: PathMode, *, directory: bool = True) -> PathRule:
    return PathRule(path, mode, ANYTHING, directory, "x")


WORK = rule("/work", WRITE)
HOOKS = rule("/work/.git/hooks", READ)
CONFIG = rule("/work/.git/config", READ, directory=False)
SSH = rule("/Users/u/.ssh", HIDE)
NETRC = rule("/Users/u/.netrc", HIDE, directory=False)


def access(*rules: PathRule, **said: Any) -> Access:
    return replace(Access(rules=rules), **said)


def own(found: Access) -> list[str]:
    """The lines that are there because of the access."""
    usual = profile(Access()).splitlines()
    return [line for line in profile(found).splitlines() if line not in usual]


KINDS = [
    (
        WORK,
        [
            '(allow file-write* (subpath (param "RULE_0")))',
            '(deny file-write-unlink (literal (param "RULE_0")))',
        ],
    ),
    (
        rule("/work/file", WRITE, directory=False),
        [
            '(allow file-write* (literal (param "RULE_0")))',
            '(deny file-write-unlink (literal (param "RULE_0")))',
        ],
    ),
    (HOOKS, ['(deny file-write* (subpath (param "RULE_0")))']),
    (CONFIG, ['(deny file-write* (literal (param "RULE_0")))']),
    (SSH, ['(deny file-read* file-write* process-exec* network* (subpath (param "RULE_0")))']),
    (NETRC, ['(deny file-read* file-write* process-exec* network* (literal (param "RULE_0")))']),
]


@pytest.mark.parametrize(("one", "lines"), KINDS)
def test_what_a_rule_becomes(one: PathRule, lines: list[str]) -> None:
    """A directory is a subpath, a file is itself; a root can't be moved away."""
    assert own(access(one)) == lines


def test_everything_is_denied_first() -> None:
    """And everything readable; nothing is writable but devices that are nobody's."""
    lines = profile(Access()).splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert [line for line in lines if "file-write*" in line] == [
        '(deny file-read-data file-write* (subpath "/dev"))'
    ]
    assert not [line for line in lines if "network" in line or "file-link" in line]


def test_the_deepest_rule_stands_last() -> None:
    """Since the last one that matches holds: open below closed below open, as in the access."""
    found = access(WORK, HOOKS, rule("/work/.git/hooks/open", WRITE), SSH, absent=("/work/.new",))
    operations = [line.split(" ", 1)[0] + " " + line.split(" ")[1] for line in own(found)]
    assert operations == [
        *("(allow file-write*", "(deny file-write-unlink"),
        "(deny file-write*",
        *("(allow file-write*", "(deny file-write-unlink"),
        "(deny file-read*",
        "(deny file-write*",
    ]
    assert own(found)[-1] == '(deny file-write* (subpath (param "ABSENT_0")))'


NASTY = [
    "/it's",
    '/a "quoted" name',
    "/(allow default)",
    '/")) (allow default) (deny file-write* (literal "',
    "/new\nline",
    "/semi;colon #comment",
    "/back\\slash\\",
    "/equals=sign",
    "/-D",
    "/ünïcödé \U0001f4a9",
    "/not\udcfftext",
    '/(param "RULE_1")',
]


@pytest.mark.parametrize("path", NASTY)
@pytest.mark.parametrize("mode", PathMode)
def test_no_name_gets_into_the_text(path: str, mode: PathMode) -> None:
    """The text is the same for every name; the value is one argument, as it is."""
    plain, nasty = access(rule("/plain", mode)), access(rule(path, mode))
    assert profile(nasty) == profile(plain)
    assert render(nasty).argv[-1] == f"-DRULE_0={path}"
    assert profile(access(absent=(path,))) == profile(access(absent=("/plain",)))
    assert profile(access(devices=(path,))) == profile(access(devices=("/dev/plain",)))


def test_the_words_for_the_program() -> None:
    """The profile, then a parameter for each path; the command follows two dashes."""
    found = access(WORK, HOOKS, absent=("/work/.fairlead",), devices=("/dev/x",))
    wrapper = render(found)
    assert wrapper.argv == (
        *("/usr/bin/sandbox-exec", "-p", profile(found)),
        "-DDEVICE_0=/dev/x",
        *("-DRULE_0=/work", "-DRULE_1=/work/.git/hooks"),
        "-DABSENT_0=/work/.fairlead",
    )
    assert (wrapper.attached, wrapper.directory_option) == ((), None)


def test_every_parameter_is_given() -> None:
    """One that is named and not given would be no rule at all."""
    found = access(WORK, HOOKS, SSH, NETRC, absent=("/a", "/b"), devices=("/dev/x", "/dev/y"))
    assert set(re.findall(r'\(param "(\w+)"\)', profile(found))) == set(parameters(found))


def test_the_network() -> None:
    """Off: no line about it. Full: the internet and the resolver, and no other socket by path."""
    assert own(access(network=Network.OFF)) == []
    lines = own(access(network=Network.FULL))
    assert [line for line in lines if "network" in line and "mach" not in line] == [
        '(allow network-outbound (remote ip "*:*") (literal "/private/var/run/mDNSResponder"))',
        '(allow network-bind network-inbound (local ip "*:*"))',
    ]


def test_no_service_that_starts_programs_or_has_keys() -> None:
    """Only who users are, logs, notices; with the network, names and certificates."""
    for network in Network:
        named = re.findall(r'global-name "([^"]+)"', profile(access(network=network)))
        assert len(named) == len(set(named)) > 5
        for word in (
            "launch",
            "lsd",
            "securityd",
            "SecurityServer",
            "window",
            "pasteboard",
            "dock",
        ):
            assert not [name for name in named if word in name]
        assert "mach-lookup)" not in profile(access(network=network))


def test_parentheses_balance() -> None:
    """Whatever there is in it: one too few would be a mistake in every start."""
    for network in Network:
        text = profile(
            access(WORK, HOOKS, SSH, network=network, private_tmp=True, devices=("/dev/x",))
        )
        depth = 0
        for character in re.sub(r'"[^"]*"', "", text):
            depth += {"(": 1, ")": -1}.get(character, 0)
            assert depth >= 0
        assert depth == 0


def test_a_private_tmp_is_at_least_writable() -> None:
    """It is shared, which is named."""
    assert own(access(private_tmp=True)) == ['(allow file-write* (subpath "/private/tmp"))']


ALWAYS = {"pid-namespace", "terminals", "shared-memory", "seccomp"}
LACKS = [
    ({}, set()),
    ({"network": Network.FULL}, set()),
    ({"private_tmp": True}, {"private-tmp"}),
    ({"limits": Limits(memory=1)}, {"shared-limits"}),
    ({"limits": Limits(cpu_seconds=1)}, set()),
]


@pytest.mark.parametrize(("said", "lacks"), LACKS)
def test_what_is_missing(said: dict[str, Any], lacks: set[str]) -> None:
    """In words that an operator can accept."""
    assert set(missing(access(WORK, **said))) == ALWAYS | lacks
    assert ALWAYS | lacks <= set(MISSING)
