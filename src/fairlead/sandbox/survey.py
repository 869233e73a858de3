"""Looking at this machine's paths: from what an operator says to an `Access` without doubts.

Nothing is changed and nothing is run. What a path is now is written down with it, so that the
step which mounts it can refuse to mount anything else.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from fairlead.model.access import Access, Network, PathMode, PathRule, SandboxPolicy
from fairlead.model.confine import Identity
from fairlead.model.errors import Rejected
from fairlead.model.frozen import dataclass, replace
from fairlead.model.sandbox import DEVICES, SECRETS, STARTUP_FILES, SandboxSettings
from fairlead.sandbox import aliases
from fairlead.sandbox.reach import reachable
from fairlead.sandbox.sockets import foreign_sockets

# Whose own places are replaced or closed. To root, what is in them may be writable elsewhere.
_REPLACED = ("/run", "/dev", "/proc", "/sys")
_MOST_STEPS = 400  # names and links on the way to a path
MOST_GLOBBED = 256  # matches of one pattern; more is a pattern that hides too much
_STRICTNESS = {PathMode.WRITE: 0, PathMode.READ: 1, PathMode.HIDE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What may not change inside a writable root: what is there, and what must not appear."""

    read_only: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # symbolic links: they may not lead anywhere else
    pinned: tuple[str, ...] = ()  # writable, but never moved or replaced
    repositories: tuple[tuple[str, str], ...] = ()  # each `.git`, and where it leads


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a survey is made with, beside the settings."""

    home: str
    environment: Mapping[str, str]
    own: tuple[str, ...] = ()  # directories of ours that no command may see
    sockets: bool = True


def survey(settings: SandboxSettings, around: Surroundings, guarded: Guarded) -> Access:
    """Raises `Rejected` where what the operator asks for can't be had."""
    roots = list(writable_roots(settings, around))
    hidden = list(_hidden(settings, around, roots))
    rules: dict[str, PathRule] = {}
    for rule in chain(
        (_rule(path, PathMode.WRITE, why) for path, why in roots),
        (_rule(path, PathMode.WRITE, "kept in place") for path in guarded.pinned),
        (_rule(path, PathMode.READ, "protected") for path in guarded.read_only),
        map(_link, guarded.links),
        _startup_files(around.home, roots),
        hidden,
    ):
        if rule is not None:
            _add(rules, rule)
    for rule in _elsewhere(tuple(rules.values()), roots):
        _add(rules, rule)
    _check_roots_are_visible(roots, rules)
    needed = _without_redundant(_sorted(rules.values()))
    pins = [_rule(path, PathMode.WRITE, "kept in place") for path in _ancestors(needed)]
    return Access(
        rules=tuple(_sorted([*needed, *(pin for pin in pins if pin is not None)])),
        absent=tuple(
            dict.fromkeys(
                (
                    *guarded.absent,
                    *_own_to_come(around, roots),
                    *_startup_files_to_come(around.home, roots),
                )
            )
        ),
        repositories=guarded.repositories,
        network=settings.network,
        private_tmp=settings.private_tmp and settings.policy is SandboxPolicy.WORKSPACE_WRITE,
        devices=tuple(chain.from_iterable(map(_device, settings.devices))),
        limits=settings.limits,
        git_commit=settings.git_commit,
    )


def _elsewhere(rules: tuple[PathRule, ...], roots: list[tuple[str, str]]) -> Iterator[PathRule]:
    """The same for what can be reached by another path, where its file system is mounted once
    more. Outside of the roots nothing can be written anyway."""
    table = aliases.mounts()
    for one in rules:
        if one.mode is PathMode.WRITE:
            continue
        for path in table.same_files(one.path):
            if one.mode is PathMode.HIDE or any(is_below(path, root) for root, _ in roots):
                yield replace(one, path=path)
    for top in _REPLACED:
        for path in table.same_files(top):
            rule = _rule(path, PathMode.HIDE, f"another place of {top}")
            if rule is not None and not is_below(path, top):
                yield rule


def workspace_rule(settings: SandboxSettings) -> PathRule:
    """The workspace as something to look at, for where it would not be seen otherwise."""
    path = _root(settings.workspace, "the workspace")
    rule = _rule(path, PathMode.READ, "workspace")
    if rule is None:
        raise Rejected(f"the workspace {path} can't be used: it is gone; the command was not run")
    return rule


def writable_roots(settings: SandboxSettings, around: Surroundings) -> Iterator[tuple[str, str]]:
    """The roots without symbolic links, each with the reason for it."""
    for path in settings.granted:
        yield _root(path, "granted directory"), "granted"
    if settings.policy is not SandboxPolicy.WORKSPACE_WRITE:
        return
    yield _root(settings.workspace, "the workspace"), "workspace"
    for path in settings.writable_roots:
        yield _root(path, "writable root"), "writable root"
    tmpdir = around.environment.get("TMPDIR")
    if tmpdir and not settings.exclude_tmpdir and os.path.isdir(tmpdir):
        yield _root(tmpdir, "TMPDIR"), "temporary files"
    if not settings.exclude_slash_tmp and not settings.private_tmp and os.path.isdir("/tmp"):
        yield os.path.realpath("/tmp"), "temporary files"


def _root(path: str | os.PathLike[str], what: str) -> str:
    try:
        found = os.path.realpath(path, strict=True)
        mode = os.stat(found).st_mode
    except OSError as error:
        raise Rejected(
            f"{what} {os.fspath(path)} can't be used: {error.strerror or error}; "
            "the command was not run"
        ) from None
    if not stat.S_ISDIR(mode):
        raise Rejected(f"{what} {os.fspath(path)} is not a directory; the command was not run")
    if found == "/":
        raise Rejected(
            f"{what} is /: a sandbox that may write everywhere confines nothing; name a directory "
            "below it, or say --sandbox danger-full-access"
        )
    if not reachable(f"{found}/x", os.geteuid(), _groups()):
        raise Rejected(
            f"{what} {os.fspath(path)} can't be entered without root's rights, and commands have "
            "none; the command was not run. Work as who owns it, or let others enter (chmod o+x)"
        )
    for tree in ("/proc", "/sys", "/dev"):
        if found == tree or found.startswith(tree + "/"):
            raise Rejected(f"{what} {found} lies in {tree}, which no command may write")
    if found == "/run":
        raise Rejected(f"{what} is /run, which is another one inside; name a directory below it")
    return found


def _hidden(
    settings: SandboxSettings, around: Surroundings, roots: list[tuple[str, str]]
) -> Iterator[PathRule | None]:
    for rule in _to_hide(settings, around, roots):
        if rule is not None and reachable(rule.path, os.geteuid(), _groups()):
            yield rule


def _groups() -> set[int]:
    return {os.getegid(), *os.getgroups()}


def _to_hide(
    settings: SandboxSettings, around: Surroundings, roots: list[tuple[str, str]]
) -> Iterator[PathRule | None]:
    shown = set(chain.from_iterable(expand(p, around.home) for p in settings.allow_read))
    for pattern in SECRETS:
        for path in expand(pattern, around.home):
            if path not in shown:
                yield _rule(path, PathMode.HIDE, "secret")
    for pattern in settings.deny_read:
        for path in expand(_based(pattern, settings), around.home):
            if path not in shown:
                yield _rule(path, PathMode.HIDE, f"deny_read {pattern}")
    for path in around.own:
        yield _rule(os.path.realpath(path), PathMode.HIDE, "Fairlead's own state")
    if around.sockets:
        tolerated = () if settings.network is Network.OFF else _own_roots(roots)
        for path in foreign_sockets(tolerated):
            if path not in shown:
                yield _rule(path, PathMode.HIDE, "socket")


def _own_to_come(around: Surroundings, roots: list[tuple[str, str]]) -> Iterator[str]:
    """Directories of ours that do not exist yet, where a command could make them."""
    for path in map(os.path.realpath, around.own):
        if not os.path.lexists(path) and any(is_below(path, root) for root, _ in roots):
            yield path


def _own_roots(roots: list[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(path for path, why in roots if why != "temporary files")


def _based(pattern: str, settings: SandboxSettings) -> str:
    """A relative pattern is meant below the workspace."""
    if not pattern:  # it would be the workspace itself
        raise Rejected("deny_read: expected a path or a glob, got an empty text")
    if pattern.startswith(("/", "~")):
        return pattern
    return f"{glob.escape(os.fspath(settings.workspace))}/{pattern}"


def expand(pattern: str, home: str) -> list[str]:
    """The paths that exist, without symbolic links."""
    if pattern == "~" or pattern.startswith("~/"):
        pattern = glob.escape(home) + pattern[1:]
    if not glob.has_magic(pattern):
        return [os.path.realpath(pattern)] if os.path.lexists(pattern) else []
    found = []
    for path in glob.iglob(pattern, recursive=True, include_hidden=True):
        found.append(os.path.realpath(path))
        if len(found) > MOST_GLOBBED:
            raise Rejected(
                f"deny_read {pattern}: more than {MOST_GLOBBED} paths match; name a directory"
            )
    return found


def _startup_files(home: str, roots: list[tuple[str, str]]) -> Iterator[PathRule | None]:
    for path in _startup_paths(home, roots):
        yield from map(_link, _links_on_the_way(path))
        yield _rule(os.path.realpath(path), PathMode.READ, "start-up file")


def _startup_files_to_come(home: str, roots: list[tuple[str, str]]) -> Iterator[str]:
    """A shell obeys a new one just as well."""
    return (path for path in _startup_paths(home, roots) if not os.path.lexists(path))


def _startup_paths(home: str, roots: list[tuple[str, str]]) -> Iterator[str]:
    """Those that commands could write to. Who makes a root of one, or in one, means it."""
    home = os.path.realpath(home)
    for name in STARTUP_FILES:
        path = f"{home.rstrip('/')}/{name}"
        if any(is_below(path, root) for root, _ in roots) and not any(
            is_below(root, path) for root, _ in roots
        ):
            yield path


def _links_on_the_way(path: str) -> Iterator[str]:
    """Every symbolic link that is followed to get to it. Who replaces one leads it elsewhere."""
    at, ahead = "/", path.split("/")
    for _ in range(_MOST_STEPS):
        if not ahead:
            return
        at, name = os.path.join(at, ahead[0]), ahead.pop(0)
        if name in ("", ".", ".."):
            at = os.path.normpath(at)
        elif os.path.islink(at):
            yield at
            target = os.readlink(at)
            at = "/" if target.startswith("/") else os.path.dirname(at)
            ahead = [*target.split("/"), *ahead]


def _link(path: str) -> PathRule | None:
    """A mount on the link itself keeps it in place."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISLNK(found.st_mode):
        return None
    identity = Identity(found.st_dev, found.st_ino)
    return PathRule(path, PathMode.READ, identity, False, "protected link", link=True)


def _rule(path: str, mode: PathMode, because: str) -> PathRule | None:
    """None for what is not there (any more)."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return None
    return PathRule(
        path,
        mode,
        Identity(found.st_dev, found.st_ino),
        stat.S_ISDIR(found.st_mode),
        because,
    )


def _add(rules: dict[str, PathRule], rule: PathRule) -> None:
    """One rule for a path: the strictest."""
    known = rules.get(rule.path)
    if known is None or _STRICTNESS[rule.mode] > _STRICTNESS[known.mode]:
        rules[rule.path] = rule


def _check_roots_are_visible(roots: list[tuple[str, str]], rules: dict[str, PathRule]) -> None:
    for root, why in roots:
        for rule in rules.values():
            if rule.mode is PathMode.HIDE and is_below(root, rule.path):
                raise Rejected(
                    f"the {why} {root} lies in {rule.path}, which is hidden ({rule.because}); "
                    f"take it back with allow_read, or work elsewhere"
                )


def _without_redundant(rules: Iterable[PathRule]) -> list[PathRule]:
    """Without what says no more than the rule above it."""
    kept: list[PathRule] = []
    for rule in rules:
        above = _above(kept, rule.path)
        mode = above.mode if above is not None else PathMode.READ
        if mode is PathMode.HIDE or (mode is rule.mode and not _says_more(rule, above)):
            continue
        kept.append(rule)
    return kept


def _says_more(rule: PathRule, above: PathRule | None) -> bool:
    """Than that it is writable. Workspaces are watched, temporary files are not, so a workspace
    below /tmp stays known as one."""
    if rule.because == "kept in place":
        return True
    return above is not None and above.because == "temporary files" != rule.because


def _above(rules: list[PathRule], path: str) -> PathRule | None:
    found = None
    for rule in rules:
        if rule.path != path and is_below(path, rule.path):
            found = rule
    return found


def _ancestors(rules: list[PathRule]) -> list[str]:
    """Directories between a writable root and a rule below it. Each becomes a mount of its own:
    else the whole directory could be moved away, and another one put in its place."""
    known = {rule.path for rule in rules}
    found = dict[str, None]()
    for rule in rules:
        above = _above(rules, rule.path)
        if above is None or above.mode is not PathMode.WRITE:
            continue
        path = os.path.dirname(rule.path)
        while path not in known and is_below(path, above.path) and path != above.path:
            found[path] = None
            path = os.path.dirname(path)
    return list(found)


def _sorted(rules: Iterable[PathRule]) -> list[PathRule]:
    return sorted(rules, key=lambda rule: rule.path.split("/"))


def is_below(path: str, directory: str) -> bool:
    """At or below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _device(name: str) -> list[str]:
    pattern = DEVICES.get(name)
    if pattern is None:
        raise Rejected(f"devices: no such name {name!r}; allowed: {', '.join(DEVICES)}")
    found = sorted(glob.glob(pattern))
    if not found:
        raise Rejected(f"devices: {name}: this machine has no {pattern}")
    return found
