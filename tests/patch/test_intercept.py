"""Commands that are exactly an apply_patch call are seen; everything else is left to the shell."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fairlead.patch.grammar import PatchError
from fairlead.patch.intercept import Intercepted, find

BODY = "*** Begin Patch\n*** Update File: a.py\n@@\n-it's $HOME\n+`x` \\n\n*** End Patch\n"
PLAIN = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch\n"


def heredoc(start: str = "<<'EOF'", body: str = BODY, end: str = "EOF\n") -> str:
    return f"apply_patch {start}\n{body}{end}"


SCRIPTS = [
    (heredoc(), BODY, None),
    (heredoc(end="EOF"), BODY, None),
    (heredoc(end="EOF\n\n  \n"), BODY, None),
    (heredoc('<<"PATCH"', end="PATCH\n"), BODY, None),
    (heredoc("<<\\EOF"), BODY, None),
    (heredoc("<< 'E O F'", end="E O F\n"), BODY, None),
    (heredoc("<<EOF", PLAIN), PLAIN, None),
    (heredoc("<<-'EOF'", "\t*** Begin Patch\n\t\tx\n y\n", "\tEOF\n"),
     "*** Begin Patch\nx\n y\n", None),
    ("applypatch <<'EOF'\n" + PLAIN + "EOF\n", PLAIN, None),
    ("\n  " + heredoc() + "\n", BODY, None),
    ("# a word before\n" + heredoc(), BODY, None),
    (f"cd src && {heredoc()}", BODY, "src"),
    (f"cd /a/b.c_d-e && {heredoc()}", BODY, "/a/b.c_d-e"),
    (f"cd 'a b' && {heredoc()}", BODY, "a b"),
    (f'cd "a b" && {heredoc()}', BODY, "a b"),
    (f"cd 7 &&\n{heredoc()}", BODY, "7"),
    (f"cd grün && {heredoc(body=PLAIN + 'ü')}".replace("üEOF", "ü\nEOF"), PLAIN + "ü\n", "grün"),
    (f"apply_patch '{PLAIN}'", PLAIN, None),
    (f'apply_patch "{PLAIN}"', PLAIN, None),
    (f"apply_patch '{PLAIN}$x `y` \\z'", f"{PLAIN}$x `y` \\z", None),
    (f"cd src && apply_patch '{PLAIN}'", PLAIN, "src"),
    (f"apply_patch {chr(39)}{PLAIN}\udcff{chr(39)}", f"{PLAIN}\udcff", None),
]  # fmt: skip


@pytest.mark.parametrize("shell", [["bash", "-lc"], ["/usr/bin/zsh", "-c"], ["dash", "-c"]])
@pytest.mark.parametrize(("script", "body", "workdir"), SCRIPTS)
def test_a_shell_whose_only_statement_is_a_patch(shell, script, body, workdir):
    """A heredoc or a literal word, after one cd at most, is the call itself."""
    assert find([*shell, script]) == Intercepted(body, workdir)


PROGRAM = """#!/bin/sh
pwd >workdir
if [ $# = 0 ]; then cat; else printf %s "$1"; fi >body
mv body workdir "$OUT"
"""


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize(("script", "body", "workdir"), SCRIPTS)
def test_a_real_shell_means_the_same(shell, script, body, workdir, tmp_path):
    """What we take from a script is what the program would have got, and where."""
    out, bin_dir, start = (tmp_path / name for name in ("out", "bin", "start"))
    for made in (out, bin_dir, start):
        made.mkdir()
    for name in ("apply_patch", "applypatch"):
        (bin_dir / name).write_text(PROGRAM)
        (bin_dir / name).chmod(0o755)
    # An absolute directory of the table becomes one of ours.
    script = script.replace("cd /", "cd ./")
    where = start / (workdir or "").lstrip("/")
    where.mkdir(parents=True, exist_ok=True)
    env = {"PATH": f"{bin_dir}:/usr/bin:/bin", "OUT": str(out)}
    text = script.encode("utf-8", "surrogateescape")
    subprocess.run([shell, "-c", text], check=True, cwd=start, env=env)
    assert (out / "body").read_bytes() == body.encode("utf-8", "surrogateescape")
    assert (out / "workdir").read_text() == f"{where}\n"


@pytest.mark.parametrize("name", ["apply_patch", "applypatch", "/some/bin/apply_patch"])
def test_a_direct_call(name):
    """The program's name with one argument needs no shell."""
    assert find([name, "anything $x"]) == Intercepted("anything $x")


SHELL_WORK = [
    heredoc() + "ls\n",
    "ls\n" + heredoc(),
    f"set -e; {heredoc()}",
    heredoc("<<'EOF' && ls"),
    heredoc("<<'EOF' | cat"),
    heredoc("<<'EOF' &"),
    heredoc("<<'EOF' > out"),
    heredoc("<<'EOF' 2>&1"),
    heredoc("--check <<'EOF'"),
    heredoc("<<'EOF' --check"),
    heredoc("<<EOF"),
    heredoc("<<EOF", "a $x\n"),
    heredoc("<<EOF", "a `x`\n"),
    heredoc("<<EOF", "a \\\n"),
    heredoc("<<'EOF'", end="EOF \n"),
    heredoc("<<'EOF'", end=""),
    heredoc("<<'EOF' <<'TWO'", end="EOF\nTWO\n"),
    heredoc("3<<'EOF'"),
    heredoc("<<'E'OF"),
    heredoc().replace("\n", "\r\n"),
    f"cd a; {heredoc()}",
    f"cd a || {heredoc()}",
    f"cd a & {heredoc()}",
    f"cd a && cd b && {heredoc()}",
    f"cd && {heredoc()}",
    f"cd - && {heredoc()}",
    f"cd -P a && {heredoc()}",
    f"cd '' && {heredoc()}",
    f"cd a b && {heredoc()}",
    f"cd ~/a && {heredoc()}",
    f"cd $A && {heredoc()}",
    f'cd "$A" && {heredoc()}',
    f"cd a* && {heredoc()}",
    f"cd a\\ b && {heredoc()}",
    f"cd {{a,b}} && {heredoc()}",
    f"cd a'b' && {heredoc()}",
    f"cd =a && {heredoc()}",
    f"cd a > b && {heredoc()}",
    f"X=1 cd a && {heredoc()}",
    f"pushd a && {heredoc()}",
    f"cd a && ls && {heredoc()}",
    f"X=1 {heredoc()}",
    f"! {heredoc()}",
    f"time {heredoc()}",
    f"sudo {heredoc()}",
    f"({heredoc()})",
    f"{{ {heredoc()}}}",
    f"if true; then {heredoc()}fi",
    f"f() {{\n{heredoc()}}}",
    f"echo $({heredoc()})",
    f"'apply_patch' <<'EOF'\n{PLAIN}EOF\n",
    f"apply_patch <<< '{PLAIN}'",
    "apply_patch < patch.txt",
    "apply_patch",
    "apply_patch --help",
    f"apply_patch '{PLAIN}' more",
    f"apply_patch '{PLAIN}'; ls",
    f"apply_patch '{PLAIN}' &",
    f"apply_patch '{PLAIN}' | cat",
    f"apply_patch $'{PLAIN}'",
    f'apply_patch "{PLAIN}$x"',
    f'apply_patch "{PLAIN}\\n"',
    f'apply_patch "{PLAIN}`x`"',
    f"apply_patch 'a'\"{PLAIN}\"",
    "apply_patch *",
    "apply_patch \"$(cat <<'EOF'\n" + PLAIN + 'EOF\n)"',
    f"echo apply_patch '{PLAIN}'",
    "cat <<'EOF'\napply_patch\nEOF\n",
    "grep -r apply_patch .",
    "apply_patch 'unfinished",
    "apply_patch '\ud800'",
]


@pytest.mark.parametrize("script", SHELL_WORK)
def test_anything_more_runs_as_a_shell_command(script):
    """A second command, an expansion, a redirection or an option: the shell does it."""
    assert find(["bash", "-lc", script]) is None


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["apply_patch"],
        ["apply_patch", PLAIN, PLAIN],
        ["echo", "apply_patch", PLAIN],
        ["bash", heredoc()],
        ["bash", "-c", heredoc(), "name"],
        ["bash", "-x", "-c", heredoc()],
        ["bash", "-xc", heredoc()],
        ["fish", "-c", heredoc()],
        ["env", "apply_patch", PLAIN],
        [heredoc()],
    ],
)
def test_other_commands_run(argv):
    """Only the exact forms are seen."""
    assert find(argv) is None


@pytest.mark.parametrize("argv", [[PLAIN], ["\n " + PLAIN], ["bash", "-lc", f"\n{PLAIN}"]])
def test_a_bare_patch_is_told_where_it_belongs(argv):
    """A patch as the command itself is an error that names the tool."""
    with pytest.raises(PatchError, match="call the apply_patch tool"):
        find(argv)


def test_a_path_of_a_bare_patch_is_no_program_name():
    """A patch that ends in `/apply_patch` is still a patch."""
    with pytest.raises(PatchError, match="call the apply_patch tool"):
        find([PLAIN + "/apply_patch"])


def test_ordinary_commands_pay_nothing():
    """The parser is loaded only once a command names apply_patch."""
    script = (
        "import sys\n"
        "from fairlead.patch.intercept import find\n"
        "find(['bash', '-lc', 'ls | wc -l'])\n"
        "assert not {m for m in sys.modules if m.startswith('tree_sitter')}\n"
        "find(['bash', '-lc', 'apply_patch'])\n"
        "assert 'tree_sitter' in sys.modules\n"
    )
    paths = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", script], check=True, env={"PYTHONPATH": paths})
