"""Shells as programs: which words are the text that they read, and by which grammar."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import Carrier, Why
from fairlead.policy.reading.wrappers import Unwrapped, name_of

SHELLS = {
    "bash": ShellKind.BASH,
    "zsh": ShellKind.ZSH,
    "sh": ShellKind.SH,
    "dash": ShellKind.SH,
    "ash": ShellKind.SH,
    "ksh": ShellKind.SH,
    "powershell": ShellKind.POWERSHELL,
    "pwsh": ShellKind.POWERSHELL,
    "cmd": ShellKind.CMD,
}
_WINDOWS = {name: SHELLS[name] for name in ("powershell", "pwsh", "cmd")}  # in any case
# Their text is not read, but they are known to read one.
FOREIGN = frozenset({"fish", "csh", "tcsh", "mksh", "yash", "elvish", "nu", "xonsh", "osh", "rc"})

_LETTERS = frozenset("ceulxf")  # of POSIX shells: stop early, log in, show; none reads more text
_LONG = frozenset({"--login", "--noprofile", "--norc", "--posix", "--no-rcs"})
_SET = frozenset({"pipefail", "errexit", "nounset", "xtrace"})
_QUIET = frozenset({"-noprofile", "-nologo", "-noninteractive", "-nop", "-noni", "-mta", "-sta"})
_WITH_VALUE = frozenset({"-executionpolicy", "-ep", "-ex", "-windowstyle", "-outputformat"})
_CMD_FLAGS = frozenset({"/d", "/q", "/a", "/u", "/s", "/e:on", "/e:off", "/v:off"})


def shell_script(argv: Sequence[str]) -> Unwrapped | Why | None:
    """The text that a shell is told to run; None if these words start no shell, or one that
    reads a file or its input."""
    name, trusted = name_of(argv[0])
    if name in FOREIGN:
        return Why.FOREIGN if any(_has_c(word) for word in argv[1:]) else None
    kind = SHELLS.get(name) or _WINDOWS.get(name.lower())
    if kind is None:
        return None
    if kind is ShellKind.CMD:
        found = _after_cmd(argv)
    elif kind is ShellKind.POWERSHELL:
        found = _after_powershell(argv)
    else:
        found = _after_posix(argv)
    if found is None or isinstance(found, Why):
        return found
    carrier = Carrier.SHELL if trusted else Carrier.CHANGING
    return Unwrapped(carrier=carrier, script=found, shell=kind)


def _has_c(word: str) -> bool:
    return word.startswith("-") and "c" in word


def _after_posix(argv: Sequence[str]) -> str | Why | None:
    at, reads = 1, False
    while at < len(argv) and argv[at][:1] in ("-", "+") and len(argv[at]) > 1:
        word = argv[at]
        at += 1
        if word == "--":
            break
        if word in _LONG:
            continue
        if word in ("-o", "-eo", "-euo", "-uo", "-exo", "-euxo"):
            if at >= len(argv) or argv[at] not in _SET:
                return Why.WRAPPER
            at += 1
        elif word[0] == "-" and _LETTERS.issuperset(word[1:]):
            reads = reads or "c" in word
        else:
            return Why.WRAPPER if any(_has_c(later) for later in argv[1:]) else None
    if not reads:
        return None
    return argv[at] if at < len(argv) else Why.SYNTAX


def _after_powershell(argv: Sequence[str]) -> str | Why | None:
    at = 1
    while at < len(argv):
        word = argv[at].lower().replace("/", "-", 1)
        at += 1
        if word in _WITH_VALUE:
            at += 1
        elif word in ("-command", "-c"):
            script = " ".join(argv[at:])
            return script if script and script != "-" else None
        elif word in ("-file", "-f"):
            return None
        elif word in ("-e", "-ec", "-enc") or word.startswith("-en"):
            return Why.ENCODED
        elif word not in _QUIET:
            return Why.WRAPPER if word.startswith("-") else None
    return None


def _after_cmd(argv: Sequence[str]) -> str | Why | None:
    for at, word in enumerate(argv[1:], 1):
        if word.lower() == "/c":
            return " ".join(argv[at + 1 :]) or None
        if word.lower() not in _CMD_FLAGS:
            return Why.WRAPPER if word.startswith("/") else None
    return None
