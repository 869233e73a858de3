"""What a terminal does beside carrying bytes: echo, size, passwords, characters."""

from __future__ import annotations

import sys

import pytest

from fairlead import Engine
from tests.interactive.driving import Terminal

ASKS = 'read -r -s -p "Password: " word; echo; echo "it has ${#word} letters"'
OPENS_TTY = "import getpass; print('it has', len(getpass.getpass('Password: ')), 'letters')"


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "--norc", "-c", ASKS],
        ["bash", "--norc", "-c", f'{sys.executable} -c "{OPENS_TTY}" </dev/null | cat'],
    ],
    ids=["read -s", "getpass through /dev/tty"],
)
async def test_a_password_is_asked_for_and_not_echoed(engine: Engine, command: list[str]) -> None:
    """The prompt is there, the kernel shows that it is waited for, and what is typed stays out of
    the output, also where the program opened the terminal by itself."""
    asking = await Terminal.start(engine, command)
    await asking.until("Password: ")
    assert await asking.wants_input()
    await asking.type("sesame\n")
    assert (await asking.end()).success
    assert "it has 6 letters" in asking.seen
    assert "sesame" not in asking.seen


async def test_a_resize_is_seen_by_the_program(engine: Engine) -> None:
    """`stty size` is what the call asked for; after `resize` it is new, and SIGWINCH came."""
    script = 'trap "echo told" WINCH; stty size; until read -r; do :; done; stty size'
    bash = await Terminal.start(engine, ["bash", "--norc", "-c", script], rows=30, cols=100)
    await bash.until("30 100\r\n")
    answer = await engine.call("resize", {"session_id": bash.session_id, "rows": 51, "cols": 132})
    assert answer.content == f"session {bash.session_id} is now 51 rows by 132 columns"
    assert answer.structured == {"session_id": bash.session_id, "rows": 51, "cols": 132}
    await bash.type("\n")
    await bash.end()
    assert "told" in bash.seen
    assert "51 132\r\n" in bash.seen


async def test_a_terminal_has_24_rows_and_80_columns(engine: Engine) -> None:
    """Unless the call says otherwise."""
    answer = await engine.call("exec_command", {"cmd": ["stty", "size"], "tty": True})
    assert answer.structured["output"] == "24 80\r\n"


async def test_a_program_that_turns_echo_off(engine: Engine) -> None:
    """Then what is typed shows once: as the program repeats it."""
    script = "stty -echo; echo ready; cat"
    quiet = await Terminal.start(engine, ["sh", "-c", script])
    await quiet.until("ready\r\n")
    await quiet.type("only once\n")
    await quiet.type("\x04")
    await quiet.end()
    assert quiet.seen == "ready\r\nonly once\r\n"


async def test_typed_characters_arrive_whole(engine: Engine) -> None:
    """Wide characters and marks go in and come out as they are."""
    text = "日本語 🦊 e\u0301 Ωμέγα"
    cat = await Terminal.start(engine, ["sh", "-c", "stty -echo; echo ready; cat"])
    await cat.until("ready\r\n")
    await cat.type(f"{text}\n")
    assert await cat.until(r"[^\n]*\r\n") == f"{text}\r\n"


async def test_a_character_in_two_writes_is_not_torn(engine: Engine) -> None:
    """An answer ends before a character that is still on its way; the next one has all of it."""
    script = r"stty -echo; printf '\346\227'; read -r x; printf '\245!\n'"
    halves = await Terminal.start(engine, ["sh", "-c", script])
    assert halves.seen == ""
    answer = await halves.type("\n")
    assert answer.structured["output"] == "日!\r\n"
    assert "replaced_bytes" not in answer.structured


async def test_bytes_that_are_no_characters(engine: Engine) -> None:
    """They show as U+FFFD, are counted, and are kept as they were."""
    argv = ["printf", r"a\377\376b\n"]
    answer = await engine.call("exec_command", {"cmd": argv, "tty": True})
    assert answer.structured["output"] == "a\ufffd\ufffdb\r\n"
    assert answer.structured["replaced_bytes"] == 2
    (only,) = engine.sessions()
    assert engine.session(only["session_id"]).log.tail_bytes(100) == b"a\xff\xfeb\r\n"


async def test_control_characters_reach_a_raw_program(engine: Engine) -> None:
    """A program that took the terminal raw gets every key as a byte, NUL and Ctrl-C too."""
    code = (
        "import os, tty; tty.setraw(0); print('ready', end='', flush=True); "
        "print(os.read(0, 1), os.read(0, 1), os.read(0, 1))"
    )
    raw = await Terminal.start(engine, [sys.executable, "-c", code])
    await raw.until("ready")
    await raw.type("\x00\x03\x1a")
    await raw.end()
    assert r"b'\x00' b'\x03' b'\x1a'" in raw.seen
