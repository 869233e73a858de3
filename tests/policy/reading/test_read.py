"""Down to the last command: wrappers, shells in shells, and bounds that hold for any text."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import Carrier, PlainCommand, Reading, Why
from fairlead.policy.reading.read import MAX_WRAPPERS, judged, read_argv, read_script

CASES = Path(__file__).parents[2] / "cases"
WRAPPERS = json.loads((CASES / "wrappers.json").read_text())["cases"]
BASH = ShellKind.BASH


def first(reading: Reading) -> PlainCommand:
    part = reading.parts[0]
    assert isinstance(part, PlainCommand), part
    return part


def chain(*argv: str) -> list[tuple[str, ...]]:
    """What these words run in turn, one in the other."""
    return [command.argv for command in read_argv(argv).commands()]


@pytest.mark.parametrize("row", WRAPPERS, ids=lambda row: row["id"])
def test_known_wrappers(row: dict[str, Any]):
    """The executable that a rule has to name is that of the table."""
    assert judged(first(read_argv(row["argv"]))).argv[0] == row["expectedRawExecutable"]


def test_wrappers_and_shells_in_each_other():
    """Each step to the last command is there, outer ones first."""
    script = "cd y && timeout 5 make -k"
    assert chain("env", "nice", "-n", "5", "bash", "-lc", script) == [
        ("env", "nice", "-n", "5", "bash", "-lc", script),
        ("nice", "-n", "5", "bash", "-lc", script),
        ("bash", "-lc", script),
        ("cd", "y"),
        ("timeout", "5", "make", "-k"),
        ("make", "-k"),
    ]


def test_a_shell_in_a_directory():
    """What a shell runs is where the line took it."""
    reading = read_script("cd a && sh -c 'cd b && ls' && env -C c ls", BASH)
    where = {command.argv: command.directories for command in reading.commands()}
    assert where["ls",] == ("a/c",)
    shells = [c for c in reading.commands() if c.argv[0] == "sh"]
    assert [inner.directories for inner in shells[0].inside] == [("a",), ("a/b",)]


@pytest.mark.parametrize("depth", [MAX_WRAPPERS, MAX_WRAPPERS + 1])
def test_depth_is_bounded(depth: int):
    """Eight wrappers are read; one more is not plain."""
    reading = read_argv([*["nice"] * depth, "ls"])
    assert reading.plain == (depth == MAX_WRAPPERS)
    doubts = [doubt.why for doubt in reading.doubts()]
    assert doubts == ([] if reading.plain else [Why.TOO_DEEP])


def test_depth_counts_shells_too():
    """A shell is a wrapper like any other, and so is what it runs."""
    assert read_argv([*["nice"] * 7, "sh", "-c", "ls"]).plain
    assert not read_argv([*["nice"] * 7, "sh", "-c", "nice ls"]).plain


@pytest.mark.parametrize("text", ["", "-", "a\0b"])
def test_words_that_are_never_executed(text: str):
    """No program gets a NUL, and nothing is no command; other words are what they are."""
    assert read_argv(["ls", text]).plain == ("\0" not in text)
    assert not read_argv([]).plain


def test_input_as_arguments():
    """What `xargs` runs has a hole where the input goes, so it is never plain."""
    reading = read_script("ls | xargs -n 1 rm -f", BASH)
    doubts = [(doubt.why, doubt.words) for doubt in reading.doubts()]
    assert doubts == [(Why.INPUT, ("rm", "-f", None))]
    marked = read_argv(["xargs", "-I{}", "mv", "{}", "x"])
    assert [doubt.words for doubt in marked.doubts()] == [("mv", None, "x")]


def test_partly_known_wrappers_are_opened():
    """`sudo rm $x` still shows that something is removed."""
    doubts = list(read_script("sudo rm -f $x", BASH).doubts())
    assert [doubt.words for doubt in doubts] == [("sudo", "rm", "-f", None), ("rm", "-f", None)]


def test_a_wrapper_outside_the_system():
    """A program called `nice` in a strange place may do anything, so it is judged itself."""
    command = first(read_argv(["/tmp/nice", "rm", "x"]))
    assert command.carrier is Carrier.CHANGING
    assert judged(command).argv[0] == "/tmp/nice"
    assert [inner.argv for inner in command.inside if isinstance(inner, PlainCommand)] == [
        ("rm", "x")
    ]


def test_other_languages_inside():
    """PowerShell and cmd are read by their own readers, also from a POSIX shell."""
    assert chain("pwsh", "-NoProfile", "-Command", "Get-Item a; ls b")[1:] == [
        ("Get-Item", "a"),
        ("ls", "b"),
    ]
    assert chain("cmd.exe", "/c", "dir", "&", "del", "x")[1:] == [("dir",), ("del", "x")]
    assert [d.why for d in read_argv(["pwsh", "-enc", "ZQBj"]).doubts()] == [Why.ENCODED]
    assert [d.why for d in read_argv(["fish", "-c", "ls"]).doubts()] == [Why.FOREIGN]


def pieces(text: str) -> list[str]:
    return text.split(" ")


PIECES = pieces(
    "ls rm -f a ' \" \\ $ ` ; & | > < ( ) { } [ ] * ? ~ # ! = \n \r \0 << <<E E\n $( ${ $(( )) }"
    " if then fi for do done case esac function time [[ ]] sh -c bash env xargs sudo pwsh"
    " -Command cmd /c cd .. @' '@ -- \ud800 🙂"
)
TEXTS = st.text() | st.lists(st.sampled_from(PIECES)).map(" ".join)


@settings(deadline=None)
@given(text=TEXTS, shell=st.sampled_from(list(ShellKind)))
def test_no_text_raises(text: str, shell: ShellKind):
    """Any text has a reading, whose spans lie within the text."""
    reading = read_script(text, shell)
    assert all(0 <= p.span.start <= p.span.end <= len(text) for p in reading.parts)
    assert reading.plain == (bool(reading.parts) and not list(reading.doubts()))


@settings(deadline=None)
@given(
    words=st.lists(TEXTS, max_size=8), wrapper=st.sampled_from(["env", "sh -c", "xargs", "sudo"])
)
def test_no_words_raise(words: list[str], wrapper: str):
    """Any words have a reading."""
    for argv in (words, [*wrapper.split(), *words]):
        reading = read_argv(argv)
        assert len(reading.parts) == 1
        list(reading.doubts())


UNITS = [
    *("(", "$(", "`", "{ ", "a <<E\n", "<<", "<<<", "((", "$((", "${", "[[ ", "if a; then "),
    *("case a in (", '"$(', "a|", "a&&", "'", "\\\n", "=", "a=", "a[", "a=(", "!", "; ;", "\n"),
    *("<(", "é", "$'", "a b ", "f() { ", "for ((", "do ", "{a,", "esac\n", "a <<'E'\n$("),
    *(
        "sh -c '",
        "nice ",
        "a; ",
        "a\\ ",
        '"\\"',
        "cd a; ",
        "@{",
        '@"\n',
        "[a]::",
        "# \n",
        "a >b ",
        "é ü; ",
    ),
]
SECONDS = 20.0  # of our own CPU time: far more than any takes, far less than what grows by squares


@pytest.mark.parametrize("shell", [BASH, ShellKind.POWERSHELL, ShellKind.CMD])
@pytest.mark.parametrize("size", [2_000, pytest.param(65_000, marks=pytest.mark.slow), 10_000_000])
def test_nonsense_takes_bounded_time(size: int, shell: ShellKind):
    """However a text is repeated, reading it ends soon, and it allows nothing that is too long."""
    for unit in UNITS:
        text = (unit * (size // len(unit) + 1))[:size]
        begun = time.process_time()
        reading = read_script(text, shell)
        list(reading.doubts())
        assert time.process_time() - begun < SECONDS, unit
        assert size < 100_000 or [d.why for d in reading.doubts()] == [Why.TOO_LONG]


def test_deep_nesting_does_not_exhaust_the_stack():
    """Shells in substitutions in shells: still a reading, and whoever walks it comes to its end."""
    text = "rm x"
    while len(text) < 30_000:
        text = f"a $(b $({text}) | sh -c 'c $(d $(e))')"
    reading = read_script(text, BASH)
    assert not reading.plain
    assert 0 < len(list(reading.doubts())) < 10_000
