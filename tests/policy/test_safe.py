"""What is known to only read and show, and the options with which it does more."""

from __future__ import annotations

import pytest

from fairlead.model.params import ShellKind
from fairlead.policy.reading.read import read_argv, read_script
from fairlead.policy.safe import POSIX, NotSafe, Safe, judge_reading


def judge(text: str, shell: ShellKind = ShellKind.BASH) -> Safe | NotSafe:
    return judge_reading(read_script(text, shell))


@pytest.mark.parametrize(
    "text",
    [
        "ls -la src",
        "cat a b | grep -rn 'x y' | head -5",
        "cd src && ls; pwd",
        "find . -name '*.py' -type f",
        "rg -n foo -g'*.py'",
        "sed -n 1,20p file",
        "sed -n 5p",
        "base64 -d x",
        "sort -k2,2n file | uniq -c",
        "date +%s",
        "command -v git",
        "wc -l < file",
        "ls missing 2>/dev/null",
        "ls > /dev/null 2>&1",
        "nice -n 5 timeout 3 grep x y",
        "bash -lc 'ls && pwd'",
        "/usr/bin/cat x",
        "[ -f x ] && cat x",
        "set -e; ls",
        "hostname",
        "time ls",
    ],
)
def test_safe(text: str):
    """These run unasked, and the verdict names the rows."""
    verdict = judge(text)
    assert isinstance(verdict, Safe), verdict
    assert verdict.because.source == "known-safe"
    assert verdict.because.text


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("git status", "git"),
        ("rm x", "rm"),
        ("find . -delete", "find"),
        ("find . -exec rm {} \\;", "find"),
        ("find . -execdir ls \\;", "find"),
        ("find . -fprintf x y", "find"),
        ("find . -fls x", "find"),
        ("rg --pre cat x", "rg"),
        ("rg --pre=cat x", "rg"),
        ("rg --hostname-bin x y", "rg"),
        ("rg -z x", "rg"),
        ("rg -nz x", "rg"),
        ("base64 -o x y", "base64"),
        ("base64 -ox y", "base64"),
        ("base64 --output=x y", "base64"),
        ("base64 --outp=x y", "base64"),
        ("sort -o x y", "sort"),
        ("sort --compress-prog=sh y", "sort"),
        ("sort -uo x y", "sort"),
        ("uniq in out", "uniq"),
        ("xxd in out", "xxd"),
        ("tree -o x", "tree"),
        ("sed -i s/a/b/ x", "sed"),
        ("sed -n '1e rm x'", "sed"),
        ("sed -n '1w x'", "sed"),
        ("sed -n 1p x y", "sed"),
        ("date -s tomorrow", "date"),
        ("date 010100002000", "date"),
        ("date --se=x", "date"),
        ("file -C -m x", "file"),
        ("hostname evil", "hostname"),
        ("command -v a b", "command"),
        ("ls > x", "redirection"),
        ("ls >> /etc/passwd", "redirection"),
        ("cat < /dev/tcp/host/80", "redirection"),
        ("PATH=/tmp ls", "assignment"),
        ("env A=1 ls", "env"),
        ("sudo ls", "sudo"),
        ("./ls", "ls"),
        ("/tmp/cat x", "cat"),
        ("ls | xargs cat", "xargs"),
        ("nohup ls", "nohup"),
        ("ls && rm x", "rm"),
        ("ls $(id)", "not plain"),
        ("bash -c 'ls; rm x'", "rm"),
        ("bash -c 'ls $x'", "not plain"),
        ("busybox ls", "busybox"),
        ("awk 1 x", "awk"),
        ("env", "env"),
    ],
)
def test_not_safe(text: str, row: str):
    """Anything else is not known to be safe, and the verdict says by which row."""
    verdict = judge(text)
    assert isinstance(verdict, NotSafe), verdict
    assert verdict.because.text == row
    assert verdict.reason


def test_nothing_is_not_safe():
    """No command is no reason to run anything."""
    assert isinstance(judge(""), NotSafe)
    assert isinstance(judge_reading(read_argv([])), NotSafe)


@pytest.mark.parametrize(
    ("text", "shell", "safe"),
    [
        ("Get-ChildItem -Recurse src", ShellKind.POWERSHELL, True),
        ("gci | Select-Object Name", ShellKind.POWERSHELL, True),
        ("Get-Content \\\\host\\share\\x", ShellKind.POWERSHELL, False),
        ("sort x", ShellKind.POWERSHELL, False),
        ("Remove-Item x", ShellKind.POWERSHELL, False),
        ("dir /b", ShellKind.CMD, True),
        ("type \\\\host\\x", ShellKind.CMD, False),
        ("sort x /o y", ShellKind.CMD, False),
    ],
)
def test_windows(text: str, shell: ShellKind, safe: bool):
    """Each language has a table of its own."""
    assert isinstance(judge(text, shell), Safe) == safe


def test_git_is_not_on_the_list():
    """A repository's configuration can run programs, whatever the arguments."""
    assert "git" not in POSIX
