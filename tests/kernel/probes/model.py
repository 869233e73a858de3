"""A probe and the lists that are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Wish(StrEnum):
    """What has to become of it."""

    DENIED = "denied"
    WORKS = "works"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One attempt. `code` is Python, or shell text if `shell`; it runs in the workspace.

    What must be denied may get through where the tier says that one of the words `unless` is
    missing, and in the tiers of `own_in`, where nobody but the command itself is concerned. What
    must work can't in the tiers of `not_in`.
    """

    name: str
    wish: Wish
    code: str
    shell: bool = False
    needs: str = ""  # a program that has to be there for the probe to mean anything
    unless: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()
    own_in: tuple[str, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        if self.shell:
            return ("bash", "-c", f"set -e\n{self.code}")
        return ("python3", "-c", f"{prelude(self.code)}\n{self.code}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one probe in one tier, which lacks what is `missing`. `excuses` are those of it
    that let the probe through."""

    probe: str
    wish: Wish
    got: str  # "denied", "worked", "changed PATH", "missing PROGRAM", "broken" …
    said: str
    right: bool
    excuses: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


WISHED = {Wish.DENIED: "denied", Wish.WORKS: "worked"}
NO_EXCUSE = ("missing", "did not run", "ran in", "ended by", "broken")


def judged(probe: Probe, tier: str, missing: tuple[str, ...], got: str, said: str) -> Outcome:
    """What came of it, against what was wished and what the tier says it lacks."""
    wished = got == WISHED[probe.wish]
    excuses: tuple[str, ...] = ()
    if probe.wish is Wish.WORKS and tier in probe.not_in:
        # Where it can't work it must not: else the table says less than is so.
        right = got == "denied"
    elif tier in probe.own_in:
        right = got in ("worked", "denied")
    elif wished or got.startswith(NO_EXCUSE):
        right = wished
    else:
        excuses = tuple(word for word in probe.unless if word in missing)
        right = bool(excuses)
    return Outcome(
        probe=probe.name,
        wish=probe.wish,
        got=got,
        said=said,
        right=right,
        excuses=excuses,
        missing=missing,
    )


MODULES = (
    *("ctypes", "errno", "fcntl", "mmap", "resource", "select", "signal", "socket", "struct"),
    *("subprocess", "time"),
)
NAMES = """
import os, sys
OUTSIDE, HOME = os.environ["OUTSIDE"], os.environ["HOME"]
HOST_PID, PORT = int(os.environ["HOST_PID"]), int(os.environ["PORT"])
SOCKET, ABSTRACT = os.environ["SOCKET"], "\\0" + os.environ["ABSTRACT"]
X86 = os.uname().machine == "x86_64"
"""
CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(x86, arm, *args):
    result = libc.syscall(ctypes.c_long(x86 if X86 else arm), *args)
    check(result)
    return result
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""


def prelude(code: str) -> str:
    """What a probe in Python takes for granted. Only what it names is imported: a hundred
    interpreters that load everything are most of the suite's time."""
    modules = [name for name in MODULES if name in code]
    calls = any(word in code for word in ("libc", "call(", "check("))
    return "\n".join([*(f"import {name}" for name in modules), NAMES, CALLS if calls else ""])


def denied(
    name: str,
    code: str,
    *,
    shell: bool = False,
    needs: str = "",
    unless: str = "",
    own_in: str = "",
) -> Probe:
    """`unless`: words of `tiers.MISSING`, with spaces between. `own_in`: tiers."""
    return Probe(
        name=name,
        wish=Wish.DENIED,
        code=code,
        shell=shell,
        needs=needs,
        unless=tuple(unless.split()),
        own_in=tuple(own_in.split()),
    )


def works(
    name: str,
    code: str,
    *,
    shell: bool = False,
    needs: str = "",
    unless: str = "",
    not_in: str = "",
) -> Probe:
    """`not_in`: tiers, with spaces between."""
    return Probe(
        name=name,
        wish=Wish.WORKS,
        code=code,
        shell=shell,
        needs=needs,
        unless=tuple(unless.split()),
        not_in=tuple(not_in.split()),
    )
