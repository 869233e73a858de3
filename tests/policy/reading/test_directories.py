"""Where commands run, as far as the text says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import PlainCommand
from fairlead.policy.reading.read import read_script
from tests.programs import require


def places(text: str) -> list[tuple[str, ...]]:
    parts = read_script(text, ShellKind.BASH).parts
    return [part.directories for part in parts if isinstance(part, PlainCommand)]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("ls", (".",)),
        ("cd a && ls", ("a",)),
        ("cd a; ls", (".", "a")),
        ("cd a\nls", (".", "a")),
        ("cd a || ls", (".",)),
        ("cd a || exit; ls", ("a",)),
        ("cd a || exit 1; cd b && ls", ("a/b",)),
        ("cd a && cd .. && ls", (".",)),
        ("cd .. && ls", ("..",)),
        ("cd /x && cd y && ls", ("/x/y",)),
        ("cd -- a && ls", ("a",)),
        ("cd a & ls", (".",)),
        ("cd a && ls & ls", (".", "a")),
        ("cd a | ls; ls", (".", "a")),
        ("cd && ls", ()),
        ("cd - && ls", ()),
        ("cd a b && ls", ()),
        ("A=1 cd a && ls", ()),
        ("cd && cd /x && ls", ("/x",)),
        ("cd a && ls; cd .. && ls", ("..", ".")),
        ("; ".join(f"cd {n}" for n in "abcdefghi") + "; ls", ()),
    ],
)
def test_where_the_last_command_runs(text: str, last: tuple[str, ...]):
    """One place if the text is sure, several if a `cd` may have failed, none if nobody can say."""
    assert sorted(places(text)[-1]) == sorted(last)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("rm x; echo $y", (".",)),
        ("echo $y && cd a && rm x", ("a",)),
        ("cd a && echo $y && rm x", ("a",)),
        ("'cd' a && echo $y && rm x", ("a",)),
        ("c\\d a && rm x", ("a",)),
        ("(rm x)", (".",)),
        ("(cd a; rm x)", ()),
        ("$y a; rm x", ()),
        ("f() { cd a; }; f; rm x", ()),
        ("cd a & rm x; echo $y", ()),
        ("eval $y; rm x", ()),
        ("if true; then rm x; fi", (".",)),
    ],
)
def test_where_the_plain_parts_of_a_line_run(text: str, where: tuple[str, ...]):
    """What is not plain moves nobody if nothing in it can."""
    commands = read_script(text, ShellKind.BASH).commands()
    assert [c.directories for c in commands if c.argv[0] == "rm"] == [where]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["cd a", "cd b", "cd ..", "cd missing", "pwd", "true", "false", "exit 1"]),
        st.sampled_from([" && ", " || ", "; ", "\n", " | ", " & "]),
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, max_examples=60)
@given(steps=STEPS)
@example(steps=[("cd a", " && "), ("cd a", " & ")])
@pytest.mark.parametrize("shell", ["bash", "zsh -f", "dash"])
def test_real_shells_are_where_we_say(steps: list[tuple[str, str]], shell: str, tmp_path_factory):
    """If the last command of a line runs, it does so in one of the places that were read."""
    text = "".join(step + join for step, join in steps) + "pwd -P"
    start = Path(tmp_path_factory.getbasetemp(), "places", "start").resolve()
    for name in ("a/a/a", "a/b/a", "b/a/b", "b/b/b"):
        (start / name).mkdir(parents=True, exist_ok=True)
    if not read_script(text, ShellKind.BASH).plain or not (allowed := places(text)[-1]):
        return
    program, *options = shell.split()
    marked = text.removesuffix("pwd -P") + "pwd -P >&3"
    done = subprocess.run(
        [require(program), *options, "-c", f"exec 3>&1 >/dev/null 2>&1\n{marked}"],
        cwd=start,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    for line in done.stdout.splitlines():
        assert line in {str((start / place).resolve()) for place in allowed}, text
