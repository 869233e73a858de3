"""Was that us? From what a command said to what of the plan it ran into.

A path that the plan closes, named next to the words that the kernel has for it, is evidence. The
words alone are a guess, and are called one: a reason to ask, never proof.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from fairlead.model.access import Access, Denial, Network, PathMode
from fairlead.model.env import ExecEnv
from fairlead.model.output import ExecOutput

MOST = 16
_LONGEST_LINE = 2000
_LAST_LINES = 400  # of the output; what went wrong stands near its end

_READ_ONLY = re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE)
_REFUSED = re.compile(r"permission denied|\bEACCES\b", re.IGNORECASE)
_BUSY = re.compile(r"device or resource busy|\bEBUSY\b", re.IGNORECASE)
_NO_NETWORK = re.compile(
    r"network is unreachable|could not resolve|temporary failure in name resolution|"
    r"name or service not known|\bENETUNREACH\b|\bEAI_AGAIN\b|no address associated",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"operation not permitted|permission denied|read-only file system|seccomp|sandbox|landlock|"
    r"failed to write file",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|‘([^’\n]+)’|`([^`\n]+)[`']")
_HOST = re.compile(
    r"(?:host(?:name)?:? |EAI_AGAIN |resolve '|connect to |host=')[\"'(]?"
    r"([A-Za-z0-9][\w.-]*[A-Za-z0-9])"
)
_NOT_DENIED = frozenset({2, 126, 127})  # misuse, not executable, not found

Resolve = Callable[[str], str]


def denials_in(
    env: ExecEnv, output: ExecOutput, resolve: Resolve = os.path.realpath
) -> tuple[Denial, ...]:
    """What a failed command ran into, as far as its output tells. Empty if it did not fail."""
    access, ending = env.access, output.ending
    if access is None or ending is None or ending.code == 0:
        return ()
    text = output.output.kept.decode("utf-8", "replace")
    found = dict.fromkeys(_evidence(text, access, str(env.cwd), resolve))
    if found:
        return tuple(found)[:MOST]
    if ending.code not in _NOT_DENIED and ending.signal is None and _WORDS.search(text):
        return (Denial(what="guess", by="exit code and words in the output"),)
    return ()


def is_evidence(denial: Denial) -> bool:
    """Whether a mechanism stands behind it."""
    return denial.what != "guess"


def _evidence(text: str, access: Access, cwd: str, resolve: Resolve) -> Iterator[Denial]:
    for line in text.splitlines()[-_LAST_LINES:]:
        line = line[:_LONGEST_LINE]
        if _READ_ONLY.search(line) or _REFUSED.search(line) or _BUSY.search(line):
            yield from _paths_in(line, access, cwd, resolve)
        elif access.network is Network.OFF and _NO_NETWORK.search(line):
            host = _HOST.search(line)
            yield Denial(what="connect", by="network off", host=host[1] if host else None)


def _paths_in(line: str, access: Access, cwd: str, resolve: Resolve) -> Iterator[Denial]:
    for candidate in _candidates(line):
        try:
            path = resolve(os.path.join(cwd, candidate))
        except OSError:  # a link of the kernel's that we may not follow
            continue
        denial = _why(path, line, access)
        if denial is not None:
            yield denial
            return


def _why(path: str, line: str, access: Access) -> Denial | None:
    """What of the plan closes this path in the way that the line says."""
    rule = access.rule_for(path)
    if rule is not None and rule.mode is PathMode.HIDE:
        if _REFUSED.search(line) or _READ_ONLY.search(line):
            return Denial(what="read", path=path, by=f"hidden ({rule.because})")
        return None
    writable = rule is not None and rule.mode is PathMode.WRITE
    if _READ_ONLY.search(line) and not writable:
        because = f" ({rule.because})" if rule is not None else ""
        return Denial(what="write", path=path, by=f"read-only mount{because}")
    kept = any(one.path == path for one in access.rules)
    if _BUSY.search(line) and kept:
        return Denial(what="write", path=path, by="kept in place by a mount")
    return None


def _candidates(line: str) -> Iterator[str]:
    """What could be a path in a message: what is quoted, then words with a slash, then the part
    before the message."""
    for match in _QUOTED.finditer(line):
        yield next(group for group in match.groups() if group)
    for word in re.split(r"[\s:;,()\[\]]+", line):
        word = word.strip("'\"‘’`")
        if "/" in word:
            yield word
    parts = [part.strip() for part in line.split(":")]
    for part in reversed(parts[:-1]):
        if part and not part.startswith("line ") and " " not in part:
            yield part
