"""Which shell runs scripts here, and which one a call means by a name."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache

from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass
from fairlead.model.params import Shell, ShellKind
from fairlead.model.shown import in_a_line
from fairlead.shells import SHELLS

Exists = Callable[[str], bool]
Which = Callable[[str], str | None]

KINDS = {name: kind for kind, module in SHELLS.items() for name in module.NAMES}

# Scripts are written for these; another login shell is passed over, and the note says so.
SCRIPT_KINDS = (ShellKind.BASH, ShellKind.ZSH, ShellKind.SH, ShellKind.POWERSHELL, ShellKind.CMD)
NO_LOGIN = frozenset({"false", "nologin", "true", "sync", "halt", "shutdown"})
FALLBACKS = {
    "darwin": ("zsh", "bash", "sh"),
    "win32": ("pwsh", "powershell", "cmd"),
}
POSIX_FALLBACKS = ("bash", "zsh", "sh")


@dataclass(frozen=True, slots=True)
class Detected:
    """The shell for scripts, and a note where it is not the one the user logs in with."""

    shell: Shell
    note: str | None = None


def detect(
    passwd_shell: str | None,
    shell_variable: str | None,
    exists: Exists,
    which: Which,
    platform: str = sys.platform,
) -> Detected:
    """The passwd entry, then $SHELL, then what the platform usually has."""
    passed_over = None
    for claimed in filter(None, (passwd_shell, shell_variable)):
        name = _stem(claimed)
        if KINDS.get(name) in SCRIPT_KINDS:
            path = claimed if exists(claimed) else _find(name, exists, which)
            if path is not None:
                return Detected(Shell(kind=KINDS[name], path=path), _note(passed_over, path))
        if name not in NO_LOGIN:
            passed_over = passed_over or claimed
    return _fallback(passed_over, exists, which, platform)


def _fallback(passed_over: str | None, exists: Exists, which: Which, platform: str) -> Detected:
    for name in FALLBACKS.get(platform, POSIX_FALLBACKS):
        path = _find(name, exists, which)
        if path is not None:
            return Detected(Shell(kind=KINDS[name], path=path), _note(passed_over, path))
    last = ("cmd", "cmd.exe") if platform == "win32" else ("sh", "/bin/sh")
    return Detected(Shell(kind=KINDS[last[0]], path=last[1]), _note(passed_over, last[1]))


def named(untrusted_name: str, exists: Exists | None = None, which: Which | None = None) -> Shell:
    """The shell that a call names, by kind (`zsh`) or by the path of one that is there."""
    exists, which = exists or _is_program, which or _which
    if "\0" in untrusted_name:
        raise BadRequest("shell: a path holds no NUL")
    if "/" in untrusted_name or "\\" in untrusted_name:
        return _by_path(untrusted_name, exists)
    if untrusted_name not in KINDS:
        raise BadRequest(f"shell: {_allowed()}, not {untrusted_name!r}")
    path = _find(untrusted_name, exists, which)
    if path is None:
        raise BadRequest(f"shell: {untrusted_name} was not found on this machine")
    return Shell(kind=KINDS[untrusted_name], path=path)


def session_shell() -> Shell:
    """The shell that runs this machine's scripts, found once."""
    return session_detected().shell


@cache
def session_detected() -> Detected:
    """The same with its note."""
    return detect(_passwd_shell(), os.environ.get("SHELL"), _is_program, _which)


def _by_path(untrusted_path: str, exists: Exists) -> Shell:
    name, shown = _stem(untrusted_path), in_a_line(untrusted_path)
    if name not in KINDS:
        raise BadRequest(f"shell: {_allowed()}, not '{shown}'")
    if not _is_absolute(untrusted_path):
        raise BadRequest(f"shell: a path starts at the root, unlike '{shown}'")
    if not exists(untrusted_path):
        raise BadRequest(f"shell: '{shown}' was not found, or is not executable")
    return Shell(kind=KINDS[name], path=untrusted_path)


def _find(name: str, exists: Exists, which: Which) -> str | None:
    return next((path for path in _places(name, which) if exists(path)), None)


def _places(name: str, which: Which) -> Iterator[str]:
    on_path = which(name)
    if on_path is not None:
        yield on_path
    for place in SHELLS[KINDS[name]].PLACES:
        if _stem(place) == name:
            yield place


def _stem(path: str) -> str:
    """`zsh` of `/bin/zsh`, `pwsh` of `C:\\...\\pwsh.EXE`."""
    base = re.split(r"[/\\]", path)[-1]
    return base[:-4].lower() if base.lower().endswith(".exe") else base


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or re.match(r"[A-Za-z]:[/\\]", path) is not None


def _allowed() -> str:
    return f"one of {', '.join(KINDS)}, or the absolute path of one"


def _note(passed_over: str | None, path: str) -> str | None:
    return passed_over and f"scripts run in {path}, because the login shell is {passed_over}"


def _which(name: str) -> str | None:
    import shutil  # brings three compression libraries along, and a cached answer needs none

    return shutil.which(name)


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK) and not os.path.isdir(path)


def _passwd_shell() -> str | None:
    try:
        import pwd  # not on Windows
    except ImportError:
        return None
    try:
        return pwd.getpwuid(os.getuid()).pw_shell or None
    except KeyError:
        # Containers run users that no passwd file knows.
        return None
