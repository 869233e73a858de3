"""The Windows command processor's text: the little that is read, and the rest refused by name."""

from __future__ import annotations

import pytest

from fairlead.model.params import ShellKind
from fairlead.policy.reading.parts import PlainCommand, Reading, Why
from fairlead.policy.reading.read import read_script


def read(text: str) -> Reading:
    return read_script(text, ShellKind.CMD)


@pytest.mark.parametrize(
    ("text", "argvs"),
    [
        ("dir /b src", [("dir", "/b", "src")]),
        ('type "a b.txt" | findstr x', [("type", "a b.txt"), ("findstr", "x")]),
        ("ver&vol&&dir||dir", [("ver",), ("vol",), ("dir",), ("dir",)]),
        ("C:\\x\\y.exe -a", [("C:\\x\\y.exe", "-a")]),
    ],
)
def test_plain(text: str, argvs: list[tuple[str, ...]]):
    """Words and double quotes, joined by four operators."""
    reading = read(text)
    assert reading.plain
    assert [part.argv for part in reading.parts if isinstance(part, PlainCommand)] == argvs


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo %PATH%", Why.EXPANSION),
        ('echo "%PATH%"', Why.UNKNOWN),
        ("echo !x!", Why.EXPANSION),
        ("d^ir", Why.UNKNOWN),
        ("(dir)", Why.GROUP),
        ("dir > x", Why.REDIRECTION),
        ("dir *.c", Why.GLOB),
        ("dir\nver", Why.SYNTAX),
        ("call x.bat", Why.STATE),
        ("set A=1", Why.UNKNOWN),
        ("start http://x", Why.STATE),
        ("cd x", Why.STATE),
        ("dir &", Why.SYNTAX),
        ("& dir", Why.SYNTAX),
        ('echo "a', Why.UNKNOWN),
        ("echo 'a'", Why.UNKNOWN),
        ("", Why.SYNTAX),
    ],
)
def test_not_plain(text: str, why: Why):
    """Anything else is refused, with its name."""
    reading = read(text)
    assert not reading.plain
    assert next(reading.doubts()).why is why


def test_what_was_read_is_still_seen():
    """The words before the doubt are there for those who look for danger."""
    doubts = list(read("del /f x & echo %Y%").doubts())
    assert doubts[-1].words == ("echo", None)
    assert [command.argv for command in read("del /f x & echo %Y%").commands()] == [
        ("del", "/f", "x")
    ]
