"""Text for POSIX shells: the known tables, and each thing named as what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import (
    Assignment,
    Flow,
    Join,
    NotPlain,
    PlainCommand,
    Reading,
    Redirection,
    Why,
)
from fairlead.policy.reading.read import read_script

CASES = Path(__file__).parents[2] / "cases"
SCRIPTS = json.loads((CASES / "shell_parsing.json").read_text())
ALLOWLIST = json.loads((CASES / "allowlist_parsing.json").read_text())["cases"]
POSIX = (ShellKind.BASH, ShellKind.ZSH, ShellKind.SH)
BASH, ZSH, SH = POSIX


def read(text: str, shell: ShellKind = BASH) -> Reading:
    return read_script(text, shell)


def only(text: str, shell: ShellKind = BASH) -> PlainCommand:
    (part,) = read(text, shell).parts
    assert isinstance(part, PlainCommand), part
    return part


def doubt(text: str, shell: ShellKind = BASH) -> NotPlain:
    """The first thing in a text that is not plain."""
    return next(read(text, shell).doubts())


def argvs(reading: Reading) -> list[tuple[str, ...]]:
    return [part.argv for part in reading.parts if isinstance(part, PlainCommand)]


@pytest.mark.parametrize("shell", POSIX)
@pytest.mark.parametrize("row", SCRIPTS["plain_accept"], ids=lambda row: row["script"])
def test_plain_rows(row: dict[str, Any], shell: ShellKind):
    """A script of the table is plain, and stands for the commands of its row."""
    reading = read(row["script"], shell)
    assert reading.bare
    assert argvs(reading) == [tuple(argv) for argv in row["commands"]]


@pytest.mark.parametrize("shell", POSIX)
@pytest.mark.parametrize("script", SCRIPTS["plain_reject"])
def test_rows_that_are_not_plain(script: str, shell: ShellKind):
    """A script of the other table is never taken for nothing but words."""
    assert not read(script, shell).bare


@pytest.mark.parametrize("shell", POSIX)
@pytest.mark.parametrize("row", ALLOWLIST, ids=lambda row: row["id"])
def test_allowlist_rows(row: dict[str, Any], shell: ShellKind):
    """An allowlist looks at a command if it is plain, and then at these programs in order."""
    reading = read(row["command"], shell)
    assert reading.bare == row["ok"]
    if row["ok"]:
        assert [argv[0] for argv in argvs(reading)] == row["executables"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo $(id)", Why.SUBSTITUTION),
        ("echo `id`", Why.SUBSTITUTION),
        ('echo "a $(id)"', Why.SUBSTITUTION),
        ("cat <(id)", Why.PROCESS_SUBSTITUTION),
        ("cat >(id)", Why.PROCESS_SUBSTITUTION),
        ("echo $x", Why.EXPANSION),
        ("echo ${x}", Why.EXPANSION),
        ('echo "${x:-y}"', Why.EXPANSION),
        ("rm$IFS-rf$IFS/", Why.EXPANSION),
        ("echo $((1 + 2))", Why.ARITHMETIC),
        ("echo {a,b}", Why.BRACES),
        ("echo *.c", Why.GLOB),
        ("echo a?", Why.GLOB),
        ("echo [ab]", Why.GLOB),
        ("echo a^b", Why.GLOB),
        ("echo ~", Why.TILDE),
        ("echo $'\\x41'", Why.ANSI_C),
        ('echo $"hi"', Why.TRANSLATED),
        ("echo a!b", Why.HISTORY),
        ('echo "a\\!b"', Why.HISTORY),
        ("echo =ls", Why.EQUALS),
        ("A==ls true", Why.EQUALS),
        ("cat <<EOF\nhi\nEOF", Why.HEREDOC),
        ("cat <<'EOF'\nhi\nEOF", Why.HEREDOC),
        ("cat <<<hi", Why.HERESTRING),
        ("A=1", Why.ASSIGNMENT),
        ("A=1; ls", Why.ASSIGNMENT),
        ("export A=1", Why.STATE),
        ("alias ls=rm; ls", Why.STATE),
        ("eval 'rm x'", Why.STATE),
        ("\\eval 'rm x'", Why.STATE),
        ("'eval' ls", Why.STATE),
        (". ./x", Why.STATE),
        ("source x", Why.STATE),
        ("trap 'rm x' EXIT", Why.STATE),
        ("exec 3>x", Why.STATE),
        ("hash -p /tmp/x ls; ls", Why.STATE),
        ("command eval ls", Why.STATE),
        ("builtin cd /", Why.STATE),
        ("printf -v PATH /tmp; ls", Why.STATE),
        ("set -k; ls", Why.STATE),
        ("unset PATH", Why.STATE),
        ("(ls)", Why.SUBSHELL),
        ("{ ls; }", Why.GROUP),
        ("f() { ls; }", Why.FUNCTION),
        ("function f { ls; }", Why.FUNCTION),
        ("for i in a b; do ls; done", Why.LOOP),
        ("while true; do ls; done", Why.LOOP),
        ("until true; do ls; done", Why.LOOP),
        ("if true; then ls; fi", Why.CONDITION),
        ("case a in a) ls;; esac", Why.CONDITION),
        ("! ls", Why.NEGATION),
        ("[[ -f x ]]", Why.TEST),
        ("%1", Why.JOB),
        ("'%1'", Why.JOB),
        ('find . "-de\\\nlete"', Why.LINE_CONTINUATION),
        ("r\\\nm x", Why.LINE_CONTINUATION),
        ("ls # \\\nrm x", Why.COMMENT),
        ("ls\r\ngit --version", Why.CONTROL_CHARACTER),
        ("ls \u200bx", Why.CONTROL_CHARACTER),
        ("ls \u202ex", Why.CONTROL_CHARACTER),
        ("ls\u00a0-la", Why.CONTROL_CHARACTER),
        ("ls \0", Why.CONTROL_CHARACTER),
        ("ls \ud800", Why.CONTROL_CHARACTER),
        ("test -v 'a[$(id)]'", Why.ARITHMETIC),
        ("exit 'a[$(id)]'", Why.ARITHMETIC),
        ("coproc ls", Why.KEYWORD),
        ("ls;;", Why.SYNTAX),
        ("ls &&", Why.SYNTAX),
        ("&& ls", Why.SYNTAX),
        ("ls | | wc", Why.SYNTAX),
        ("ls & ; ls", Why.SYNTAX),
        ("echo 'a", Why.SYNTAX),
        ("echo 'a''b'", Why.SYNTAX),
        ("ls )", Why.SUBSHELL),
        ("ls 12>x", Why.REDIRECTION),
        ("ls > 12>x", Why.REDIRECTION),
        ("> x", Why.REDIRECTION),
        ("ls 2>&x", Why.REDIRECTION),
        ("a b | a b | a b\na b && c", Why.DOUBT),  # the full grammar does not see the line's end
        ("ls " + "x" * 70_000, Why.TOO_LONG),
    ],
)
def test_what_is_not_plain_has_a_name(text: str, why: Why):
    """What the text alone does not tell is named as what it is."""
    assert doubt(text).why is why
    assert not read(text).plain


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("find . -name x -exec rm {} \\;", ("find", ".", "-name", "x", "-exec", "rm", "{}", ";")),
        ("find . ! -name x", ("find", ".", "!", "-name", "x")),
        ("xargs -I{} ls", ("xargs", "-I{}", "ls")),
        ("[ a = b ]", ("[", "a", "=", "b", "]")),
        ("echo a\\ b", ("echo", "a b")),
        ("echo ''", ("echo", "")),
        ("\\ls -l", ("ls", "-l")),
        ("'if' x", ("if", "x")),
        ("ls \\\n  -l", ("ls", "-l")),
        ("ls # rm -rf /", ("ls",)),
        ("# first\nls", ("ls",)),
        ("echo a#b'#c'", ()),
        ("echo 'a\nb'", ("echo", "a\nb")),
        ('echo "\\$a \\"b\\" \\\\ \\n"', ("echo", '$a "b" \\ \\n')),
        ("ls é 'ü'", ("ls", "é", "ü")),
        ("dd if=a of=b", ("dd", "if=a", "of=b")),
        ("time -p ls", ("time", "-p", "ls")),
    ],
)
def test_words(text: str, argv: tuple[str, ...]):
    """Words are what every shell makes of them."""
    assert argvs(read(text)) == ([argv] if argv else [])


def test_joins_and_spans():
    """Each command says how it hangs on the one before it, and where it stands."""
    text = "a && b || c; d | e |& f & g\nh"
    parts = read(text).parts
    joins = [part.join for part in parts]
    assert joins == [
        *(Join.FIRST, Join.AND, Join.OR, Join.SEQUENCE, Join.PIPE),
        *(Join.PIPE_ALL, Join.BACKGROUND, Join.SEQUENCE),
    ]
    assert [text[part.span.start : part.span.end] for part in parts] == list("abcdefgh")
    background = [part.background for part in parts if isinstance(part, PlainCommand)]
    assert background == [False] * 3 + [True] * 3 + [False] * 2


def test_spans_count_characters():
    """A span counts characters, whatever their size."""
    text = "echo 'ü🙂' && echo $x"
    assert text[doubt(text).span.start :] == "echo $x"


@pytest.mark.parametrize(
    ("text", "redirections"),
    [
        ("ls > f", [(Flow.WRITES, "f", 1)]),
        ("ls >| f", [(Flow.WRITES, "f", 1)]),
        ("ls>>f", [(Flow.APPENDS, "f", 1)]),
        ("ls 2>f", [(Flow.WRITES, "f", 2)]),
        ("ls a2>f", [(Flow.WRITES, "f", 1)]),
        ("ls < 'a b'", [(Flow.READS, "a b", 0)]),
        ("ls > f 2>&1", [(Flow.WRITES, "f", 1), (Flow.DUPLICATES, "1", 2)]),
        ("ls 2>&-", [(Flow.CLOSES, "-", 2)]),
        ("ls &> f", [(Flow.WRITES, "f", None)]),
        ("ls >& f", [(Flow.WRITES, "f", None)]),
        ("ls > f -l", [(Flow.WRITES, "f", 1)]),
    ],
)
def test_redirections_are_effects(text: str, redirections: list[tuple[Flow, str, int | None]]):
    """A redirection says which file, which way, and for which descriptor."""
    assert only(text).redirections == tuple(Redirection(*row) for row in redirections)


@pytest.mark.parametrize("text", ["ls &> f", "ls &>> f", "ls >& f", "ls |& wc"])
def test_what_only_bash_and_zsh_know(text: str):
    """`ls &> f` is two commands for a POSIX shell: it is plain only where we know who reads."""
    assert read(text, BASH).plain
    assert read(text, ZSH).plain
    assert not read(text, SH).plain


def test_throwing_output_away_opens_no_file():
    """What goes to /dev/null or to another descriptor leaves a line bare."""
    assert read("ls 2>/dev/null | wc 2>&1 >&2").bare
    assert not read("ls 2>x").bare


def test_assignments_before_a_command():
    """They hold for that command, and the line is not bare."""
    command = only("A=1 B='x y' make all")
    assert command.assignments == (Assignment("A", "1"), Assignment("B", "x y"))
    assert command.argv == ("make", "all")
    assert not read("A=1 ls").bare


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("(cd x && rm -rf y)", [("cd", "x"), ("rm", "-rf", "y")]),
        ("f() { rm -rf y; }", [("rm", "-rf", "y")]),
        ("echo $(rm y)", [("rm", "y")]),
        ("if true; then rm y; fi", [("true",), ("rm", "y")]),
        ("ls; rm y; fi", [("ls",), ("rm", "y")]),
        ("echo $(sh -c 'rm y')", [("sh", "-c", "rm y"), ("rm", "y")]),
    ],
)
def test_commands_within_are_seen(text: str, inside: list[tuple[str, ...]]):
    """What is not plain still shows the commands in it, to those who look for danger."""
    assert [command.argv for command in read(text).commands()] == inside


def test_unknown_words_are_holes():
    """Of a command that is not plain, the words that are known are there, and the others None."""
    assert doubt("rm -rf $x a").words == ("rm", "-rf", None, "a")
    assert doubt("bash <<E\nls\nE").words == ("bash",)


def test_effects_of_what_is_not_plain():
    """A subshell's file is an effect like any other."""
    assert doubt("(ls) > /etc/x").redirections == (Redirection(Flow.WRITES, "/etc/x", 1),)


def test_nothing_is_not_plain():
    """A text without a command allows nothing."""
    for text in ("", " \n", "# ls"):
        assert not read(text).plain


def test_fish_is_not_read():
    """A shell without a reader is not plain."""
    assert doubt("ls", ShellKind.FISH).why is Why.FOREIGN
