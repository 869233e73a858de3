"""A script can't tell a snapshot from the login shell that it was taken from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.model.params import Shell, ShellKind
from fairlead.shells.environment import Dropped, EnvironmentPolicy
from fairlead.shells.snapshot import MAX_BYTES, Snapshot, Unusable, apply, filtered, parse
from tests.shells.driving import NONCE, Home, Ran, home

Homes = dict[str, tuple[Home, Snapshot]]
Require = Callable[[str], str]

BASH_PROFILE = r"""
echo 'noise: welcome'; printf 'a\0b\377'
export GREETING="it's \"quoted\" \$HOME
second line" UNICODE='grün ☃' EMPTY=
plain_variable='kept too'; list=(one 'two words' $'three\nlines')
declare -A table=([a]='1 2' [b]=3); declare -i number=4; readonly FIXED=5
declare -rx FIXED_TOO=6; unset INHERITED
greet() { echo "hello $1, $plain_variable"; }
exported() { echo "seen by children"; }; export -f exported
ls() { command ls -a "$@"; }
shopt -s extglob expand_aliases nullglob
pattern() { case $1 in @(a|b)) echo one;; *) echo other;; esac; }
alias say='echo aliased' two='echo first
echo second'
uses_alias() { say through a function; }
set -u -o pipefail
umask 027
"""

ZSH_PROFILE = r"""
print 'noise: welcome'
export GREETING="it's \"quoted\" \$HOME
second line" UNICODE='grün ☃' EMPTY=
plain_variable='kept too'; list=(one 'two words' $'three\nlines')
typeset -A table; table=(a '1 2' b 3); typeset -i number=4; readonly FIXED=5
export -r FIXED_TOO=6; unset INHERITED
typeset -U path; path=(/opt/first $path); fpath+=(/opt/functions)
typeset -T THINGS things; THINGS=a:b; export -T TIED tied; tied=(x y)
greet() { echo "hello $1, $plain_variable"; }
autoload -Uz zmv
alias say='echo aliased'; alias -g QUIET='> /dev/null'; alias -s txt='echo opening'
uses_alias() { say through a function; }
setopt shwordsplit nonomatch extendedglob pipefail nounset
umask 027
"""

SH_PROFILE = r"""
echo 'noise: welcome'
export GREETING="it's \"quoted\" \$HOME
second line" UNICODE='grün ☃' EMPTY=
plain_variable='kept "too"'; number=4; readonly FIXED=5
FIXED_TOO=6; export FIXED_TOO; readonly FIXED_TOO; unset INHERITED
alias say='echo aliased'
set -u
umask 027
"""

PROFILES = {
    "bash": (ShellKind.BASH, {".bash_profile": BASH_PROFILE}),
    "zsh": (ShellKind.ZSH, {".zprofile": ZSH_PROFILE, ".zshenv": "PATH=/opt/zshenv:$PATH\n"}),
    "dash": (ShellKind.SH, {".profile": SH_PROFILE}),
}

EVERYWHERE = [
    'echo "$GREETING|$UNICODE|$EMPTY|"',
    'echo "$plain_variable $number"',
    "echo ${INHERITED-unset} ${KEPT-unset}",
    'echo "$PATH"',
    'echo "$0 $# [$*] $-"',
    "say something",
    "FIXED=1; echo not reached",
    "FIXED_TOO=1; echo not reached",
    "echo $FIXED $FIXED_TOO",
    "umask",
    "echo $UNSET_NAME; echo not reached",
    "false",
    "exit 7",
    "sh -c 'kill -9 $$'",
    "kill -9 $$",
    "cat <<X\n$plain_variable\nX\necho after",
    "trap 'echo bye' EXIT; echo hi",
    "set -e; false; echo not reached",
    "echo to-stderr >&2; (exit 3)",
    "env | grep -v '^_=' | sort",
    "cat; echo empty",
    "ls -1 /proc/self/fd | wc -l",
    "echo fd; test -e /dev/fd/9 || test -e /dev/fd/63; echo $?",
    'echo "${BASH_ENV-none}"',
    "echo '$quoted' \"double\" \\\\ back",
    "",
    "# a comment only",
    "shift; echo $#",
    "set -- a b; echo $# $1",
    "set -o | sort",
    "alias | sort",
]

BASH_ONLY = [
    "greet world; exported; bash -c exported",
    "ls -1 | head -1; type -t ls",
    "pattern a; pattern c",
    "two",
    "uses_alias",
    'echo "${list[1]}|${list[2]}|${#list[@]}|${table[a]}"',
    "number=2+3; echo $number",
    "shopt",
    "declare -F",
    "declare -f",
    "false | true; echo $?",
    "echo *.none",
    "echo $LINENO\necho $LINENO",
    "no_such_command",
    "echo 'unfinished",
    "if; then",
    "declare -p FIXED FIXED_TOO list table",
    "echo $SHLVL $BASHPID | wc -w",
    "diff <(echo a) <(echo a) && echo same",
]

ZSH_ONLY = [
    "greet world; echo $things $TIED; env | grep TIED",
    "echo ${list[2]} ${#list} ${table[a]}",
    "path+=(/opt/first); echo $path",
    "echo ${fpath[-1]}",
    "uses_alias; echo gone QUIET",
    "x='a b'; printf '<%s>' $x",
    "number=2+3; echo $number",
    "echo *.none(N) nothing*here",
    "whence -w zmv greet",
    "alias -L; alias -sL; functions greet",
    "no_such_command",
    "echo a; if",
    "false | true; echo $?",
    "typeset -p FIXED FIXED_TOO list table things",
    "echo $ZSH_EVAL_CONTEXT | wc -l",
    "[[ -o login ]] && echo login",
]

SH_ONLY = ["echo $LINENO", "echo 'unfinished", "number=$((number + 1)); echo $number"]

PROBES = [
    *((name, script) for name in PROFILES for script in EVERYWHERE),
    *(("bash", script) for script in BASH_ONLY),
    *(("zsh", script) for script in ZSH_ONLY),
    *(("dash", script) for script in SH_ONLY),
]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory, require: Require) -> Homes:
    found = {}
    for name, (kind, files) in PROFILES.items():
        path = tmp_path_factory.mktemp(name)
        shell = Shell(kind=kind, path=require(name))
        place = home(shell, path, files, INHERITED="before", KEPT="yes")
        found[name] = place, place.snapshot()
    return found


@pytest.mark.parametrize(("name", "script"), PROBES)
def test_a_script_can_not_tell(homes: Homes, name: str, script: str) -> None:
    """Output, errors and exit code are those of `-lc`, without the profile's own noise."""
    place, snapshot = homes[name]
    slow, quick = place.login(script), place.quick(snapshot, script)
    noise = place.login("").out
    assert slow.out.startswith(noise)
    assert (quick.code, quick.out) == (slow.code, slow.out[len(noise) :])
    # What runs through `eval` says so, and all else is the same.
    assert quick.err.replace("(eval):", "zsh:").replace("eval: ", "") == slow.err


START_UP = {"bash": ".bash_profile", "zsh": ".zprofile", "dash": ".profile"}


def with_profile(tmp_path: Path, require: Require, name: str, text: str) -> Home:
    shell = Shell(kind=PROFILES[name][0], path=require(name))
    return home(shell, tmp_path, {START_UP[name]: text})


@pytest.mark.parametrize("name", PROFILES)
def test_exports_alone_need_no_prelude(tmp_path: Path, require: Require, name: str) -> None:
    """A profile that only exports is an environment, and the script is the only argument."""
    place = with_profile(tmp_path, require, name, "export PATH=/opt/mine:$PATH EDITOR=vi\n")
    snapshot = place.snapshot()
    applied = apply(place.shell, snapshot, "echo hi")
    assert (snapshot.prelude, applied.env, applied.attached) == ("", {}, {})
    assert applied.argv[-1] == "echo hi"
    assert snapshot.env["PATH"].startswith("/opt/mine:")
    assert place.quick(snapshot, "echo $EDITOR").out == "vi\n"


@pytest.mark.parametrize("name", PROFILES)
def test_the_start_up_is_paid_once(tmp_path: Path, require: Require, name: str) -> None:
    """With a snapshot the profile does not run again, however often scripts do."""
    text = "echo ran >> $HOME/count; alias x='echo y'; shopt -s expand_aliases 2>/dev/null || :\n"
    place = with_profile(tmp_path, require, name, text)
    snapshot = place.snapshot()
    assert [place.quick(snapshot, "x").out for _ in range(3)] == ["y\n"] * 3
    assert (tmp_path / "count").read_text() == "ran\n"


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize(
    "trap",
    [
        "set -eu",
        "set -f; IFS=,",
        "alias builtin=false command=false printf=false set=false export=false",
        "trap 'echo leaving' EXIT",
        "umask 077; set -x",
        "set -C",
        "PATH=/nowhere; export PATH",
        "cd /",
    ],
)
def test_strange_profiles_are_captured(
    tmp_path: Path, require: Require, name: str, trap: str
) -> None:
    """Strict options, odd aliases, traps, output and an empty PATH do not spoil a capture."""
    place = with_profile(tmp_path, require, name, f"export MARK=here\n{trap}\n")
    snapshot = place.snapshot()
    assert snapshot.env["MARK"] == "here"
    script = 'echo "$MARK"; set -o'
    assert told(place.quick(snapshot, script)) == told(place.login(script))


def told(ran: Ran) -> list[str]:
    """Without the trap, which is not carried, and zsh's word that it was started with -f."""
    lines = ran.out.removesuffix("leaving\n").splitlines()
    return [line for line in lines if not line.startswith(("rcs", "norcs"))]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_functions_under_the_names_of_commands(tmp_path: Path, require: Require, name: str) -> None:
    """A profile may have functions called printf, alias, env or read."""
    text = 'for n in printf alias env read umask trap; do eval "$n() { echo own; }"; done\n'
    place = with_profile(tmp_path, require, name, text)
    assert place.quick(place.snapshot(), "printf; alias; env; read; umask").out == "own\n" * 5


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("text", ["exit 3", "exec > /dev/null", "exec sleep 0"])
def test_a_profile_that_ends_the_shell(
    tmp_path: Path, require: Require, name: str, text: str
) -> None:
    """Where the login shell tells nothing there is no snapshot, and no exception."""
    found = with_profile(tmp_path, require, name, text).capture()
    assert found == Unusable("the login shell ended before it had told everything")


def test_functions_of_a_posix_shell(tmp_path: Path, require: Require) -> None:
    """dash can't list functions, so a profile that defines some keeps being run."""
    (tmp_path / "more.sh").write_text("other ( )\n{ :; }\n")
    text = '. "$HOME/more.sh"\n  mine() { :; }\nunset -f gone\ngone() { :; }; unset -f gone\n'
    found = with_profile(tmp_path, require, "dash", text).capture()
    assert found == Unusable("this shell can't list its functions: mine, other")


@pytest.mark.parametrize("name", PROFILES)
def test_a_huge_state_is_refused(tmp_path: Path, require: Require, name: str) -> None:
    """More than 512 KiB is not kept."""
    text = "a=0123456789abcdef; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do a=$a$a; done"
    found = with_profile(tmp_path, require, name, text).capture()
    assert isinstance(found, Unusable)
    assert str(MAX_BYTES) in found.why


@pytest.mark.parametrize("kind", [ShellKind.BASH, ShellKind.ZSH, ShellKind.SH])
def test_nonsense_is_unusable(kind: ShellKind) -> None:
    """Output that no capture script prints is refused, not misread."""
    mark = NONCE.encode() + b"\0"
    for output in (b"", b"hello", mark * 3, mark + b"x\0" + mark + b"\0" * 50 + mark):
        assert isinstance(parse(kind, output, NONCE), Unusable)


@pytest.mark.parametrize("name", PROFILES)
def test_the_policy_filters_a_snapshot(tmp_path: Path, require: Require, name: str) -> None:
    """Secrets of a profile are dropped, exported or not; so is what changes a program."""
    text = "export API_TOKEN=hush LD_PRELOAD=/x FINE=1; MY_SECRET=hush; mine=2\n"
    place = with_profile(tmp_path, require, name, text)
    before = replace(place.snapshot(), env={**place.snapshot().env})
    after = filtered(before, EnvironmentPolicy())
    assert {drop.name for drop in after.dropped} == {"API_TOKEN", "LD_PRELOAD"}
    assert Dropped("LD_PRELOAD", "it changes what a program is") in after.dropped
    assert "hush" not in after.prelude + "".join(after.env.values())
    shown = place.quick(after, "echo $FINE $mine ${API_TOKEN-none} ${MY_SECRET-none}")
    assert shown.out == "1 2 none none\n"


def test_a_dropped_variable_leaves_no_attribute(tmp_path: Path, require: Require) -> None:
    """Readonly is not said of a variable that the policy dropped."""
    place = with_profile(tmp_path, require, "bash", "declare -rx A_KEY=1 B=2\n")
    after = filtered(place.snapshot(), EnvironmentPolicy())
    assert place.quick(after, "A_KEY=3; echo $A_KEY; B=3").out == "3\n"


def test_include_only_holds_for_a_snapshot(tmp_path: Path, require: Require) -> None:
    """What a profile exports is subject to include_only, but not to inherit."""
    place = with_profile(tmp_path, require, "bash", "export ONE=1 TWO=2\n")
    policy = EnvironmentPolicy(inherit="none", include_only=("ONE", "PATH"))
    assert filtered(place.snapshot(), policy).env.keys() == {"ONE", "PATH"}


def test_the_umask_is_compared_with_the_first(tmp_path: Path, require: Require) -> None:
    """A umask that the profile did not change is no reason for a prelude."""
    place = with_profile(tmp_path, require, "bash", "umask 022\n")
    assert place.snapshot().prelude == ""
    assert with_profile(tmp_path, require, "bash", "umask 0007\n").snapshot().prelude == (
        "umask 0007\n"
    )
