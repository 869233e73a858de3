"""What in a repository that a command made would have git run programs. Reads, changes nothing.

Where the survey knew a repository, mounts protect it. A new one was writable as a whole while it
was made: it stays, but what git would obey in it goes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from fairlead.model.frozen import dataclass
from fairlead.protect.gitconfig import LARGEST, Entry, Malformed, parse, render
from fairlead.protect.gitdirs import common_directory, leads_from, read_regular, says_that_it_owns
from fairlead.protect.names import IN_GIT, OLD_REMOTES
from fairlead.protect.programs import why_dangerous
from fairlead.protect.trees import is_for_git

SAMPLE = ".sample"
LINKED = "has another name, by which it could be changed later"
_SELECTS_PROGRAMS = ("filter", "diff", "merge", "[attr]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that has to go, or whose content has to be another."""

    path: str
    because: str
    instead: bytes | None = None


Belongs = Callable[[str], bool]  # whether a git directory is ours to inspect, or known already


def findings(path: str, *, inside: Belongs, known: Belongs) -> Iterator[Finding]:
    """`path` is a `.git` or a git directory."""
    if not os.path.lexists(path):
        return
    leads = leads_from(path)
    if path != leads and not inside(leads):
        if leads and says_that_it_owns(leads, path):
            return
        yield Finding(path=path, because="leads git to a directory elsewhere")
        return
    yield from _unshared(path)
    if known(leads) or not is_for_git(leads):
        return
    common = common_directory(leads)
    if common != leads and not inside(common):
        yield Finding(path=f"{leads}/commondir", because=IN_GIT["commondir"])
    elif common != leads and not known(common):
        yield from _git_directory(common)
    yield from _git_directory(leads)


def _git_directory(git: str) -> Iterator[Finding]:
    yield from _each_in(f"{git}/hooks", IN_GIT["hooks"], harmless=SAMPLE)
    for name in OLD_REMOTES:
        yield from _each_in(f"{git}/{name}", IN_GIT[name])
    for name in ("config", "config.worktree"):
        yield from _settings(f"{git}/{name}") or _unshared(f"{git}/{name}")
    attributes = f"{git}/info/attributes"
    yield from _attributes(attributes) or _unshared(attributes)
    for name in ("commondir", "gitdir"):
        yield from _unshared(f"{git}/{name}")


def _each_in(directory: str, because: str, harmless: str | None = None) -> Iterator[Finding]:
    mode = _mode(directory)
    if mode is None:
        return
    if not stat.S_ISDIR(mode):
        yield Finding(path=directory, because=because)
        return
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:  # it was moved just now
        return
    except OSError:  # nobody may look into it
        yield Finding(path=directory, because=because)
        return
    for name in names:
        if harmless is None or not name.endswith(harmless):
            yield Finding(path=f"{directory}/{name}", because=because)


def _unshared(path: str) -> list[Finding]:
    """A file that may stay, but whose inode has another name, which nothing protects."""
    try:
        found = os.lstat(path)
    except OSError:
        return []
    content = read_regular(path, LARGEST) if stat.S_ISREG(found.st_mode) else None
    if content is None or found.st_nlink == 1:
        return []
    return [Finding(path=path, because=LINKED, instead=content)]


def _settings(path: str) -> list[Finding]:
    mode = _mode(path)
    if mode is None:
        return []
    content = read_regular(path, LARGEST) if stat.S_ISREG(mode) else None
    if content is None:
        return [Finding(path=path, because="not a file of settings that can be read")]
    try:
        entries = parse(content)
    except Malformed as error:
        return [Finding(path=path, because=f"settings that git may read otherwise: {error}")]
    reasons = [(entry, why_dangerous(entry)) for entry in entries if not _is_inspected(entry)]
    bad = {entry: why for entry, why in reasons if why is not None}
    if not bad:
        return []
    because = ", ".join(dict.fromkeys(f"{entry.name}: {why}" for entry, why in bad.items()))
    kept = render(entry for entry in entries if entry not in bad)
    return [Finding(path=path, because=because, instead=kept)]


def _is_inspected(entry: Entry) -> bool:
    """The file that it turns on is looked at too."""
    return entry.name == "extensions.worktreeconfig"


def _attributes(path: str) -> list[Finding]:
    mode = _mode(path)
    if mode is None:
        return []
    content = read_regular(path, LARGEST) if stat.S_ISREG(mode) else None
    if content is None or any(map(_selects, content.decode("utf-8", "replace").split())):
        return [Finding(path=path, because=IN_GIT["info/attributes"])]
    return []


def _selects(word: str) -> bool:
    """`filter=x` and `[attr]name` do; `-filter` and `text=auto` do not."""
    return word.startswith(_SELECTS_PROGRAMS)


def _mode(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return None
