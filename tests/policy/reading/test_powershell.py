"""PowerShell's text: the little that is read, and the rest refused by name."""

from __future__ import annotations

import pytest

from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import Join, Language, PlainCommand, Reading, Why
from fairlead.policy.reading.read import read_script


def read(text: str) -> Reading:
    return read_script(text, ShellKind.POWERSHELL)


@pytest.mark.parametrize(
    ("text", "argvs"),
    [
        ("Get-ChildItem -Path src", [("Get-ChildItem", "-Path", "src")]),
        ("ls; pwd", [("ls",), ("pwd",)]),
        ("ls\npwd\n", [("ls",), ("pwd",)]),
        ("Get-Content a.txt | Select-String 'it''s'",
         [("Get-Content", "a.txt"), ("Select-String", "it's")]),
        ('echo "a b" c', [("echo", "a b", "c")]),
        ("git status && dotnet build", [("git", "status"), ("dotnet", "build")]),
        ("C:\\tools\\x.exe -a", [("C:\\tools\\x.exe", "-a")]),
    ],
)  # fmt: skip
def test_plain(text: str, argvs: list[tuple[str, ...]]):
    """Words and quotes without variables, joined by a closed list of operators."""
    reading = read(text)
    assert reading.plain
    parts = [part for part in reading.parts if isinstance(part, PlainCommand)]
    assert [part.argv for part in parts] == argvs
    assert {part.language for part in parts} == {Language.POWERSHELL}
    assert parts[0].join is Join.FIRST


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ls $x", Why.EXPANSION),
        ('ls "$x"', Why.EXPANSION),
        ("ls $(rm x)", Why.SUBSTITUTION),
        ("ls (rm x)", Why.SUBSTITUTION),
        ("ls | % { rm $_ }", Why.UNKNOWN),
        ("ForEach-Object { rm x }", Why.GROUP),
        ("& ls", Why.JOB),
        (". ./x.ps1", Why.STATE),
        ("iex 'rm x'", Why.STATE),
        ("Set-Alias ls rm; ls", Why.STATE),
        ("cd x; ls", Why.STATE),
        ("ls > x", Why.REDIRECTION),
        ("ls *.txt", Why.GLOB),
        ("ls `\n-a", Why.LINE_CONTINUATION),
        ("ls # x", Why.COMMENT),
        ("ls @x", Why.EXPANSION),
        ("if (1) { ls }", Why.SUBSTITUTION),
        ("if 1", Why.CONDITION),
        ("1 + 2", Why.UNKNOWN),
        ("'ls'", Why.UNKNOWN),
        ("ls --% a b", Why.UNKNOWN),
        ("ls 'a'b", Why.UNKNOWN),
        ("ls a,b", Why.UNKNOWN),
        ("ls ‘a‘", Why.CONTROL_CHARACTER),
        ("ls ||", Why.SYNTAX),
        ("| ls", Why.SYNTAX),
        ("ls \r\n rm x", Why.CONTROL_CHARACTER),
    ],
)
def test_not_plain(text: str, why: Why):
    """Anything else is refused, with its name."""
    reading = read(text)
    assert not reading.plain
    assert next(reading.doubts()).why is why


def test_what_was_read_is_still_seen():
    """The commands before the doubt are there for those who look for danger."""
    doubts = list(read("Remove-Item -Force x; ls $y").doubts())
    assert [command.argv for command in read("Remove-Item -Force x; ls $y").commands()] == [
        ("Remove-Item", "-Force", "x")
    ]
    assert doubts[-1].words == ("ls", None)
