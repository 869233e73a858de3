"""Programs that own the whole screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairlead import Engine
from tests.interactive.driving import Terminal

VIM = ("-u", "NONE", "-i", "NONE", "-N", "-n")


async def test_vim_writes_a_file(
    engine: Engine, tmp_path: Path, require: Callable[[str], str]
) -> None:
    """Open, type, `:wq`: the file has what was typed, and the exit code is 0."""
    vim = await Terminal.start(engine, [require("vim"), *VIM, "note.txt"])
    await vim.until(r'"note\.txt" \[New\]')
    await vim.type("ifirst line\rzweite Zeile: äöü\x1b")
    await vim.until("zweite Zeile: äöü")
    await vim.type(":wq\r")
    ended = await vim.end()
    assert ended.structured["exit_code"] == 0
    assert "2L, " in vim.seen  # vim's own report of what it wrote
    assert (tmp_path / "note.txt").read_text() == "first line\nzweite Zeile: äöü\n"


async def test_vim_shows_and_changes_a_file(
    engine: Engine, tmp_path: Path, require: Callable[[str], str]
) -> None:
    """What is in the file is in the output; a change by command is saved."""
    (tmp_path / "list").write_text("apple\nbanana\n")
    vim = await Terminal.start(engine, [require("vim"), *VIM, "list"])
    await vim.until("banana")
    await vim.type(":%s/banana/cherry/\r:x\r")
    assert (await vim.end()).success
    assert (tmp_path / "list").read_text() == "apple\ncherry\n"


async def test_less_pages_searches_and_quits(
    engine: Engine, tmp_path: Path, require: Callable[[str], str]
) -> None:
    """A page at a time, to a match, and out."""
    (tmp_path / "long").write_text("".join(f"line number {n}\n" for n in range(1, 501)))
    argv = [require("less"), "-X", "long"]
    less = await Terminal.start(engine, argv, rendered=True, rows=20)
    first = await less.until("line number 19\r?\n[^\n]*long")
    assert "line number 20" not in first
    await less.type(" ")
    assert "line number 39" not in await less.until("line number 38\r?\n")
    await less.type("/number 432\n")
    found = r"line \x1b\[7mnumber 432\x1b\[27m\r\n"  # what was searched for stands out
    assert "line number 431" not in await less.until(found)
    await less.type("q")
    assert (await less.end()).structured["exit_code"] == 0


async def test_a_rendered_terminal_may_use_its_abilities(engine: Engine) -> None:
    """TERM is a real terminal's only where somebody asked for rendered output."""
    for asked, term in (({"rendered": True}, "xterm-256color"), ({}, "dumb")):
        argv = ["sh", "-c", "echo $TERM"]
        answer = await engine.call("exec_command", {"cmd": argv, "tty": True, **asked})
        assert answer.structured["output"].split() == [term]
