"""Settings as git itself reads them, or a refusal."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from fairlead.protect.gitconfig import LARGEST, Entry, Malformed, parse, render
from tests.programs import require

Settings = list[tuple[bytes, bytes | None]]

ACCEPTED: dict[str, list[Entry]] = {
    "[core]\n\tbare = false\n": [Entry("core", None, "bare", "false")],
    "[Core]\nFsMonitor = X": [Entry("core", None, "fsmonitor", "X")],
    '[remote "Or igin"]\nurl=x': [Entry("remote", "Or igin", "url", "x")],
    '[a "b\\"c\\\\d"]\nk=v': [Entry("a", 'b"c\\d', "k", "v")],
    "[a.B.c]\nk=v": [Entry("a", "b.c", "k", "v")],
    "[alias] x = !sh -c 'a; b' # comment": [Entry("alias", None, "x", "!sh -c 'a")],
    '[alias] x = "!sh; #" ; comment': [Entry("alias", None, "x", "!sh; #")],
    "[core]\nx": [Entry("core", None, "x", None)],
    "[core]\nx=": [Entry("core", None, "x", "")],
    "[core]\nx = a\\\n b": [Entry("core", None, "x", "a b")],
    '[core]\nx = a\\tb\\n\\"': [Entry("core", None, "x", 'a\tb\n"')],
    '[core]\nx = " a "b " c" ': [Entry("core", None, "x", " a b  c")],
    "\ufeff[core]\r\nx = y\r\n": [Entry("core", None, "x", "y")],
    "[a]x=1\n[b]\n[c]y=2": [Entry("a", None, "x", "1"), Entry("c", None, "y", "2")],
    "# only\n; comments\n": [],
    "": [],
}
REFUSED = [
    "x = 1",  # before any section
    "[core",
    '[core]\nx = "open',
    "[core]\nx = \\q",
    "[core]\n1x = y",
    "[core]\nx y",
    '[a "b\n"]\nk=v',
    '[a "b"c]\nk=v',
    "[]\nk=v",
    "[a_b]\nk=v",
    "[core]\n\fx = y",  # white space for others, not for git
    "[core]\nx = a\0b",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_it_says(text: str) -> None:
    """Sections and keys in lower case, values without quotes and comments."""
    assert parse(text.encode()) == ACCEPTED[text]


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_rendered_file_says_the_same(text: str) -> None:
    """What is kept of a cleaned file is what it said."""
    assert parse(render(parse(text.encode()))) == ACCEPTED[text]


@pytest.mark.parametrize("text", REFUSED)
def test_what_git_refuses(text: str) -> None:
    """It has no settings that could be judged one by one."""
    with pytest.raises(Malformed):
        parse(text.encode())


def test_a_huge_file() -> None:
    """It is refused unread."""
    with pytest.raises(Malformed, match="larger than"):
        parse(b"#" * (LARGEST + 1))


def test_bytes_that_are_no_text() -> None:
    """They come through unchanged."""
    content = b"[a]\nk = \xff\xfe\n"
    assert parse(render(parse(content))) == parse(content)


@pytest.mark.parametrize("seed", range(8))
def test_git_reads_it_the_same_way(seed: int, tmp_path: Path) -> None:
    """Random files: where we see settings git sees just these, and git sees none that we miss."""
    file = tmp_path / "config"
    chance = random.Random(seed)
    for _ in range(60):
        content = _random_file(chance)
        file.write_bytes(content)
        ours, theirs = _ours(content), _read_by_git(file)
        if ours is None:
            assert theirs is None or any(b"." not in name for name, _ in theirs), content
            continue
        assert _spaces(ours) == _spaces(theirs), content
        file.write_bytes(render(parse(content)))
        assert _spaces(_read_by_git(file)) == _spaces(ours), content


_PARTS = [
    *("[core]", '[core "a"]', "[alias]", "[a.b]", "[A.B]", '[a "x\\"y"]', '[a "\\q"]', "[ core]"),
    *('[core"x"]', "[core ]", '[core\t"x"]', '[core ""]', "[.a]", "[a.]", "[a..b]", "[-a]", "]"),
    *("x", "=", "\n", "\n", "\n", " ", "\t", '"', "\\", "#", ";", "fsmonitor", "k-1", "1k", "_k"),
    *("value", "\\n", "\\t", "\\\n", "\r\n", "\r", "\ufeff", "é", "[core]key=1", "\v", "\f", "\\b"),
]


def _random_file(chance: random.Random) -> bytes:
    parts = chance.choices(_PARTS, k=chance.randint(1, 12))
    return (("[core]" if chance.random() < 0.7 else "") + "".join(parts)).encode()


def _ours(content: bytes) -> Settings | None:
    try:
        found = parse(content)
    except Malformed:
        return None
    return [(os.fsencode(e.name), None if e.value is None else os.fsencode(e.value)) for e in found]


def _read_by_git(file: Path) -> Settings | None:
    argv = (require("git"), "config", "--file", file, "--no-includes", "-z", "--list")
    done = subprocess.run(argv, capture_output=True)
    if done.returncode:
        return None
    entries = [entry.partition(b"\n") for entry in done.stdout.split(b"\0")[:-1]]
    return [(name, value if newline else None) for name, newline, value in entries]


def _spaces(settings: Settings | None) -> Settings | None:
    """Newer git keeps white space inside of a value, older git makes blanks of it."""
    if settings is None:
        return None
    plain = bytes.maketrans(b"\t\r", b"  ")
    return [(name, None if value is None else value.translate(plain)) for name, value in settings]
