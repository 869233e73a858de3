"""What a command finds in its environment: built from nothing, each removal with its reason.

`base` is computed once per policy; `with_overrides` once per call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Literal

from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass, field
from fairlead.shells.blocked_names import reason_not_from_call, reason_not_inherited

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

# SHELL may not come from a call (it decides what `make` and editors run), but it is the user's
# own and part of the core, so it is inherited although the table blocks it.
CORE: tuple[str, ...] = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM")
CORE += ("TMPDIR", "TEMP", "TMP", "TZ")
KEPT_ALTHOUGH_BLOCKED = "SHELL"

SECRETS: tuple[str, ...] = ("*KEY*", "*SECRET*", "*TOKEN*", "*PASSWORD*", "*PASSWD*")
SECRETS += ("*PASSPHRASE*", "*CREDENTIAL*", "*COOKIE*")

PLAIN = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "LC_CTYPE": "C.UTF-8",
    "COLORTERM": "",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "FAIRLEAD": "1",
}
SCREEN = {name: value for name, value in PLAIN.items() if name != "NO_COLOR"}
SCREEN["TERM"] = "xterm-256color"

LOOKS_SECRET = "its name looks like a secret's"
EXCLUDED = "the policy excludes it"
NOT_INCLUDED = "the policy does not include it"
SET_NOT_INCLUDED = "the policy sets it, but does not include it"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentPolicy:
    """What the operator lets commands see. Wildcards are `*` and `?`, in either case."""

    inherit: Literal["all", "core", "none"] = "core"
    exclude: tuple[str, ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)
    include_only: tuple[str, ...] = ()
    passthrough: tuple[str, ...] = ()
    default_excludes: bool = True


@dataclass(frozen=True, slots=True)
class Dropped:
    """A variable that did not reach the command."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What every call under one policy starts from: `plain`, or `screen` on a rendered terminal."""

    policy: EnvironmentPolicy
    own: Mapping[str, str]  # before the additions for agents
    plain: Mapping[str, str]
    screen: Mapping[str, str]
    dropped: tuple[Dropped, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What one command gets, and what it does not get."""

    variables: dict[str, str]
    dropped: tuple[Dropped, ...] = ()
    warnings: tuple[str, ...] = ()


def build(
    inherited: Mapping[str, str],
    policy: EnvironmentPolicy,
    overrides: Mapping[str, str],
    tty_screen: bool = False,
) -> Environment:
    """The environment of one command, in one step."""
    return with_overrides(base(inherited, policy), overrides, tty_screen)


def base(inherited: Mapping[str, str], policy: EnvironmentPolicy) -> Base:
    """The part that depends on no call."""
    for name, value in policy.set.items():
        check(f"set.{name}", name, value)
    kept, dropped = admit(_wanted(inherited, policy), policy)
    own, removed = _only_included({**kept, **policy.set}, policy)
    dropped = (*dropped, *removed)
    return _finish(policy, own, dropped, _summary(dropped))


def after_login(before: Base, login: Mapping[str, str]) -> Base:
    """The same base once a login shell ran in it: `login` is its whole, filtered environment.

    What the profile unset is gone; what the operator sets stands, and so do the additions.
    """
    operators = {name for name in before.policy.set if name in before.own}
    stays = operators | (PLAIN.keys() & before.own.keys())
    own = {name: value for name, value in login.items() if name not in PLAIN}
    own |= {name: before.own[name] for name in stays}
    return _finish(before.policy, own, before.dropped, before.warnings)


def with_overrides(
    start: Base, overrides: Mapping[str, str], tty_screen: bool = False
) -> Environment:
    """The environment of one call: the base and the call's own variables."""
    variables = dict(start.screen if tty_screen else start.plain)
    if not overrides:
        return Environment(variables=variables, dropped=start.dropped, warnings=start.warnings)
    dropped = []
    for name, value in overrides.items():
        check(f"env.{name}", name, value)
        why = reason_not_from_call(name)
        if why is None:
            variables[name] = value
        else:
            dropped.append(Dropped(name, why))
    warnings = (f"env.{gone.name} was not passed on: {gone.why}" for gone in dropped)
    return Environment(
        variables=variables,
        dropped=(*start.dropped, *dropped),
        warnings=(*start.warnings, *warnings),
    )


def admit(
    variables: Mapping[str, str], policy: EnvironmentPolicy
) -> tuple[dict[str, str], tuple[Dropped, ...]]:
    """Those of the variables that may be inherited under the policy, and the others."""
    reasons = {name: reason_dropped(name, policy) for name in variables}
    kept = {name: value for name, value in variables.items() if reasons[name] is None}
    return kept, tuple(Dropped(name, why) for name, why in reasons.items() if why is not None)


def reason_dropped(name: str, policy: EnvironmentPolicy) -> str | None:
    """Why a variable that is there may not be passed on, or None."""
    unwanted = looks_unwanted(name, policy)
    if unwanted is not None or name == KEPT_ALTHOUGH_BLOCKED:
        return unwanted
    return reason_not_inherited(name)


def looks_unwanted(name: str, policy: EnvironmentPolicy) -> str | None:
    """Why the operator's patterns leave a name out, or None.

    A name that the operator passes through letter by letter is no accident, so it may look like
    a secret; a wildcard would take in secrets that nobody thought of.
    """
    if policy.default_excludes and name not in policy.passthrough and matcher(SECRETS)(name):
        return LOOKS_SECRET
    return EXCLUDED if matcher(policy.exclude)(name) else None


def included(name: str, policy: EnvironmentPolicy) -> bool:
    """Whether `include_only` leaves the variable."""
    return not policy.include_only or matcher(policy.include_only)(name)


def check(field_name: str, name: str, value: str) -> None:
    """A name that every shell can use and a value that a process can be given, or BadRequest."""
    if not NAME.fullmatch(name):
        raise BadRequest(f"{_shown(field_name)}: a name is letters, digits and _, no digit first")
    if "\0" in value:
        raise BadRequest(f"{field_name}: a value holds no NUL")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise BadRequest(f"{field_name}: the value is not text (half a surrogate pair)") from error


@lru_cache(maxsize=64)
def matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a name fits one of the wildcards."""
    found = re.compile("|".join(map(_regex, patterns)) or r"(?!)", re.IGNORECASE | re.DOTALL)
    return lambda name: found.fullmatch(name) is not None


def _regex(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")


def _wanted(inherited: Mapping[str, str], policy: EnvironmentPolicy) -> dict[str, str]:
    patterns = _inherited_patterns(policy) + policy.passthrough
    wanted = {name: value for name, value in inherited.items() if matcher(patterns)(name)}
    if policy.inherit != "none":
        wanted.setdefault("PATH", DEFAULT_PATH)
    return wanted


def _inherited_patterns(policy: EnvironmentPolicy) -> tuple[str, ...]:
    return {"all": ("*",), "core": CORE, "none": ()}[policy.inherit]


def _only_included(
    variables: dict[str, str], policy: EnvironmentPolicy
) -> tuple[dict[str, str], tuple[Dropped, ...]]:
    kept = {name: value for name, value in variables.items() if included(name, policy)}
    gone = (name for name in variables if name not in kept)
    return kept, tuple(
        Dropped(name, SET_NOT_INCLUDED if name in policy.set else NOT_INCLUDED) for name in gone
    )


def _finish(
    policy: EnvironmentPolicy,
    own: Mapping[str, str],
    dropped: tuple[Dropped, ...],
    warnings: tuple[str, ...],
) -> Base:
    """With the additions for agents, which give way only to what the operator set by name."""
    operators = {name: own[name] for name in policy.set if name in own}
    coloured = {name: value for name, value in own.items() if name != "NO_COLOR"}
    return Base(
        policy=policy,
        own=own,
        plain={**own, **PLAIN, **operators},
        screen={**coloured, **SCREEN, **operators},
        dropped=dropped,
        warnings=warnings,
    )


def _summary(dropped: Iterable[Dropped]) -> tuple[str, ...]:
    """One line for all of them, because it comes with each result.

    `include_only` is a choice, as `inherit` is: what it leaves out is not worth a word.
    """
    by_reason: dict[str, list[str]] = {}
    for gone in (one for one in dropped if one.why != NOT_INCLUDED):
        by_reason.setdefault(gone.why, []).append(_shown(gone.name))
    parts = [f"{', '.join(sorted(names))} ({why})" for why, names in sorted(by_reason.items())]
    return (f"not inherited: {'; '.join(parts)}",) if parts else ()


def _shown(text: str) -> str:
    return text if text.isprintable() else ascii(text)[1:-1]
