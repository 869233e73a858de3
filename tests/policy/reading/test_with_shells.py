"""What is called plain is what real shells start, word for word."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import PlainCommand
from fairlead.policy.reading.read import read_script
from fairlead.policy.reading.words import quoted
from tests.policy.reading.shells import expected, started

POSIX = (ShellKind.BASH, ShellKind.ZSH, ShellKind.SH)
SOME = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(SOME, max_examples=6000)


def pieces(text: str) -> list[str]:
    return text.split()


# Nothing here can spell a builtin, so whatever a shell starts is one of our programs.
PIECES = pieces(
    "p a x 1 2 é ' ' \" \" \\ $ ` ; ; & | | > > >> < ( ) { } {} [ ] * ? ~ # ! = ^ % , .. - + @"
    " && && || 'x' \"a\" \\; \\' \\\" 2> &> >& 1 2>&1 >&- <& << <<< p1 A=1 A=x"
)
SOUP = st.lists(st.sampled_from([*PIECES, *[" "] * 24, "\n", "\n", "\t", "\\\n", " \\\n"]))
SENTENCES = st.lists(
    st.tuples(
        st.sampled_from(["p", "px", "ax", "é"]),
        st.lists(st.sampled_from([*PIECES, "''", '"\\$a"', "'$a'", "a\\ b", "=", "==x"])),
        st.sampled_from([" ", "; ", " | ", " && ", " || ", " & ", "\n", "|&", " > a ", " 2>a "]),
    ),
    min_size=1,
    max_size=4,
)


def line_of(sentences: list[tuple[str, list[str], str]]) -> str:
    text = "".join(f"{name} {' '.join(words)}{end}" for name, words, end in sentences)
    return text.rstrip("|&; ")


def check(text: str, shell: ShellKind) -> None:
    reading = read_script(text, shell)
    if not reading.plain:
        return
    commands = [part for part in reading.parts if isinstance(part, PlainCommand)]
    names = {command.argv[0] for command in commands}
    if any("/" in name or name in ("", ".", "..", "[", ":") for name in names):
        return
    found, complaint = started(text, shell, names)
    if any(command.redirections for command in commands):
        # A file that is missing, or a descriptor that is not open, keeps a command from starting,
        # and lets run what is behind a `||`.
        assert found <= Counter(command.argv for command in commands)
    else:
        assert found == expected(reading), complaint
    assert "not found" not in complaint
    assert "yntax" not in complaint


@pytest.mark.parametrize("shell", POSIX)
@SOME
@given(soup=SOUP)
def test_soup_is_not_plain_or_runs_as_read(shell: ShellKind, soup: list[str]):
    """Of random pieces of syntax, what is called plain starts exactly what was read."""
    check("".join(soup), shell)


@pytest.mark.parametrize("shell", POSIX)
@SOME
@given(sentences=SENTENCES)
def test_lines_run_as_read(shell: ShellKind, sentences: list[tuple[str, list[str], str]]):
    """Of lines that look like commands, too."""
    check(line_of(sentences), shell)


@pytest.mark.soak
@pytest.mark.parametrize("shell", POSIX)
@MANY
@given(soup=SOUP, sentences=SENTENCES)
def test_many_lines_run_as_read(
    shell: ShellKind, soup: list[str], sentences: list[tuple[str, list[str], str]]
):
    """The same, of thousands."""
    check("p" + "".join(soup), shell)
    check(line_of(sentences), shell)


WORDS = st.text(
    st.one_of(
        st.characters(codec="utf-8", exclude_categories=["C", "Z"]),
        st.sampled_from(" \n\t'\"\\$`!*?[]{}()<>|&;#~=^%@-"),
    ),
    max_size=12,
)


@given(words=st.lists(WORDS, max_size=5))
def test_quoted_words_are_read_back(words: list[str]):
    """Quoting and reading are each other's reverse, whatever the words."""
    for shell in POSIX:
        parts = read_script(quoted(["probe", *words]), shell).parts
        assert [part.argv for part in parts if isinstance(part, PlainCommand)] == [
            ("probe", *words)
        ]


@pytest.mark.parametrize("shell", POSIX)
@SOME
@given(name=st.sampled_from(["probe", "if", "-p", "A=1", "é", "=p"]), words=st.lists(WORDS))
def test_quoted_words_arrive(shell: ShellKind, name: str, words: list[str]):
    """A real shell starts quoted words as they were, also where the name is a reserved word."""
    found, complaint = started(quoted([name, *words]), shell, [name])
    assert found == Counter([(name, *words)]), complaint
