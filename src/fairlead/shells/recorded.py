"""From the bytes that a capture script printed to a snapshot."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from fairlead.model.frozen import replace
from fairlead.model.params import ShellKind
from fairlead.shells.login_state import MAX_BYTES, Snapshot, Unusable

USUAL_UMASK = 0o022


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A shell sets these itself, to something else each time.
OWN = _names("PWD OLDPWD SHLVL _")
VOLATILE = OWN | _names(
    "DIRSTACK EPOCHREALTIME EPOCHSECONDS FUNCNAME GROUPS HISTCMD LINENO PIPESTATUS PPID "
    "RANDOM SECONDS SHELLOPTS SRANDOM TTY argv pipestatus signals"
)
VOLATILE_PREFIXES = ("BASH", "ZSH_", "COMP_", "__fairlead_")
# Where zsh marks a variable as its own, these still are the profile's to set.
ZSH_SETTINGS = _names("fpath cdpath IFS PS4 NULLCMD READNULLCMD WORDCHARS")
ZSH_FLAGS = {"readonly": "r", "integer": "i", "lower": "l", "upper": "u", "unique": "U"}

# What a command line, and no profile, decides; and what would make our own commands stumble.
NOT_OPTIONS = _names(
    "login interactive shinstdin stdin monitor zle privileged restricted singlecommand onecmd "
    "exec noexec"
)
LAST = _names("errexit errreturn nounset unset xtrace verbose aliases expand_aliases")

DECLARED = re.compile(r"declare -([A-Za-z-]+) [A-Za-z_]\w*(=?)")

Pairs = dict[str, str]


class _Reader:
    """Takes NUL-terminated texts from a state, one after the other."""

    def __init__(self, state: str) -> None:
        self._texts = iter(state.split("\0"))

    def text(self) -> str:
        text = next(self._texts, None)
        if text is None:
            raise ValueError("the state is cut short")
        return text

    def lines(self) -> list[str]:
        return self.text().splitlines()

    def until_empty(self) -> Iterator[str]:
        while text := self.text():
            yield text

    def environment(self) -> Pairs:
        entries = (entry.partition("=") for entry in self.until_empty())
        return {name: value for name, _, value in entries if not left_out(name)}


def parse(
    kind: ShellKind, output: bytes, nonce: str, umask: int = USUAL_UMASK
) -> Snapshot | Unusable:
    """The snapshot that `capture_script` printed. `umask` is the one that the shell began with."""
    parts = output.split(nonce.encode() + b"\0")
    if len(parts) < 4:
        return Unusable("the login shell ended before it had told everything")
    if len(parts[1]) > MAX_BYTES:
        return Unusable(f"what the login shell left behind is larger than {MAX_BYTES} bytes")
    state, plain = (part.decode("utf-8", "surrogateescape") for part in parts[1:3])
    read = {ShellKind.BASH: _bash, ShellKind.ZSH: _zsh, ShellKind.SH: _sh}[kind]
    try:
        found = read(_Reader(state), _Reader(plain), umask)
    except ValueError:
        return Unusable("the login shell's answer could not be read")
    if isinstance(found, Snapshot) and not found.env:
        return Unusable("the login shell could not list its environment")
    return found


def left_out(name: str) -> bool:
    """Whether an entry of the environment is the shell's own, or a function in disguise."""
    return name in OWN or name.startswith("BASH_FUNC_")


def _volatile(name: str) -> bool:
    return name in VOLATILE or name.startswith(VOLATILE_PREFIXES)


def _umask(text: str, before: int) -> str:
    return "" if int(text, 8) == before else f"umask {text.strip()}\n"


def _late(line: str) -> bool:
    return line.split()[-1] in LAST


def _joined(lines: Iterable[str], before: str = "") -> str:
    return "".join(f"{before}{line}\n" for line in lines)


def _changed(lines: list[str], plain: list[str]) -> list[str]:
    known = set(plain)
    found = (line for line in lines if line.strip() and line not in known)
    return [line for line in found if line.split()[-1] not in NOT_OPTIONS]


def _bash(login: _Reader, plain: _Reader, umask: int) -> Snapshot:
    changed = _changed(login.lines(), plain.lines())
    shopts = _changed(login.lines(), plain.lines())
    mask = _umask(login.text(), umask)
    plain.text()
    aliases, functions, attributes = login.text(), login.text(), login.lines()
    for _ in range(3):
        plain.text()
    variables, known = _pairs(login), _pairs(plain)
    special = [line for line in attributes if not line.startswith("declare -f ")]
    return Snapshot(
        kind=ShellKind.BASH,
        env=login.environment(),
        options=mask + _joined(line for line in shopts if not _late(line)),
        variables=_bash_variables(variables, known),
        aliases=aliases,
        functions=functions + _joined(special, "builtin "),
        finish=_joined([*filter(_late, shopts), *changed], "builtin "),
    )


def _pairs(reader: _Reader) -> Pairs:
    return {name: reader.text() for name in reader.until_empty()}


def _bash_variables(variables: Pairs, known: Mapping[str, str]) -> Pairs:
    commands = {name: _bash_command(name, text) for name, text in variables.items()}
    return {
        name: command
        for name, command in commands.items()
        if command and variables[name] != known.get(name) and not _volatile(name)
    }


def _bash_command(name: str, text: str) -> str:
    found = DECLARED.match(text)
    if found is None:
        return ""
    flags, has_value = set(found[1]) - {"-"}, found[2]
    if "x" not in flags or flags & {"a", "A", "n"} or not has_value:
        return text
    # The value comes with the environment, so only what that can't say is left to say.
    flags -= {"x"}
    return f"declare -{''.join(sorted(flags))} {name}\n" if flags else ""


def _zsh(login: _Reader, plain: _Reader, umask: int) -> Snapshot:
    options = _zsh_options(login, plain)
    mask = _umask(login.text(), umask)
    plain.text()
    aliases, usual_aliases = login.text(), plain.text()
    functions = login.text()
    plain.text()
    variables = _zsh_variables(list(_triples(login)), list(_triples(plain)))
    snapshot = Snapshot(
        kind=ShellKind.ZSH,
        env=login.environment(),
        options=mask + _joined(line for line in options if not _late(line)),
        variables=variables,
        functions=functions,
        finish=_joined(filter(_late, options), "builtin "),
    )
    unusual = functions or aliases != usual_aliases
    return _with_zsh_aliases(snapshot, aliases) if unusual else snapshot


def _with_zsh_aliases(snapshot: Snapshot, aliases: str) -> Snapshot:
    """All aliases anew, but without effect on what is still to be read."""
    return replace(
        snapshot,
        options=f"unalias -a\nunsetopt aliases\n{snapshot.options}",
        aliases=aliases,
        finish=f"builtin setopt aliases\n{snapshot.finish}",
    )


def _zsh_options(login: _Reader, plain: _Reader) -> list[str]:
    """As `setopt name` or `unsetopt name`, for those that are not as usual."""
    now, usual = _states(login.lines()), {**_states(plain.lines()), "rcs": "on"}
    changed = sorted(name for name in now if now[name] != usual.get(name, now[name]))
    verbs = {"on": "setopt", "off": "unsetopt"}
    return [f"{verbs[now[name]]} {name}" for name in changed if name not in NOT_OPTIONS]


def _states(lines: list[str]) -> Pairs:
    return dict(zip(lines[::2], lines[1::2], strict=True))


def _triples(reader: _Reader) -> Iterator[tuple[str, str, str]]:
    for name in reader.until_empty():
        yield name, reader.text(), reader.text()


def _zsh_variables(
    variables: list[tuple[str, str, str]], known: list[tuple[str, str, str]]
) -> Pairs:
    usual = set(known)
    commands = {
        name: _zsh_command(name, set(words.split("-")), text)
        for name, words, text in variables
        if (name, words, text) not in usual and not _volatile(name)
    }
    return {name: command for name, command in commands.items() if command}


def _zsh_command(name: str, words: set[str], text: str) -> str:
    if "special" in words and name not in ZSH_SETTINGS:
        return f"typeset -U {name}\n" if {"array", "unique"} <= words else ""
    if {"array", "tied"} <= words and "special" not in words:
        return ""  # the scalar that it is tied to brings both
    if "export" in words and "tied" not in words:
        flags = "".join(ZSH_FLAGS[word] for word in sorted(words & ZSH_FLAGS.keys()))
        return f"typeset -{flags} {name}\n" if flags else ""
    return text


def _sh(login: _Reader, plain: _Reader, umask: int) -> Snapshot | Unusable:
    options = _changed(login.lines(), plain.lines())
    mask = _umask(login.text(), umask)
    plain.text()
    aliases, readonly, variables = (_words(login.text()) for _ in range(3))
    plain.text()
    plain.text()
    known = set(_words(plain.text()))
    env = login.environment()
    unlisted = login.lines()
    if unlisted:
        return Unusable(f"this shell can't list its functions: {', '.join(unlisted)}")
    fixed = {word.partition("=")[0] for word in readonly if word != "readonly"}
    assigned = [word.partition("=") for word in variables if word not in known]
    commands = {
        name: _sh_command(name, value, exported=name in env, fixed=name in fixed)
        for name, _, value in assigned
        if not _volatile(name)
    }
    return Snapshot(
        kind=ShellKind.SH,
        env=env,
        options=mask + _joined(line for line in options if not _late(line)),
        variables={name: command for name, command in commands.items() if command},
        aliases=_joined(map(shlex.quote, aliases), r"\alias "),
        finish=_joined(filter(_late, options), "\\"),
    )


def _words(text: str) -> list[str]:
    return shlex.split(text)


def _sh_command(name: str, value: str, exported: bool, fixed: bool) -> str:
    assignment = "" if exported else f"{name}={shlex.quote(value)}\n"
    return assignment + (f"readonly {name}\n" if fixed else "")
