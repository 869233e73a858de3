"""Builtins: no shell has one that changes what comes later and that is read as a plain command."""

from __future__ import annotations

import subprocess

import pytest

from fairlead.model.params import ShellKind
from fairlead.policy.reading.read import read_script
from fairlead.policy.reading.words import names
from tests.programs import require

# Looked through one by one: they print, leave, signal, or run what is in their arguments.
HARMLESS = names(
    ": [ break builtin bye cd command continue disown echo echotc echoti exec exit false kill log"
    " print printf pwd return test time times true type whence where which"
)
LISTS = {
    ShellKind.BASH: ("bash", "compgen -b; compgen -k"),
    ShellKind.ZSH: ("zsh", "print -l ${(k)builtins} ${(k)reswords}"),
}


@pytest.mark.parametrize("shell", LISTS)
def test_every_builtin_is_refused_or_reviewed(shell: ShellKind):
    """What a real shell knows by itself is plain only if it is on the list of the harmless."""
    program, script = LISTS[shell]
    options = ["-f"] if shell is ShellKind.ZSH else []
    done = subprocess.run(
        [require(program), *options, "-c", script], capture_output=True, text=True, check=True
    )
    builtins = done.stdout.split()
    assert "eval" in builtins
    plain = {name for name in builtins if read_script(f"{name} x", shell).plain}
    assert plain - HARMLESS == set()


@pytest.mark.parametrize(
    "text",
    [
        *("printf -v PATH /tmp", "printf -vPATH /tmp", "print -v PATH /tmp", "print -s x"),
        *("chdir a", "time cd a", "time -p eval ls", "time time ls", "command command eval ls"),
        *("command printf -v PATH /tmp", "builtin set -k", "command -p -- cd a", "time 'cd' a"),
        *("command test -v 'a[$(id)]'", "time '-p' ls", "time -p -p ls", "\\command cd a"),
        *("builtin . x", "exec -a x eval", "exec", "set -k", "set -- a", "set +e x"),
        *("test -v 'a[$(id)]'", "[ -v 'a[$(id)]' ]", "exit 'a[$(id)]'", "printf %d 'a[`id`]'"),
    ],
)
def test_what_changes_the_shell(text: str):
    """A change is found also behind words that pass it on."""
    assert not read_script(text, ShellKind.ZSH).plain


@pytest.mark.parametrize(
    "text",
    [
        *(
            "printf '%s\\n' x",
            "print -n x",
            "set -euo pipefail",
            "set -e",
            "set -o pipefail",
            "command -v eval",
        ),
        *("test -f x", "[ -n x ]", "exit 1", "time -p ls", "exec ls -l", "command ls"),
    ],
)
def test_what_does_not(text: str):
    """The same words are plain where they only do what they say."""
    assert read_script(text, ShellKind.ZSH).plain
