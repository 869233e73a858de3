"""Programs that run the command in their arguments, and shells that read it as text."""

from __future__ import annotations

import pytest

from fairlead.model.params import ShellKind
from fairlead.policy.reading.carriers import shell_script
from fairlead.policy.reading.parts import Assignment, Carrier, Why
from fairlead.policy.reading.wrappers import WRAPPERS, Unwrapped, name_of, unwrap

SAME, OTHER, SHELL = Carrier.TRANSPARENT, Carrier.CHANGING, Carrier.SHELL


def opened(text: str) -> Unwrapped:
    found = unwrap(text.split())
    assert isinstance(found, Unwrapped), found
    return found


@pytest.mark.parametrize(
    ("text", "carrier", "inner"),
    [
        ("env ls -l", SAME, "ls -l"),
        ("env -- ls", SAME, "ls"),
        ("env A=1 ls", OTHER, "ls"),
        ("env -i ls", OTHER, "ls"),
        ("env - ls", OTHER, "ls"),
        ("env -uA ls", OTHER, "ls"),
        ("env --unset=A ls", OTHER, "ls"),
        ("nice ls", SAME, "ls"),
        ("nice -5 ls", SAME, "ls"),
        ("nice -n5 ls", SAME, "ls"),
        ("nice --adjustment 5 ls", SAME, "ls"),
        ("timeout 5 ls", SAME, "ls"),
        ("timeout -k 2 -s KILL 5 ls -l", SAME, "ls -l"),
        ("timeout --signal=KILL 5 ls", SAME, "ls"),
        ("nohup ls", SAME, "ls"),
        ("stdbuf -oL ls", SAME, "ls"),
        ("command ls", SAME, "ls"),
        ("taskset -c 0 ls", SAME, "ls"),
        ("sudo -n -u bob A=1 ls", OTHER, "ls"),
        ("sudo -nu bob ls", OTHER, "ls"),
        ("doas ls", OTHER, "ls"),
        ("flock -w 5 file ls", OTHER, "ls"),
        ("busybox rm -f x", OTHER, "rm -f x"),
        ("xargs -0 -n 1 rm", OTHER, "rm"),
        ("/usr/bin/env ls", SAME, "ls"),
        ("./env ls", OTHER, "ls"),
    ],
)
def test_what_is_wrapped(text: str, carrier: Carrier, inner: str):
    """The options of each wrapper lead to its command; some make it another one."""
    found = opened(text)
    assert (found.carrier, " ".join(found.argv)) == (carrier, inner)


@pytest.mark.parametrize(
    "text",
    [
        *("env -S x", "env --split-string=x", "nice --unknown ls", "timeout -x 5 ls"),
        *("sudo -s", "sudo -i ls", "sudo --unknown ls", "exec -a x ls", "xargs -i rm"),
        *("time -o f ls", "nohup -x ls", "env -u", "timeout --sig=KILL 5 ls"),
    ],
)
def test_unknown_options(text: str):
    """An option that is not in the table, even a shortened one, hides where the command begins."""
    assert unwrap(text.split()) is Why.WRAPPER


@pytest.mark.parametrize(
    "text",
    ["env", "env A=1", "timeout 5", "command -v ls", "sudo -l", "ls", "ssh host ls", "xargs"],
)
def test_nothing_wrapped(text: str):
    """A wrapper without a command, a question, or an ordinary program."""
    assert unwrap(text.split()) is None


def test_what_a_wrapper_changes():
    """Variables and the directory go with the command."""
    found = opened("env -C /x A=1 B= ls")
    assert found.directory == "/x"
    assert found.assignments == (Assignment("A", "1"), Assignment("B", ""))


@pytest.mark.parametrize(
    ("argv", "kind", "script"),
    [
        (("bash", "-c", "ls"), ShellKind.BASH, "ls"),
        (("/bin/bash", "-lc", "ls"), ShellKind.BASH, "ls"),
        (("bash", "-l", "-c", "ls", "name"), ShellKind.BASH, "ls"),
        (("bash", "--norc", "-euo", "pipefail", "-c", "ls"), ShellKind.BASH, "ls"),
        (("zsh", "-fc", "ls"), ShellKind.ZSH, "ls"),
        (("sh", "-ec", "ls"), ShellKind.SH, "ls"),
        (("dash", "-c", "ls"), ShellKind.SH, "ls"),
        (("powershell.exe", "-NoProfile", "-Command", "ls", "a"), ShellKind.POWERSHELL, "ls a"),
        (("cmd.exe", "/d", "/c", "dir", "a"), ShellKind.CMD, "dir a"),
    ],
)
def test_shells_that_read_an_argument(argv: tuple[str, ...], kind: ShellKind, script: str):
    """The text is the one that the shell reads, for the grammar that it has."""
    found = shell_script(argv)
    assert isinstance(found, Unwrapped)
    assert (found.shell, found.script, found.carrier) == (kind, script, SHELL)


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("bash", "-ic", "ls"), Why.WRAPPER),
        (("bash", "--rcfile", "x", "-c", "ls"), Why.WRAPPER),
        (("bash", "-O", "extglob", "-c", "ls"), Why.WRAPPER),
        (("bash", "-c"), Why.SYNTAX),
        (("fish", "-c", "ls"), Why.FOREIGN),
        (("pwsh", "-EncodedCommand", "abc"), Why.ENCODED),
        (("cmd", "/k", "dir"), Why.WRAPPER),
    ],
)
def test_shells_that_are_not_read(argv: tuple[str, ...], why: Why):
    """A shell that does more than read this text is not plain."""
    assert shell_script(argv) is why


@pytest.mark.parametrize(
    "argv", [("bash",), ("bash", "x.sh"), ("bash", "-l"), ("ls", "-c", "x"), ("pwsh", "-File", "x")]
)
def test_shells_without_a_text(argv: tuple[str, ...]):
    """A shell that reads a file or its input is a program like any other."""
    assert shell_script(argv) is None


def test_names():
    """A program is the system's own by its directory, and Windows' endings do not matter."""
    assert name_of("ls") == ("ls", True)
    assert name_of("/usr/bin/ls") == ("ls", True)
    assert name_of("./ls") == ("ls", False)
    assert name_of("CMD.EXE") == ("cmd", True)
    assert name_of("C:\\Windows\\System32\\cmd.exe") == ("cmd", False)


def test_no_wrapper_knows_an_option_twice():
    """An option takes a value or it does not."""
    for name, wrapper in WRAPPERS.items():
        assert not wrapper.flags & wrapper.values, name
        assert wrapper.changes | wrapper.directory <= wrapper.flags | wrapper.values, name
