"""What a live shell is told so that we can run commands in it and see where each begins and ends.

The command itself is never typed: it waits in a file of ours, and one short line makes the shell
read and evaluate it, at the top level, as if it had been typed. Marks in the terminal's own
language (OSC 133, with a nonce that output can't guess) say where its output starts, and where it
stopped with which status and directory. The prompt has a mark too: a command that was interrupted
never reaches its end mark, but always the prompt.

The functions that each shell gets:

  __fl_b N   before a command: reads it, says that command N begins, brings back its `$?`
  __fl_e     after it: says that it ended, with which status and where, once
  __fl_p     at each prompt: says which command was the last to begin
  __fl_x     when the shell exits: leaves its state for the next one, says that it ended
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable

from fairlead.model.frozen import dataclass
from fairlead.model.params import Shell, ShellKind

# The words are quoted and prefixed (`\builtin`), because the user may have made aliases and
# functions of any name. `__fl_b` stands in an `if` where it can, so that the status which it brings
# back neither ends a shell with `set -e` nor sets off a trap on ERR. `__fl_d` is there between
# the end of a command and the beginning of the next.
_BASH = r"""
\unset HISTFILE
__fl_b() {
  IFS= \builtin read -r -d '' __fl_c < '@COMMAND@' || \builtin :
  case $- in *e*) __fl_c+=$'\n@ENDED@';; esac
  case ${PROMPT_COMMAND-} in
    *__fl_p*) ;;
    *) PROMPT_COMMAND=__fl_p${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND};;
  esac
  __fl_n=$1; unset __fl_d
  \builtin printf '\033]133;C;@NONCE@;%s\007' "$1"
  return "${__fl_s:-0}"
}
__fl_e() {
  \builtin set -- "$?"
  case ${__fl_d-} in ?*) return 0;; esac
  __fl_s=$1; __fl_d=$1
  \builtin printf '\033]133;D;%s;@NONCE@;%s;%s\007' "$__fl_s" "${__fl_n-}" "$PWD"
}
__fl_p() {
  set -- "${__fl_d-$?}"
  \builtin printf '\033]133;A;%s;@NONCE@;%s\007' "$1" "${__fl_n-0}" >&2
  case $- in *e*) ;; *) return "$1";; esac
}
__fl_x() {
  __fl_s=${1-$?}
  __fl_k
  \builtin printf '\033]133;X;%s;@NONCE@;%s;%s\007' "$__fl_s" "${__fl_n-}" "$PWD"
}
__fl_k() {
  {
    \builtin printf '%s\0' "$PWD"
    \builtin export -p
    \builtin printf '\0'
    for __fl_v in @NAMES@; do
      case $__fl_v in @OWN@) ;; *) \builtin declare -p "$__fl_v";; esac
    done
    \builtin declare -f
    \builtin shopt -p
    \builtin alias -p
    \builtin set +o
  } >| '@STATE@' 2>/dev/null
}
\builtin trap __fl_x EXIT
# bash prints the word "exit" before it runs the trap on EXIT. That is hidden, but not what the
# user's own trap has to say, nor the status that it sees.
function exit {
  __fl_s=${1-$?}
  if [[ $BASH_SUBSHELL != 0 || -n ${__fl_q-} ]]; then \builtin exit "$@"; fi
  __fl_q=1
  \builtin eval "\\builtin set -- $(\builtin trap -p EXIT)"
  __fl_t=${3-:}
  if [[ $__fl_t == __fl_x ]]; then __fl_t=:; fi
  \builtin exec {__fl_2}>&2
  \builtin trap '__fl_u=$__fl_s
if (\builtin exit $__fl_u)
then \builtin eval "$__fl_t"; else \builtin eval "$__fl_t"; fi 2>&$__fl_2
__fl_x "$__fl_u"' EXIT
  \builtin exit "$__fl_s" 2>/dev/null
  \builtin exit "$__fl_s" 2>/dev/null  # the first try may only have warned of stopped jobs
}
__fl_n=0
\builtin printf '\033]133;R;@NONCE@;%s;%s;%s\007' "$$" "$-" "$PWD"
"""

_ZSH = r"""
\unset HISTFILE
__fl_b() {
  __fl_c="$(<'@COMMAND@')"
  case $- in *e*) __fl_c+=$'\n@ENDED@';; esac
  case "${precmd_functions-}" in
    __fl_p*) ;;
    *) precmd_functions=(__fl_p $precmd_functions);;
  esac
  __fl_n=$1; unset __fl_d
  \builtin printf '\033]133;C;@NONCE@;%s\007' "$1"
  case $- in *e*) ;; *) return "${__fl_s:-0}";; esac
}
__fl_e() {
  \builtin set -- "$?"
  case ${__fl_d-} in ?*) return 0;; esac
  __fl_s=$1; __fl_d=$1
  \builtin printf '\033]133;D;%s;@NONCE@;%s;%s\007' "$__fl_s" "${__fl_n-}" "$PWD"
}
__fl_p() {
  \builtin printf '\033]133;A;%s;@NONCE@;%s\007' "${__fl_d-$?}" "${__fl_n-0}" >&2
}
__fl_x() {
  __fl_s=$?
  [[ $ZSH_SUBSHELL == 0 ]] || return 0
  { \builtin printf '%s\0' "$PWD"; \builtin export -p; } >| '@STATE@' 2>/dev/null
  \builtin printf '\033]133;X;%s;@NONCE@;%s;%s\007' "$__fl_s" "${__fl_n-}" "$PWD"
}
zshexit_functions+=(__fl_x)
__fl_n=0
\builtin printf '\033]133;R;@NONCE@;%s;%s;%s\007' "$$" "$-" "$PWD"
"""

# A trap that the user sets on EXIT takes the place of ours: then the process's end is all we get.
_SH = r"""
__fl_m="$(command printf '\033]133;A;${__fl_d-$?};@NONCE@;$__fl_n\007')"
__fl_b() {
  case ${PS1-} in *@NONCE@*) ;; *) PS1=$__fl_m${PS1-};; esac
  __fl_n=$1; unset __fl_d
  \command printf '\033]133;C;@NONCE@;%s\007' "$1"
  return "${__fl_s:-0}"
}
__fl_e() {
  \command set -- "$?"
  case ${__fl_d-} in ?*) return 0;; esac
  __fl_s=$1; __fl_d=$1
  \command printf '\033]133;D;%s;@NONCE@;%s;%s\007' "$__fl_s" "${__fl_n-}" "$PWD"
}
__fl_x() {
  __fl_s=$?
  { \command printf '%s\0' "$PWD"; \command export -p; } >| '@STATE@' 2>/dev/null
  \command printf '\033]133;X;%s;@NONCE@;%s;%s\007' "$__fl_s" "${__fl_n-}" "$PWD"
}
trap __fl_x EXIT
__fl_n=0
\command printf '\033]133;R;@NONCE@;%s;%s;%s\007' "$$" "$-" "$PWD"
"""

# A state brings back `PWD` too. Where that directory is gone, the shell began in another one.
_HERE = r"""
\@BUILTIN@ [ "$PWD" -ef . ] || \@BUILTIN@ cd -P . >/dev/null 2>&1
"""

# Variables that are bash's own or ours: setting a read-only one again would end that script.
_OWN = "BASH*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|LINENO|PIPESTATUS|PPID|RANDOM|SECONDS|SHELLOPTS|"
_OWN += "SRANDOM|UID|_|__fl_*"

# The names of all variables, without another process: one that the shell starts while its command
# is being ended would be ended with that.
_NAMES = " ".join(f'"${{!{letter}@}}"' for letter in string.ascii_letters + "_")

# How `__fl_e` is called: with `set -x` it would be traced into the command's output.
#
# With `set -e` it also stands at the end of what is evaluated: the status of `eval` as a whole
# would end the shell, also where the user's own words made it harmless (`false && :`).
_ENDED = "{ __fl_e; } 2>/dev/null"

# Both branches do the same: what differs is the `$?` that the command sees.
_EITHER = "if __fl_b @NUMBER@ 2>/dev/null; then @EVALUATE@; else @EVALUATE@; fi@SOURCE@"


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """How one kind of shell is driven."""

    script: str
    line: str  # what is typed to run the command that `__fl_b` read, or that waits in @COMMAND@
    interactive: Callable[[str], tuple[str, ...]]  # argv of a shell of our own
    ours: str = ""  # what only our own shells are told: nobody sits in front of them


INTEGRATIONS: dict[ShellKind, Integration] = {
    ShellKind.BASH: Integration(
        script=_BASH,
        line=_EITHER.replace("@EVALUATE@", r'\builtin eval "$__fl_c"'),
        # No line editor: we send one short line per command, and nobody has to redraw it.
        interactive=lambda path: (path, "--noprofile", "--norc", "--noediting", "-i"),
        # A profile's prompt hooks would slow every command down; a prompt that comes late would
        # be taken for output where the marks were redirected (`exec >FILE`).
        ours="unset PROMPT_COMMAND; PS1=\n",
    ),
    ShellKind.ZSH: Integration(
        script=_ZSH,
        # In zsh `$?` is 0 in the branches of an `if`.
        line=r'__fl_b @NUMBER@ 2>/dev/null; \builtin eval "$__fl_c"@SOURCE@',
        interactive=lambda path: (path, "-f", "-i", "+Z"),
        ours="precmd_functions=(); preexec_functions=(); chpwd_functions=()\n"
        "unsetopt prompt_sp check_jobs hup; PS1=; RPS1=\n",
    ),
    ShellKind.SH: Integration(
        script=_SH,
        # The empty line first: dash tells of jobs that ended before each line that it reads, and
        # would do so amid the command's output.
        line="\n " + _EITHER.replace("@EVALUATE@", r"\. '@COMMAND@'"),
        interactive=lambda path: (path, "-i"),
        ours="PS1=\n",
    ),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the shell finds the command, and where it leaves its state when it exits."""

    command: str
    state: str


def bootstrap(kind: ShellKind, nonce: str, place: Place, before: str = "") -> str:
    """The script that the shell reads once, after `before` (a state to restore)."""
    before += _HERE.replace("@BUILTIN@", "command" if kind is ShellKind.SH else "builtin")
    return before + _fill(INTEGRATIONS[kind].script, nonce, place)


def load_line(place: Place) -> bytes:
    """What is typed to make the shell read the bootstrap. The blank keeps it out of histories."""
    return f" . '{place.command}'\n".encode()


def run_line(kind: ShellKind, place: Place, number: int, *, open_stdin: bool) -> bytes:
    """What is typed to run the command that waits in `place`."""
    line = _fill(INTEGRATIONS[kind].line, "", place).replace("@NUMBER@", str(number))
    line = line.replace("@SOURCE@", "" if open_stdin else " </dev/null")
    return f" {line}; {_ENDED}\n".encode()


def run_text(kind: ShellKind, command: str) -> str:
    """What waits for the shell to evaluate."""
    return f"{command}\n{_ENDED}\n" if kind is ShellKind.SH else command


def kind_of(program: str) -> ShellKind | None:
    """The kind of shell a running program is, by its name."""
    name = program.lstrip("-")
    return {"bash": ShellKind.BASH, "zsh": ShellKind.ZSH, "sh": ShellKind.SH}.get(
        name, ShellKind.SH if name in ("dash", "ash", "ksh", "mksh") else None
    )


def own_shell(shell: Shell) -> Shell | None:
    """The shell we start for live commands; None if this kind can't be driven."""
    return shell if shell.kind in INTEGRATIONS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a shell left behind when it exited, as commands for the next one."""

    cwd: str = ""
    exports: str = ""
    everything: str = ""  # the exports too; empty where the shell can't tell


def parse_state(text: str) -> Saved:
    """The state as `__fl_x` wrote it. A shell that was killed wrote none."""
    cwd, _, rest = text.partition("\0")
    exports, _, everything = rest.partition("\0")
    return Saved(cwd=cwd, exports=_quiet(exports), everything=_quiet(everything))


def _quiet(commands: str) -> str:
    """Without the complaints about what can't be set: read-only variables, mostly."""
    return f"{{\n{commands}\n}} 2>/dev/null\n" if commands else ""


def marks(nonce: str) -> re.Pattern[bytes]:
    """The pattern that finds this shell's marks in its output."""
    ours = re.escape(nonce).encode()
    return re.compile(
        rb"\x1b\]133;(?:"
        rb"(?P<begin>C);%(n)b;(?P<begun>\d+)"
        rb"|(?P<end>[DX]);(?P<code>\d+);%(n)b;(?P<ended>\d+);(?P<cwd>[^\a]*)"
        rb"|(?P<prompt>A);(?P<status>\d+);%(n)b;(?P<last>\d+)"
        rb"|(?P<ready>R);%(n)b;(?P<pid>\d+);(?P<flags>[^;\a]*);(?P<place>[^\a]*)"
        rb")\a" % {b"n": ours}
    )


def _fill(text: str, nonce: str, place: Place) -> str:
    filled = text.replace("@COMMAND@", place.command).replace("@STATE@", place.state)
    return (
        filled.replace("@NONCE@", nonce)
        .replace("@ENDED@", _ENDED)
        .replace("@OWN@", _OWN)
        .replace("@NAMES@", _NAMES)
    )
