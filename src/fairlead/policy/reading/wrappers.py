"""The closed list of programs that run the command in their arguments.

Any other program that can run one is an ordinary program. An option that the table does not know
makes it unknown where the command begins, and that is not plain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlead.model.frozen import dataclass
from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import Assignment, Carrier, Why
from fairlead.policy.reading.words import names

# Where a system keeps its own programs. A program of that name elsewhere may be anything.
SYSTEM_DIRECTORIES = ("/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """How the arguments of a program lead to a command. Options by name, `-x` or `--long`."""

    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()  # options that take the next word, unless it is glued on
    changes: frozenset[str] = frozenset()  # those of them that make it another command
    numbers: bool = False  # `-5` is an option
    words: int = 0  # how many come before the command
    assignments: bool = False
    directory: frozenset[str] = frozenset()  # options that say where the command runs
    queries: frozenset[str] = frozenset()  # options with which it runs nothing
    carrier: Carrier = Carrier.TRANSPARENT
    open_end: bool = False  # more arguments come from the input


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwrapped:
    """The command in the arguments of another."""

    carrier: Carrier
    argv: tuple[str, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    directory: str | None = None
    open_end: bool = False
    script: str | None = None  # for a shell: the text instead of argv
    shell: ShellKind | None = None


WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(
        flags=names("-i --ignore-environment - -v --debug"),
        values=names("-u --unset -C --chdir"),
        changes=names("-i --ignore-environment - -u --unset -C --chdir"),
        directory=names("-C --chdir"),
        assignments=True,
    ),
    "nice": Wrapper(values=names("-n --adjustment"), numbers=True),
    "nohup": Wrapper(),
    "timeout": Wrapper(
        flags=names("--foreground --preserve-status -v --verbose -p -f"),
        values=names("-k --kill-after -s --signal"),
        words=1,
    ),
    "stdbuf": Wrapper(values=names("-i -o -e --input --output --error")),
    "setsid": Wrapper(flags=names("-c --ctty -f --fork -w --wait")),
    "ionice": Wrapper(flags=names("-t --ignore"), values=names("-c --class -n --classdata")),
    "taskset": Wrapper(flags=names("-c --cpu-list"), words=1),
    "time": Wrapper(flags=names("-p -v --portability --verbose")),
    "command": Wrapper(flags=names("-p"), queries=names("-v -V -pv -pV")),
    "builtin": Wrapper(),
    "exec": Wrapper(),
    "sudo": Wrapper(
        flags=names("-n -E -H -k -b -S -A -P --non-interactive --set-home --background --stdin"),
        values=names("-u -g -p -C -T --user --group --prompt --preserve-env"),
        queries=names("-l -v -V -K -h --list --validate --version --help"),
        assignments=True,
        carrier=Carrier.CHANGING,
    ),
    "doas": Wrapper(flags=names("-n"), values=names("-u"), carrier=Carrier.CHANGING),
    "chroot": Wrapper(values=names("--userspec --groups"), words=1, carrier=Carrier.CHANGING),
    "flock": Wrapper(
        flags=names("-x -s -e -n -o -F --exclusive --shared --nonblock --close --no-fork"),
        values=names("-w -E --timeout --conflict-exit-code"),
        words=1,
        carrier=Carrier.CHANGING,
    ),
    "xargs": Wrapper(
        flags=names(
            "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty"
        ),
        values=names(
            "-n -P -L -s -d -I -a -E --max-args --max-procs --max-lines --max-chars --delimiter"
            " --arg-file"
        ),
        carrier=Carrier.CHANGING,
        open_end=True,
    ),
    # One program of many names: what a rule has to name is itself.
    "busybox": Wrapper(carrier=Carrier.CHANGING),
    "toybox": Wrapper(carrier=Carrier.CHANGING),
}


def name_of(word: str) -> tuple[str, bool]:
    """The name of the program that a first word asks for, and whether it is one of the system's
    own or left to the path."""
    directory, slash, name = word.replace("\\", "/").rpartition("/")
    if name.lower().endswith(".exe"):
        name = name[:-4].lower()
    return name, not slash or (directory in SYSTEM_DIRECTORIES and "\\" not in word)


def unwrap(argv: Sequence[str]) -> Unwrapped | Why | None:
    """The command that these words run in turn; None if they run none that the table knows."""
    name, trusted = name_of(argv[0])
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return None
    found = _Options(wrapper, argv).unwrapped()
    if isinstance(found, Unwrapped) and not trusted:
        return _as_changing(found)
    return found


def _as_changing(found: Unwrapped) -> Unwrapped:
    return Unwrapped(
        carrier=Carrier.CHANGING,
        argv=found.argv,
        assignments=found.assignments,
        directory=found.directory,
        open_end=found.open_end,
    )


class _Options:
    """The way through the options of a wrapper to its command."""

    def __init__(self, wrapper: Wrapper, argv: Sequence[str]) -> None:
        self.wrapper = wrapper
        self.argv = argv
        self.at = 1
        self.carrier = wrapper.carrier
        self.directory: str | None = None

    def unwrapped(self) -> Unwrapped | Why | None:
        while self.at < len(self.argv) and self.argv[self.at].startswith("-"):
            word = self.argv[self.at]
            if word in self.wrapper.queries:
                return None
            self.at += 1
            if word == "--":
                break
            if not self._option(word):
                return Why.WRAPPER
        self.at += self.wrapper.words
        assignments = tuple(self._assignments()) if self.wrapper.assignments else ()
        argv = tuple(self.argv[self.at :])
        if not argv:
            return None
        return Unwrapped(
            carrier=Carrier.CHANGING if assignments else self.carrier,
            argv=argv,
            assignments=assignments,
            directory=self.directory,
            open_end=self.wrapper.open_end,
        )

    def _assignments(self) -> Sequence[Assignment]:
        found = []
        while self.at < len(self.argv) and "=" in self.argv[self.at]:
            named = _ASSIGNMENT.fullmatch(self.argv[self.at])
            if named is None:  # such as `1x=2`, which `env` takes all the same
                found.append(Assignment(*self.argv[self.at].split("=", 1)))
            else:
                found.append(Assignment(named[1], named[2]))
            self.at += 1
        return found

    def _option(self, word: str) -> bool:
        """True if the option is known; it and its value are behind us then."""
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            return self._known(name, value if equals else None)
        if word == "-":
            return self._known(word, None)
        if self.wrapper.numbers and word[1:].isdigit():
            return True
        return self._cluster(word[1:])

    def _cluster(self, letters: str) -> bool:
        for place, letter in enumerate(letters):
            if f"-{letter}" in self.wrapper.values:
                return self._known(f"-{letter}", letters[place + 1 :] or None)
            if not self._known(f"-{letter}", None):
                return False
        return True

    def _known(self, name: str, value: str | None) -> bool:
        if name in self.wrapper.changes:
            self.carrier = Carrier.CHANGING
        if name in self.wrapper.flags:
            return value is None
        if name not in self.wrapper.values:
            return False
        if value is None:
            if self.at >= len(self.argv):
                return False
            value = self.argv[self.at]
            self.at += 1
        if name in self.wrapper.directory:
            self.directory = value
        return True
