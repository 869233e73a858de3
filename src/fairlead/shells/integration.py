"""What a live shell is told so that we can run commands in it and see where each begins and ends.

The command itself is never typed: it waits in a file of ours, and one short line makes the shell
read and evaluate it, at the top level, as if it had been typed. Marks in the terminal's own
language (OSC 133, with a nonce that output can't guess) say where its output starts, and where it
stopped with which status and directory. The prompt carries a mark too: a command that was
interrupted never reaches its end mark, but always the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fairlead.model.params import Shell, ShellKind

_BASH = r"""
unset HISTFILE
__fl_b() {
  IFS= read -r -d '' __fl_c < '@COMMAND@'
  printf '\033]133;C;@NONCE@;%s\007' "$1"
  __fl_n=$1; return "${__fl_s:-0}"
}
__fl_e() {
  __fl_s=$?; printf '\033]133;D;%s;@NONCE@;%s;%s\007' "$__fl_s" "$__fl_n" "$PWD"
  return "$__fl_s"
}
__fl_x() {
  __fl_s=$?; export -p > '@STATE@'
  printf '\033]133;X;%s;@NONCE@;%s;%s\007' "$__fl_s" "$__fl_n" "$PWD"
}
trap __fl_x EXIT
exit() { builtin exit "$@" 2>/dev/null; }
PS1='\[\033]133;A;$?;@NONCE@\007\]'"${PS1:-\$ }"
"""

_ZSH = r"""
unset HISTFILE
setopt prompt_subst
unsetopt prompt_sp
__fl_b() {
  IFS= read -r -d '' __fl_c < '@COMMAND@'
  printf '\033]133;C;@NONCE@;%s\007' "$1"
  __fl_n=$1; return "${__fl_s:-0}"
}
__fl_e() {
  __fl_s=$?; printf '\033]133;D;%s;@NONCE@;%s;%s\007' "$__fl_s" "$__fl_n" "$PWD"
  return "$__fl_s"
}
__fl_x() {
  __fl_s=$?; export -p > '@STATE@'
  printf '\033]133;X;%s;@NONCE@;%s;%s\007' "$__fl_s" "$__fl_n" "$PWD"
}
zshexit_functions+=(__fl_x)
PS1=$'%{\033]133;A;%?;@NONCE@\007%}'"${PS1:-%# }"
"""

_SH = r"""
__fl_b() {
  printf '\033]133;C;@NONCE@;%s\007' "$1"
  __fl_n=$1; return "${__fl_s:-0}"
}
__fl_e() {
  __fl_s=$?; printf '\033]133;D;%s;@NONCE@;%s;%s\007' "$__fl_s" "$__fl_n" "$PWD"
  return "$__fl_s"
}
__fl_x() {
  __fl_s=$?; export -p > '@STATE@'
  printf '\033]133;X;%s;@NONCE@;%s;%s\007' "$__fl_s" "$__fl_n" "$PWD"
}
trap __fl_x EXIT
PS1="$(printf '\033]133;A;')"'$?'"$(printf ';@NONCE@\007')${PS1:-\$ }"
"""

_READY = r"""
printf '\033]133;R;@NONCE@\007'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """How one kind of shell is driven."""

    script: str
    evaluate: str  # the typed line's middle part; @COMMAND@ is the file with the command
    interactive: Callable[[str], tuple[str, ...]]  # argv of a shell of our own
    no_hooks: str = ""  # in ours: no profile's prompt hook may slow every command down


INTEGRATIONS: dict[ShellKind, Integration] = {
    ShellKind.BASH: Integration(
        script=_BASH,
        evaluate='eval "$__fl_c"',
        # No line editor: we send one short line per command, and nobody has to redraw it.
        interactive=lambda path: (path, "--noprofile", "--norc", "--noediting", "-i"),
        no_hooks="unset PROMPT_COMMAND\n",
    ),
    ShellKind.ZSH: Integration(
        script=_ZSH,
        evaluate='eval "$__fl_c"',
        interactive=lambda path: (path, "-f", "-i", "+Z"),
        no_hooks="precmd_functions=(); preexec_functions=(); chpwd_functions=()\n",
    ),
    ShellKind.SH: Integration(
        script=_SH,
        evaluate=". '@COMMAND@'",
        interactive=lambda path: (path, "-i"),
    ),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the shell finds the command, and where it leaves its state when it exits."""

    command: str
    state: str


def bootstrap(kind: ShellKind, nonce: str, place: Place, before: str = "") -> str:
    """The script that the shell reads once, after `before` (a state to restore)."""
    return before + _fill(INTEGRATIONS[kind].script + _READY, nonce, place)


def load_line(place: Place) -> bytes:
    """What is typed to make the shell read the bootstrap. The blank keeps it out of histories."""
    return f" . '{place.command}'\n".encode()


def run_line(kind: ShellKind, place: Place, number: int, *, open_stdin: bool) -> bytes:
    """What is typed to run the command that waits in `place`."""
    source = "" if open_stdin else " </dev/null"
    middle = _fill(INTEGRATIONS[kind].evaluate, "", place)
    return f" __fl_b {number}; {middle}{source}; __fl_e\n".encode()


def kind_of(program: str) -> ShellKind | None:
    """The kind of shell a running program is, by its name."""
    name = program.lstrip("-")
    return {"bash": ShellKind.BASH, "zsh": ShellKind.ZSH, "sh": ShellKind.SH}.get(
        name, ShellKind.SH if name in ("dash", "ash", "ksh", "mksh") else None
    )


def own_shell(shell: Shell) -> Shell | None:
    """The shell we start for live commands; None if this kind can't be driven."""
    return shell if shell.kind in INTEGRATIONS else None


@dataclass(frozen=True, slots=True)
class Marks:
    """The patterns that find this shell's marks in its output, as bytes."""

    ready: re.Pattern[bytes]
    begin: re.Pattern[bytes]
    end: re.Pattern[bytes]
    exit: re.Pattern[bytes]
    prompt: re.Pattern[bytes]


def marks(nonce: str, number: int) -> Marks:
    """The marks of one command."""
    safe = re.escape(nonce).encode()
    done = rb";(\d+);%b;%d;([^\a]*)\a" % (safe, number)
    return Marks(
        ready=re.compile(rb"\x1b\]133;R;%b\a" % safe),
        begin=re.compile(rb"\x1b\]133;C;%b;%d\a" % (safe, number)),
        end=re.compile(rb"\x1b\]133;D" + done),
        exit=re.compile(rb"\x1b\]133;X" + done),
        prompt=re.compile(rb"\x1b\]133;A;(\d+);%b\a" % safe),
    )


def _fill(text: str, nonce: str, place: Place) -> str:
    filled = text.replace("@COMMAND@", place.command).replace("@STATE@", place.state)
    return filled.replace("@NONCE@", nonce)
