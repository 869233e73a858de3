"""The scripts that make a login shell print what its start-up left behind.

Each prints: nonce, its own state, nonce, the state of the same shell without start-up files,
nonce. A state is a row of texts that end in NUL; `recorded.py` reads them. The commands are
quoted (`\\builtin`), because the profile may have made aliases and functions of any name.
"""

from __future__ import annotations

import shlex

from fairlead.model.params import Shell, ShellKind

# `set +o` comes first and in no substitution: there bash would report errexit as off. The next
# lines are read after `unalias`, so only the first has to beware of aliases. The variables come
# name by name, since a value may hold anything but NUL.
_BASH_STATE = r"""
\builtin set +o; \builtin printf '\0'; \builtin shopt -p || \builtin :; \builtin printf '\0'; """
_BASH_STATE += r"""\builtin umask; \builtin printf '\0'; \builtin alias -p; \builtin unalias -a
builtin set +eufvx; builtin trap - DEBUG ERR RETURN EXIT; builtin printf '\0'
builtin declare -f; builtin printf '\0'
builtin declare -F; builtin printf '\0'
builtin compgen -v | while IFS= builtin read -r __fairlead_name; do
  builtin printf '%s\0' "$__fairlead_name"
  builtin declare -p "$__fairlead_name" 2>/dev/null
  builtin printf '\0'
done
builtin printf '\0'
"""

# zsh reads a whole `-c` text before it runs any of it, with the profile's aliases (the global
# ones too) in force; so the body is a string that is read once aliases are off.
_ZSH_FIRST = r"""__fairlead_options=("${(@kv)options}"); \unsetopt aliases; \builtin eval """
_ZSH_STATE = r"""
builtin emulate -R zsh; unsetopt aliases; builtin trap - DEBUG ZERR EXIT
builtin printf '%s\n' "${__fairlead_options[@]}"; builtin printf '\0'
builtin umask; builtin printf '\0'
builtin alias -L; builtin alias -sL; builtin printf '\0'
builtin functions; builtin printf '\0'
for __fairlead_name in "${(@ok)parameters}"; do
  case "${parameters[$__fairlead_name]}" in
    undefined*|*local*) continue;;
  esac
  builtin printf '%s\0%s\0' "$__fairlead_name" "${parameters[$__fairlead_name]}"
  builtin typeset -p -- "$__fairlead_name" 2>/dev/null
  builtin printf '\0'
done
builtin printf '\0'
"""

# dash can list neither its functions nor does `hash` name them. So the names that its start-up
# files seem to define are asked for one by one; a shell that has any can't be captured.
_SH_STATE = r"""
\set +o; \command printf '\0'; \umask; \command printf '\0'; \alias; \unalias -a
set +eufvx; trap - EXIT; command printf '\0'
readonly -p; command printf '\0'
set; command printf '\0'
"""
_SH_FUNCTIONS = r"""
set -- /etc/profile /etc/profile.d/*.sh "$HOME/.profile"
__fairlead_count=0
while [ $# -gt 0 ] && [ "$__fairlead_count" -lt 200 ]; do
  __fairlead_file=$1; __fairlead_count=$((__fairlead_count + 1)); shift
  [ -f "$__fairlead_file" ] && [ -r "$__fairlead_file" ] || continue
  while IFS=' 	' read -r __fairlead_word __fairlead_rest || [ -n "$__fairlead_word" ]; do
    case $__fairlead_word in
      .|source)
        __fairlead_next=${__fairlead_rest%%[;&|]*}
        case $__fairlead_next in
          *[!A-Za-z0-9_./\$\{\}\"\ ~-]*) ;;
          *) eval "set -- \"\$@\" $__fairlead_next" 2>/dev/null || : ;;
        esac
        continue;;
    esac
    __fairlead_line="$__fairlead_word $__fairlead_rest"
    case $__fairlead_line in *"("*")"*) ;; *) continue;; esac
    __fairlead_name=${__fairlead_line%%"("*}
    __fairlead_name=${__fairlead_name%"${__fairlead_name##*[! ]}"}
    __fairlead_name=${__fairlead_name##*[!A-Za-z0-9_]}
    [ -n "$__fairlead_name" ] || continue
    case $(command -V "$__fairlead_name" 2>/dev/null) in
      *function*) command printf '%s\n' "$__fairlead_name";;
    esac
  done < "$__fairlead_file"
done
command -v typeset; command -v shopt
command printf '\0'
"""


def capture_argv(shell: Shell, nonce: str) -> tuple[str, ...]:
    """The login shell to run once, in the environment that calls will start from."""
    return (shell.path, "-lc", capture_script(shell.kind, nonce))


def capture_script(kind: ShellKind, nonce: str) -> str:
    """What that shell runs. The nonce is random, so that a profile's own output can't hold it."""
    return {ShellKind.BASH: _bash, ShellKind.ZSH: _zsh, ShellKind.SH: _sh}[kind](nonce)


def _bash(nonce: str) -> str:
    mark = rf"builtin printf '%s\0' {shlex.quote(nonce)}"
    plain = shlex.quote(f"\\builtin :;{_BASH_STATE}")
    return (
        f"\\{mark};{_BASH_STATE}builtin command -p env -0; builtin printf '\\0'\n{mark}\n"
        f'(builtin exec -c "$BASH" --noprofile -lc {plain})\n{mark}\n'
    )


def _zsh(nonce: str) -> str:
    mark = rf"builtin printf '%s\0' {shlex.quote(nonce)}"
    plain = _ZSH_FIRST + shlex.quote(_ZSH_STATE)
    body = (
        f"{mark}\n{_ZSH_STATE}command -p env -0; builtin printf '\\0'\n{mark}\n"
        f'(exec -c "$0" -lfc {shlex.quote(plain)})\n{mark}\n'
    )
    return _ZSH_FIRST + shlex.quote(body)


def _sh(nonce: str) -> str:
    mark = rf"command printf '%s\0' {shlex.quote(nonce)}"
    return (
        f"\\{mark};{_SH_STATE}command -p env -0; command printf '\\0'{_SH_FUNCTIONS}{mark}\n"
        f'command -p env -i "$0" -c {shlex.quote(_SH_STATE)}\n{mark}\n'
    )
