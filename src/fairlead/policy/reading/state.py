"""Words at the place of a command that are no command, or change what later words mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile

from fairlead.policy.reading.parts import Why
from fairlead.policy.reading.words import KEYWORDS, ONLY_AS_ARGUMENT, names

_LOOPS = frozenset({"for", "foreach", "select", "while", "until", "repeat", "do", "done", "end"})
_CONDITIONS = frozenset({"if", "then", "elif", "else", "fi", "case", "esac", "in"})
_DECLARES = frozenset({"declare", "typeset", "local", "export", "readonly", "integer", "float"})
# Builtins after which the shell may find other commands, or run text that is not in sight.
_STATEFUL = _DECLARES | names(
    ". source eval alias unalias trap enable disable hash rehash unhash shopt setopt"
    " unsetopt emulate autoload zmodload zle bindkey compdef unset unfunction functions"
    " read mapfile readarray vared getopts let pushd popd dirs complete compgen compopt"
    " bind fc history jobs fg bg wait coproc caller sched sysopen sysread syswrite zformat"
    " zparseopts zstyle zcompile zsocket ztcp limit unlimit umask ulimit set shift logout"
    " suspend which-command chdir private r getln pushln"
    " strftime sysseek syserror ttyctl zprof zpty zselect zsystem zregexparse zgetattr"
    " zsetattr zdelattr zlistattr compadd comparguments compcall compctl compdescribe compfiles"
    " compgroups compquote compset comptags comptry compvalues help"
)
_SETS = re.compile(r"-(?:[eux]+o?|o)|pipefail|errexit|nounset|xtrace")
# Builtins that take a number, which some shells calculate: `exit 'a[$(id)]'` runs id in zsh.
_CALCULATES = names("exit return break continue test [ printf print kill sleep")
# Builtins that only print, but for these options: into a variable, the history, the input.
_ASSIGNS = {"printf": re.compile("-v"), "print": re.compile(r"-\w*[vszSpu]")}
_PASSES_ON = ("command", "builtin", "exec")  # builtins that run another one in this shell
_STARTS_A_COMMAND = re.compile(r"[\w./\[\"'\\:]")


def not_a_command(raw: str) -> Why | None:
    """Why a word, as it is written, does not name a command where one is expected."""
    if raw in ONLY_AS_ARGUMENT:
        return Why.NEGATION if raw == "!" else Why.SYNTAX
    if raw in _LOOPS:
        return Why.LOOP
    if raw in _CONDITIONS:
        return Why.CONDITION
    if raw == "function":
        return Why.FUNCTION
    if raw in KEYWORDS and raw != "time":
        return Why.STATE if raw in _DECLARES else Why.KEYWORD
    if "=" in raw and raw[0] not in "\"'":  # zsh allows more names than others
        return Why.ASSIGNMENT
    if raw.startswith(":") and raw != ":":
        return Why.UNKNOWN
    if raw.startswith("%"):
        return Why.JOB
    return None if _STARTS_A_COMMAND.match(raw) else Why.UNKNOWN


def changes_the_shell(argv: Sequence[str], raws: Sequence[str]) -> Why | None:
    """Why a command has to do with more than itself."""
    name, rest = argv[0], argv[1:]
    if name.startswith("%"):
        return Why.JOB  # for bash even in quotes
    if name == "set" and rest and all(_SETS.fullmatch(word) for word in rest):
        return None  # when to stop, and what to show
    if name in _ASSIGNS and any(_ASSIGNS[name].match(word) for word in rest):
        return Why.STATE
    if name in ("test", "[") and any(word in ("-v", "-R") for word in rest):
        return Why.ARITHMETIC  # bash evaluates the subscript of the variable that is named
    if name in _CALCULATES and any("[" in word and set("$`") & set(word) for word in rest):
        return Why.ARITHMETIC
    if name in _STATEFUL or (name == "exec" and not rest):
        return Why.STATE
    if raws[0] == "time":
        return _after_time(argv, raws)
    if name in _PASSES_ON and rest:
        return _after_builtin(rest)
    return None


def _after_time(argv: Sequence[str], raws: Sequence[str]) -> Why | None:
    """`time` is a word of the grammar: what comes next is read as a command again."""
    behind = 2 if raws[1:2] == ["-p"] else 1
    if behind == len(raws):
        return None
    if argv[behind] in ("cd", "time"):
        return Why.STATE
    if argv[behind].startswith("-"):
        return Why.UNKNOWN
    return not_a_command(raws[behind]) or changes_the_shell(argv[behind:], raws[behind:])


def _after_builtin(rest: Sequence[str]) -> Why | None:
    """Behind `command`, a builtin still works on this shell."""
    inner = list(dropwhile(lambda word: word.startswith("-"), rest))
    asks = rest[0].startswith("-") and not {"v", "V"}.isdisjoint(rest[0])
    if asks or not inner:
        return None
    if inner[0] in ("cd", *_PASSES_ON):
        return Why.STATE
    return changes_the_shell(inner, inner)
