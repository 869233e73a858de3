"""What reaches a command's environment, and what is said of the rest."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.errors import BadRequest
from fairlead.shells import blocked_names
from fairlead.shells.environment import (
    DEFAULT_PATH,
    PLAIN,
    Dropped,
    Environment,
    EnvironmentPolicy,
    after_login,
    base,
    build,
    with_overrides,
)

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "cases" / "environment.json").read_text()
)
EVERYWHERE = [
    *CASES["blockedEverywhereKeys"],
    *(prefix + "X" for prefix in CASES["blockedPrefixes"]),
]
NOT_FROM_CALLS = [
    *CASES["blockedOverrideOnlyKeys"],
    *(prefix + "X" for prefix in CASES["blockedOverridePrefixes"]),
]
STILL_INHERITED = frozenset(CASES["allowedInheritedOverrideOnlyKeys"])

DAEMON = {
    "PATH": "/usr/bin",
    "HOME": "/home/me",
    "SHELL": "/bin/zsh",
    "LC_TIME": "de_DE.UTF-8",
    "EDITOR": "vi",
    "OPENAI_API_KEY": "hush",
    "LD_PRELOAD": "/lib/x.so",
    "MINE": "1",
}
EVERYTHING = EnvironmentPolicy(inherit="all", default_excludes=False)


def own(environment: Environment) -> dict[str, str]:
    """Without the additions for agents."""
    return {name: text for name, text in environment.variables.items() if name not in PLAIN}


def test_the_lists_are_the_published_ones() -> None:
    """The table says what the rows say, no more and no less."""
    assert frozenset(CASES["blockedEverywhereKeys"]) == blocked_names.EVERYWHERE
    assert frozenset(CASES["blockedOverrideOnlyKeys"]) == blocked_names.NOT_FROM_CALLS
    assert blocked_names.STILL_INHERITED == STILL_INHERITED
    assert tuple(CASES["blockedPrefixes"]) == blocked_names.EVERYWHERE_PREFIXES
    assert tuple(CASES["blockedOverridePrefixes"]) == blocked_names.NOT_FROM_CALLS_PREFIXES


@pytest.mark.parametrize("change", [str, str.lower, str.title])
@pytest.mark.parametrize("name", EVERYWHERE)
def test_what_changes_a_program_goes_nowhere(name: str, change: Callable[[str], str]) -> None:
    """In whatever case, it is neither inherited (SHELL apart) nor taken from a call."""
    name = change(name)
    inherited = build({name: "x"}, EVERYTHING, {})
    asked = build({}, EVERYTHING, {name: "x"})
    assert (name in inherited.variables) is (name == "SHELL")
    assert name not in asked.variables
    assert asked.warnings == (f"env.{name} was not passed on: it changes what a program is",)


@pytest.mark.parametrize("name", NOT_FROM_CALLS)
def test_what_only_the_operator_sets(name: str) -> None:
    """A call can't set it; it is inherited only where the rows say so."""
    asked = build({}, EVERYTHING, {name: "from the call"})
    inherited = base({name: "from the operator"}, EVERYTHING).own
    assert asked.variables.get(name) == PLAIN.get(name)
    assert asked.dropped[0].name == name
    assert len(asked.warnings) == 1
    assert (name in inherited) is (name in STILL_INHERITED)


def test_the_core() -> None:
    """By default a command gets the user's basics and nothing else, without a word about it."""
    found = build(DAEMON, EnvironmentPolicy(), {})
    assert own(found) == {
        "PATH": "/usr/bin",
        "HOME": "/home/me",
        "SHELL": "/bin/zsh",
        "LC_TIME": "de_DE.UTF-8",
    }
    assert (found.dropped, found.warnings) == ((), ())


def test_only_the_path_is_made_up() -> None:
    """Out of nothing comes a PATH, and no HOME, USER or SHELL."""
    assert own(build({}, EnvironmentPolicy(), {})) == {"PATH": DEFAULT_PATH}
    assert own(build({}, EnvironmentPolicy(inherit="none"), {})) == {}


def test_all_says_once_what_is_missing() -> None:
    """Everything but secrets and what changes programs; one warning names them all."""
    found = build(DAEMON, EnvironmentPolicy(inherit="all"), {})
    assert own(found).keys() == {"PATH", "HOME", "SHELL", "LC_TIME", "MINE"}
    assert found.warnings == (
        "not inherited: LD_PRELOAD (it changes what a program is); "
        "OPENAI_API_KEY (its name looks like a secret's); EDITOR (only the operator sets it)",
    )


def test_passthrough() -> None:
    """A wildcard takes in no secrets; a name written out is meant. Neither opens a block."""
    inherited = {"A_TOKEN": "1", "A_HOST": "2", "B_TOKEN": "3", "LD_PRELOAD": "4", "C": "5"}
    policy = EnvironmentPolicy(passthrough=("a_*", "B_TOKEN", "LD_PRELOAD"))
    found = build(inherited, policy, {})
    assert own(found).keys() == {"PATH", "A_HOST", "B_TOKEN"}
    assert {drop.name for drop in found.dropped} == {"A_TOKEN", "LD_PRELOAD"}


def test_exclude_and_wildcards() -> None:
    """`*` and `?` are wildcards in either case, and nothing else is."""
    inherited = {"FOO1": "", "FOO12": "", "BAR": "", "[B]AR": ""}
    policy = EnvironmentPolicy(inherit="all", exclude=("foo?", "[B]AR"))
    assert own(build(inherited, policy, {})).keys() == {"PATH", "FOO12", "BAR"}


def test_set_is_the_operators_word() -> None:
    """What the operator sets stands against excludes, blocks and the additions for agents."""
    settings = {"LD_LIBRARY_PATH": "/opt", "MY_TOKEN": "t", "PAGER": "less", "PATH": "/opt/bin"}
    policy = EnvironmentPolicy(set=settings, exclude=("MY_*",))
    found = build(DAEMON, policy, {"PAGER": "evil", "MY_TOKEN": "mine"})
    assert {name: found.variables[name] for name in settings} == {**settings, "MY_TOKEN": "mine"}


def test_include_only_is_last() -> None:
    """It takes away even what `set` added, which is said; the additions come after it."""
    policy = EnvironmentPolicy(inherit="all", set={"X": "1"}, include_only=("PATH", "MI*"))
    found = build({"PATH": "/bin", "MINE": "1", "OTHER": "2"}, policy, {})
    assert own(found).keys() == {"PATH", "MINE"}
    assert found.variables.keys() >= PLAIN.keys()
    assert found.dropped == (
        Dropped("OTHER", "the policy does not include it"),
        Dropped("X", "the policy sets it, but does not include it"),
    )
    assert found.warnings == ("not inherited: X (the policy sets it, but does not include it)",)


def test_the_additions() -> None:
    """An agent gets plain text; on a rendered terminal it gets colours."""
    plain = build({"TERM": "xterm", "NO_COLOR": "1"}, EVERYTHING, {}).variables
    screen = build({"TERM": "xterm", "NO_COLOR": "1"}, EVERYTHING, {}, tty_screen=True).variables
    assert (plain["TERM"], plain["NO_COLOR"], plain["FAIRLEAD"]) == ("dumb", "1", "1")
    assert screen["TERM"] == "xterm-256color"
    assert "NO_COLOR" not in screen
    assert plain["LC_ALL"] == screen["LC_ALL"] == "C.UTF-8"


def test_a_call_overrides() -> None:
    """A call may change what it likes that is not blocked, the additions included."""
    overrides = {"FOO": "1", "TERM": "vt100", "LC_ALL": "C", "PAGER": "less", "MY_KEY": "given"}
    found = build(DAEMON, EnvironmentPolicy(), overrides)
    kept = {name: found.variables[name] for name in overrides}
    assert kept == {**overrides, "PAGER": "cat"}
    assert found.warnings == ("env.PAGER was not passed on: only the operator sets it",)


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("", "x", "env.: a name is"),
        ("1A", "x", "env.1A: a name is"),
        ("A-B", "x", "env.A-B: a name is"),
        ("A=B", "x", "env.A=B: a name is"),
        ("A\n", "x", r"env.A\n: a name is"),
        ("É", "x", "env.É: a name is"),
        ("FOO", "a\0b", "env.FOO: a value holds no NUL"),
        ("FOO", "\ud800", "env.FOO: the value is not text"),
    ],
)
def test_malformed_overrides(name: str, value: str, complaint: str) -> None:
    """What no process can be given, or no shell can name, is refused by its name."""
    with pytest.raises(BadRequest) as refusal:
        build({}, EnvironmentPolicy(), {name: value})
    assert str(refusal.value).startswith(complaint)


def test_a_malformed_setting() -> None:
    """The operator's mistakes are named too."""
    with pytest.raises(BadRequest, match=r"^set\.A-B: "):
        base({}, EnvironmentPolicy(set={"A-B": "x"}))


def test_calls_do_not_share_their_variables() -> None:
    """Each environment is its caller's own."""
    start = base(DAEMON, EnvironmentPolicy())
    with_overrides(start, {}).variables["LEAK"] = "1"
    with_overrides(start, {"A": "1"})
    assert with_overrides(start, {}).variables.keys() == start.plain.keys()
    assert "LEAK" not in start.plain


def test_after_a_login_shell() -> None:
    """A profile adds and unsets; operator, additions and calls have the last word over it."""
    inherited = {"PATH": "/bin", "HOME": "/h", "TZ": "UTC"}
    before = base(inherited, EnvironmentPolicy(set={"LD_LIBRARY_PATH": "/opt", "A": "op"}))
    login = {**before.plain, "PATH": "/new:/bin", "NVM_DIR": "/nvm", "A": "p", "PAGER": "less"}
    del login["TZ"], login["LD_LIBRARY_PATH"]
    after = after_login(before, login)
    found = with_overrides(after, {"NVM_DIR": "/mine"})
    assert own(found) == {
        "PATH": "/new:/bin",
        "HOME": "/h",
        "NVM_DIR": "/mine",
        "LD_LIBRARY_PATH": "/opt",
        "A": "op",
    }
    assert found.variables["PAGER"] == "cat"
    assert "NO_COLOR" not in with_overrides(after, {}, tty_screen=True).variables


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True) | st.sampled_from(
    [*EVERYWHERE, *NOT_FROM_CALLS]
)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_nothing_is_lost_in_silence(overrides: dict[str, str]) -> None:
    """Whatever a call asks for arrives as it is, or is named in a warning."""
    found = build(DAEMON, EnvironmentPolicy(), overrides)
    gone = {drop.name for drop in found.dropped}
    assert len(found.warnings) == len(gone)
    for name, value in overrides.items():
        assert (name in gone) != (found.variables.get(name) == value) or PLAIN.get(name) == value


def test_a_process_gets_exactly_this() -> None:
    """A real program sees these variables and no others."""
    found = build(DAEMON, EnvironmentPolicy(), {"TEXT": "grün\n☃"})
    output = subprocess.check_output(("/usr/bin/env", "-0"), env=found.variables)
    seen = dict(entry.split("=", 1) for entry in output.decode().split("\0") if entry)
    assert seen == found.variables
