"""A login shell's start-up, paid once: taken from one shell, given to all later ones.

`capture_script` runs once in a login shell, inside the sandbox; `parse` reads what it printed;
`filtered` holds that against the environment policy; `apply` says how to run a script with it.
The state travels over a descriptor: in no file, no argument and no variable.

Not carried: traps, the working directory, ulimits, loaded zsh modules, and functions of a POSIX
shell (which can't list them: such a capture is `Unusable`).
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.model.frozen import dataclass, field, replace
from fairlead.model.params import Shell, ShellKind
from fairlead.shells.capture import capture_argv, capture_script
from fairlead.shells.environment import EnvironmentPolicy, admit, included, looks_unwanted
from fairlead.shells.login_state import MAX_BYTES, Snapshot, Unusable
from fairlead.shells.recorded import parse

__all__ = (
    "CAPTURED",
    "MAX_BYTES",
    "Applied",
    "Snapshot",
    "Unusable",
    "apply",
    "capture_argv",
    "capture_script",
    "filtered",
    "parse",
)

CAPTURED = frozenset({ShellKind.BASH, ShellKind.ZSH, ShellKind.SH})

# zsh and dash take one digit only in a redirection. Bash uses 63 for `<(…)`, and by then we are
# done with it.
BASH_FD = 63
SMALL_FD = 9

# Still a login shell, as far as scripts can tell, but without the start-up files.
QUIET_LOGIN = {
    ShellKind.BASH: ("--noprofile", "-lc"),
    ShellKind.ZSH: ("-lfc",),
    ShellKind.SH: ("-c",),
}

# `eval` reads the script after the aliases are there. All is on one line and the parameters are
# cleared inside, so that the script counts its own lines right. Without EVAL_LINENO a complaint
# begins with `zsh:1:`, as after -c, but then every line is the first.
ZSH_WRAPPER = (
    r"builtin setopt rcs; builtin . /dev/fd/9; "
    r"[[ $1 == *$'\n'* ]] || builtin unsetopt evallineno; "
    r'builtin eval "\builtin set --; \builtin setopt evallineno; $1"'
)
SH_WRAPPER = r'\. /dev/fd/9; \eval "\set --; $1"'
WRAPPERS = {ShellKind.ZSH: ZSH_WRAPPER, ShellKind.SH: SH_WRAPPER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """How to run a script with a snapshot.

    `env` comes on top of the call's variables; the snapshot's own environment is not in it,
    since `environment.after_login` has put that where a call's overrides still win.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    attached: Mapping[int, bytes] = field(default_factory=dict)


def apply(shell: Shell, snapshot: Snapshot, script: str) -> Applied:
    """What to spawn, so that `script` finds what a login shell would have prepared."""
    start = (shell.path, *QUIET_LOGIN[shell.kind])
    prelude = snapshot.prelude
    if not prelude:
        return Applied(argv=(*start, script))
    if shell.kind is ShellKind.BASH:
        text = f"unset BASH_ENV; exec {BASH_FD}<&-\n{prelude}"
        return Applied(
            argv=(*start, script),
            env={"BASH_ENV": f"/dev/fd/{BASH_FD}"},
            attached={BASH_FD: _encoded(text)},
        )
    text = f"exec {SMALL_FD}<&-\n{prelude}"
    argv = (*start, WRAPPERS[shell.kind], shell.path, script)
    return Applied(argv=argv, attached={SMALL_FD: _encoded(text)})


def filtered(snapshot: Snapshot, policy: EnvironmentPolicy) -> Snapshot:
    """Without what the policy keeps from commands; `dropped` names it.

    What a profile exports is judged like what is inherited, except that `inherit` does not
    select: the profile ran inside, and functions need what it exported for them.
    """
    env, dropped = admit(snapshot.env, policy)
    env = {name: value for name, value in env.items() if included(name, policy)}
    variables = {
        name: command
        for name, command in snapshot.variables.items()
        if (name in env if name in snapshot.env else not looks_unwanted(name, policy))
    }
    return replace(snapshot, env=env, variables=variables, dropped=dropped)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
