"""A small tree with one of each kind of rule, and attempts on it: what comes of them in a tier."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlead.model.access import Access, PathMode, PathRule
from fairlead.model.confine import Identity
from fairlead.model.frozen import replace

READ, WRITE, HIDE = PathMode.READ, PathMode.WRITE, PathMode.HIDE

RULES = (
    ("home/.netrc", HIDE),
    ("home/.ssh", HIDE),
    ("work", WRITE),
    ("work/.git", WRITE),
    ("work/.git/config", READ),
    ("work/.git/hooks", READ),
    ("work/.git/hooks/open", WRITE),
    ("work/keys", HIDE),
    ("work/secret.txt", HIDE),
)
FILES = (
    *("home/.netrc", "home/.ssh/id", "home/notes", "other/file", "other/sub/file"),
    *("work/file", "work/.git/config", "work/.git/index", "work/.git/hooks/pre-commit"),
    *("work/.git/hooks/open/file", "work/keys/k", "work/secret.txt"),
)

# Attempts by name, as Python over `at`, a function from a relative name to a path; what is to
# come of them where everything can be had.
ATTEMPTS: dict[str, tuple[str, bool]] = {
    "write in the root": ("write('work/new')", True),
    "make in the root": ("os.mkdir(at('work/directory'))", True),
    "remove in the root": ("os.remove(at('work/file'))", True),
    "write in a kept directory": ("write('work/.git/index')", True),
    "write below what is protected": ("write('work/.git/hooks/open/new')", True),
    "read what is protected": ("read('work/.git/hooks/pre-commit')", True),
    "read outside": ("read('other/file')", True),
    "list outside": ("os.listdir(at('other'))", True),
    "change what is protected": ("write('work/.git/hooks/pre-commit')", False),
    "add to what is protected": ("write('work/.git/hooks/post-commit')", False),
    "change a protected file": ("write('work/.git/config')", False),
    "move what is protected": ("os.rename(at('work/.git/hooks'), at('work/hooks'))", False),
    "move a protected file": ("os.rename(at('work/.git/config'), at('work/c'))", False),
    "replace a protected file": ("os.rename(at('work/file'), at('work/.git/config'))", False),
    "remove a protected file": ("os.remove(at('work/.git/config'))", False),
    "move what is above it": ("os.rename(at('work/.git'), at('work/git'))", False),
    "move the root": ("os.rename(at('work'), at('work2'))", False),
    "read a secret": ("read('home/.ssh/id')", False),
    "list secrets": ("os.listdir(at('home/.ssh'))", False),
    "read a secret file": ("read('home/.netrc')", False),
    "read a secret in the root": ("read('work/keys/k')", False),
    "read a secret file in the root": ("read('work/secret.txt')", False),
    "remove a secret file in the root": ("os.remove(at('work/secret.txt'))", False),
    "move a secret in the root": ("os.rename(at('work/keys'), at('work/k'))", False),
    "write outside": ("write('other/file')", False),
    "make outside": ("os.mkdir(at('other/new'))", False),
    "remove outside": ("os.remove(at('other/file'))", False),
    "move outside": ("os.rename(at('other/file'), at('other/file2'))", False),
    "move out of the root": ("os.rename(at('work/movable'), at('other/moved'))", False),
    "link into the root": ("os.link(at('other/file'), at('work/linked'))", False),
    "empty a file outside": ("os.truncate(at('other/file'), 0)", False),
    "change mode outside": ("os.chmod(at('other/file'), 0o777)", False),
    "change times outside": ("os.utime(at('other/file'))", False),
    "change attributes outside": ("os.setxattr(at('other/file'), 'user.x', b'x')", False),
    "make a device": ("os.mknod(at('work/device'), 0o20666, os.makedev(1, 5))", False),
}

_CODE = """
import json
top = {top!r}
def at(name):
    return os.path.join(top, name)
def write(name):
    with open(at(name), "w") as file:
        file.write("changed")
def read(name):
    with open(at(name)) as file:
        assert file.read() == "content of " + name, name
def outcome(text):
    try:
        eval(text)
    except OSError as error:
        return errno.errorcode[error.errno]
    except AssertionError:
        return "changed"
    return "ok"
write("work/movable")
print(json.dumps({{name: outcome(text) for name, text in {attempts!r}.items()}}))
"""


def make(place: Path) -> Path:
    """The tree; files say where they are."""
    place = Path(os.path.realpath(place))
    for name in FILES:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"content of {name}")
    return place


def access(ground: Path, rules: Sequence[tuple[str, PathMode]] = RULES, **said: Any) -> Access:
    """These rules, as a survey would have seen them."""
    found = tuple(rule(ground / name, mode) for name, mode in rules)
    found = tuple(sorted(found, key=lambda one: one.path.split("/")))
    return replace(Access(rules=found), **said)


def rule(path: Path, mode: PathMode) -> PathRule:
    seen = path.lstat()
    identity = Identity(seen.st_dev, seen.st_ino)
    directory, link = stat.S_ISDIR(seen.st_mode), stat.S_ISLNK(seen.st_mode)
    return PathRule(os.fspath(path), mode, identity, directory, "a test", link=link)


def code(ground: Path) -> str:
    """A program, after `confined.PRELUDE`, that makes every attempt and says what came of it."""
    attempts = {name: text for name, (text, _) in ATTEMPTS.items()}
    return _CODE.format(top=os.fspath(ground), attempts=attempts)


def outcomes(output: str) -> dict[str, str]:
    """By attempt: "ok", or the errno's name."""
    found: dict[str, str] = json.loads(output.splitlines()[-1])
    return found


def wrong(found: dict[str, str]) -> list[str]:
    """The attempts that came to what they should not."""
    return [name for name, (_, right) in ATTEMPTS.items() if (found[name] == "ok") is not right]


def state(ground: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything outside of the root, and what of it is protected: mode, time and content."""
    found = {}
    for name in sorted(str(path.relative_to(ground)) for path in ground.rglob("*")):
        if name.startswith("work") and name not in ("work/.git/config", "work/secret.txt"):
            continue
        seen = (ground / name).lstat()
        content = (ground / name).read_bytes() if stat.S_ISREG(seen.st_mode) else b""
        found[name] = (seen.st_mode, seen.st_mtime_ns, content)
    return found
