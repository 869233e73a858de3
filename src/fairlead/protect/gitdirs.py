"""Which paths inside a writable root make git or an agent run programs. Reads, changes nothing.

A git directory is writable for commits, but for the names in `IN_GIT`. What the repository's own
settings name below the root (a directory of hooks, a file that is included, a program) is
protected with it: who may edit a hook runs programs as whoever commits next.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from fairlead.model.frozen import dataclass
from fairlead.protect.gitconfig import Entry, Malformed, parse
from fairlead.protect.names import (
    AT_TOP,
    IN_GIT,
    IN_WORKTREE,
    MODULES,
    PERSONAL_CONFIGS,
    SHARED_BY_WORKTREES,
    WORKTREES,
)
from fairlead.protect.programs import why_dangerous
from fairlead.protect.trees import Found, find_repositories, is_git_directory

LARGEST_POINTER = 4096  # bytes of a `.git` file or of `commondir`: a path and a word
DEEPEST_INCLUDE = 10  # as git has it
MOST_NESTED = 1000  # modules and worktrees of one repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """What may not change inside a writable root. All paths are without symbolic links but
    `links`, which are links themselves."""

    read_only: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    writable_mountpoints: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    git_directories: tuple[str, ...] = ()  # whose inside is decided above
    repositories: tuple[tuple[str, str], ...] = ()  # each `.git`, and where it leads


def protected(root: str, *, git_commit: bool) -> Protected:
    """`root` is absolute and without symbolic links."""
    look = _Look(root.rstrip("/"), git_commit)
    for name in AT_TOP:
        look.guard(f"{look.root}/{name}")
    if is_git_directory(look.root):
        look.repository(look.root, worktree=None)
    if not git_commit:
        look.guard(f"{look.root}/.git")
    for found in find_repositories(look.root):
        look.found(found)
    return look.result()


class _Look:
    """Collects, each path once, in the order of finding."""

    def __init__(self, root: str, git_commit: bool) -> None:
        self.root = root
        self._git_commit = git_commit
        self._read_only = dict[str, None]()
        self._absent = dict[str, None]()
        self._kept = dict[str, None]()
        self._links = dict[str, None]()
        self._git_directories = dict[str, None]()
        self._repositories = dict[tuple[str, str], None]()

    def result(self) -> Protected:
        return Protected(
            read_only=tuple(self._read_only),
            absent=tuple(self._absent),
            writable_mountpoints=tuple(self._kept),
            links=tuple(self._links),
            git_directories=tuple(self._git_directories),
            repositories=tuple(self._repositories),
        )

    def guard(self, path: str) -> None:
        """Read-only if it is there, watched if not. A link is kept, and where it leads too."""
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            if self._is_inside(path):
                self._absent[path] = None
                self._keep(os.path.dirname(path))
            return
        if not stat.S_ISLNK(mode):
            self._read_only[path] = None
            return
        self._links[path] = None
        target = os.path.realpath(path)
        if self._is_inside(target) and target != path:
            self.guard(target)

    def found(self, one: Found) -> None:
        """A repository in the tree."""
        self._repositories[one.path, leads_from(one.path)] = None
        if one.bare:
            self._git_directory(one.path)
            return
        if one.link:
            self._links[one.path] = None
        elif one.file or not self._git_commit:
            self._read_only[one.path] = None
        git_directory = pointed_at(one.path) if one.file else os.path.realpath(one.path)
        if git_directory is not None:
            self.repository(git_directory, worktree=os.path.dirname(one.path), top=one.path)

    def repository(self, git_directory: str, *, worktree: str | None, top: str = "") -> None:
        """A git directory, and the one it shares with other worktrees."""
        common = common_directory(git_directory)
        if self._is_inside(git_directory):
            self._git_directory(git_directory)
        elif self._git_commit and top == f"{self.root}/.git":
            self._outside(git_directory, common, top)
        if common != git_directory and self._is_inside(common):
            self._git_directory(common)
        self._named_by_settings(common, git_directory, worktree or os.path.dirname(common))

    def _git_directory(self, path: str) -> None:
        if path in self._git_directories or len(self._git_directories) > MOST_NESTED:
            return
        self._git_directories[path] = None
        self._repositories[path, path] = None
        if not self._git_commit and path != self.root:
            self._read_only[path] = None
            return
        self._keep(path)
        shares = common_directory(path) != path
        for name in IN_WORKTREE if shares else IN_GIT:
            self.guard(f"{path}/{name}")
        for name in ("info", MODULES, WORKTREES):
            if os.path.islink(f"{path}/{name}"):
                self._links[f"{path}/{name}"] = None
        for inner in inner_git_directories(path):
            self._git_directory(inner)

    def _outside(self, git_directory: str, common: str, top: str) -> None:
        """A worktree whose repository lies elsewhere. Committing writes there: what that needs is
        opened, but only if the repository itself says that this worktree is its own. Without that
        proof, a `.git` file with any path in it would open any repository of the person."""
        if not says_that_it_owns(git_directory, top):
            return
        self._kept[git_directory] = None
        for name in IN_GIT if common == git_directory else IN_WORKTREE:
            if os.path.lexists(f"{git_directory}/{name}"):
                self._read_only[f"{git_directory}/{name}"] = None
            else:
                self._absent[f"{git_directory}/{name}"] = None
        if common != git_directory:
            for name in SHARED_BY_WORKTREES:
                if os.path.isdir(f"{common}/{name}") and not os.path.islink(f"{common}/{name}"):
                    self._kept[f"{common}/{name}"] = None

    def _named_by_settings(self, common: str, git_directory: str, worktree: str) -> None:
        """What programs, hooks and further settings the repository's settings name."""
        files = [
            f"{common}/config",
            f"{git_directory}/config.worktree",
            *map(_expand, PERSONAL_CONFIGS),
        ]
        seen = dict[str, None]()
        for path in files:
            for entry, source in settings_of(path, seen):
                self._named(entry, os.path.dirname(source), worktree)

    def _named(self, entry: Entry, directory: str, worktree: str) -> None:
        if why_dangerous(entry) is None or not entry.value:
            return
        if entry.section in ("include", "includeif"):
            self._guard_inside(os.path.join(directory, _expand(entry.value)))
        elif entry.name == "core.hookspath":
            hooks = os.path.normpath(os.path.join(worktree, _expand(entry.value)))
            # Husky's hooks only call what lies in the directory above them.
            self._guard_inside(os.path.dirname(hooks) if hooks.endswith("/_") else hooks)
        else:
            for word in _words(entry.value):
                path = os.path.join(worktree, _expand(word))
                if os.path.isfile(path):
                    self._guard_inside(path)

    def _guard_inside(self, path: str) -> None:
        path = os.path.normpath(path)
        if self._is_inside(os.path.realpath(path)) and os.path.realpath(path) != self.root:
            self.guard(
                os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
            )

    def _is_inside(self, path: str) -> bool:
        return path == self.root or path.startswith(self.root + "/")

    def _keep(self, path: str) -> None:
        """Neither moved nor replaced: else the watch on it would be on something else."""
        if path != self.root and os.path.isdir(path) and not os.path.islink(path):
            self._kept[path] = None


def pointed_at(path: str) -> str | None:
    """The git directory that a `.git` file names."""
    found = named_by(path)
    return found if found is not None and os.path.isdir(found) else None


def named_by(path: str) -> str | None:
    """Where a `.git` file says that the git directory is, whether there is one or not."""
    text = read_small(path)
    if text is None or not text.startswith("gitdir: "):
        return None
    where = text.removeprefix("gitdir: ").rstrip("\r\n")
    return os.path.realpath(os.path.join(os.path.dirname(path), where)) if where else None


def leads_from(path: str) -> str:
    """Where git goes from a `.git`. Empty where it does not."""
    return os.path.realpath(path) if os.path.isdir(path) else named_by(path) or ""


def common_directory(git_directory: str) -> str:
    """Where a worktree's git directory has its settings and objects. Most often: right there."""
    text = read_small(f"{git_directory}/commondir")
    where = (text or "").rstrip("\r\n")
    return os.path.realpath(os.path.join(git_directory, where)) if where else git_directory


def inner_git_directories(path: str) -> Iterator[str]:
    """Of submodules and of worktrees."""
    for name in _directories(f"{path}/{WORKTREES}"):
        yield f"{path}/{WORKTREES}/{name}"
    yield from (inner for inner, is_one in below_modules(path) if is_one)


def below_modules(path: str) -> Iterator[tuple[str, bool]]:
    """The directories of submodules, and those above them since their names may have slashes."""
    waiting = [f"{path}/{MODULES}"]
    for _ in range(MOST_NESTED):
        if not waiting:
            return
        directory = waiting.pop()
        for name in _directories(directory):
            inner = f"{directory}/{name}"
            is_one = os.path.lexists(f"{inner}/HEAD")
            yield inner, is_one
            if not is_one:
                waiting.append(inner)


def settings_of(path: str, seen: dict[str, None], depth: int = 0) -> Iterator[tuple[Entry, str]]:
    """The settings of a file and of those it includes, whatever the condition, with the file.
    A file that can't be read as git reads it has none: git refuses it too."""
    if path in seen or depth > DEEPEST_INCLUDE:
        return
    seen[path] = None
    content = read_regular(path, 1 << 20)
    if content is None:
        return
    try:
        entries = parse(content)
    except Malformed:
        return
    for entry in entries:
        yield entry, path
        if entry.section in ("include", "includeif") and entry.key == "path" and entry.value:
            inner = os.path.normpath(os.path.join(os.path.dirname(path), _expand(entry.value)))
            yield from settings_of(inner, seen, depth + 1)


def read_small(path: str) -> str | None:
    """What a pointer file says."""
    content = read_regular(path, LARGEST_POINTER)
    return None if content is None or b"\0" in content else os.fsdecode(content)


def read_regular(path: str, most: int) -> bytes | None:
    """None for what is no regular file of at most so many bytes. A pipe never makes us wait."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        content = os.read(fd, most + 1)
        return content if len(content) <= most else None
    except OSError:
        return None
    finally:
        os.close(fd)


def says_that_it_owns(git_directory: str, top: str) -> bool:
    """Whether a git directory outside names this worktree: by `gitdir`, or as a submodule by
    `core.worktree`. No command could write that."""
    text = read_small(f"{git_directory}/gitdir")
    if text is not None:
        back = os.path.join(git_directory, text.rstrip("\r\n"))
        return os.path.realpath(back) == top
    worktree = None
    for entry, _ in settings_of(f"{git_directory}/config", {}):
        if entry.name == "core.worktree":
            worktree = entry.value
    if not worktree:
        return False
    return os.path.realpath(os.path.join(git_directory, worktree)) == os.path.dirname(top)


def _directories(path: str) -> Iterable[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return ()


def _expand(path: str) -> str:
    return os.path.expanduser(path) if path.startswith("~") else path


def _words(value: str) -> Iterator[str]:
    """Words that may name a file. Over-cautious where quoting is unusual."""
    for word in value.lstrip("!").replace("'", " ").replace('"', " ").replace(";", " ").split():
        if "/" in word or "." in word:
            yield word
