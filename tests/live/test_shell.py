"""Commands in live shells of every kind: output alone, exit code, directory, and a shell that
stays as it was left."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fairlead import Engine
from fairlead.config.options import Options
from fairlead.model.limits import Capacity
from tests.live.driving import KINDS, Live, open_files, until

CONTROL = r"a\tb001002177c033[31m"

# command, output, exit code
PLAIN = [
    ("echo hi", "hi\n", 0),
    ("printf hi", "hi", 0),
    (":", "", 0),
    ("false", "", 1),
    ("sh -c 'exit 42'", "", 42),
    ("(exit 3)", "", 3),
    ("echo $?", "3\n", 0),
    ("echo err >&2", "err\n", 0),
    ("for i in 1 2; do\n  echo $i\ndone", "1\n2\n", 0),
    ("cat <<E\none $((1 + 1))\nE", "one 2\n", 0),
    ("cat <<'E'\n$x `y` \"\nE\necho after", '$x `y` "\nafter\n', 0),
    ("echo 'it'\\''s' \"a \\\"b\\\"\"", 'it\'s a "b"\n', 0),
    ("printf '%s\\n' 'grüße 日本 🚢'", "grüße 日本 🚢\n", 0),
    ("printf '%s' 'a\tb\x01\x02\x7fc\x1b[31m' | od -An -c | tr -d ' \\n'", CONTROL, 0),
    ("echo a; echo b # comment", "a\nb\n", 0),
    ("echo a \\\n b", "a b\n", 0),
    ("nonesuch_command 2>/dev/null", "", 127),
    ("printf '\\r'", "\r", 0),
    ("clear >/dev/null 2>&1 || :", "", 0),
]


async def test_output_alone(live: Live) -> None:
    """What the command wrote and nothing else, and its exit code: no prompt, no echo, no mark."""
    for command, output, code in PLAIN:
        found = await live.out(command, code)
        assert found == output, command


async def test_a_signal_shows_in_the_exit_code(live: Live) -> None:
    """A command that died of signal N gives 128 + N."""
    await live.out("sh -c 'kill -9 $$'", 137)


async def test_the_directory_is_told_and_stays(live: Live, home: Path) -> None:
    """`cd` lasts, and each answer names the directory, odd names included."""
    odd = home / "a b'ü$(x)"
    odd.mkdir()
    assert (await live.run(":")).structured["cwd"] == str(home)
    assert (await live.run(f'cd "{home}"/a*')).structured["cwd"] == str(odd)
    assert await live.out("pwd") == f"{odd}\n"


async def test_state_is_kept(live: Live) -> None:
    """Variables, exports, functions, aliases and umask last from call to call."""
    await live.out("x=1; export y=2; f() { echo f$1; }; alias greet='echo hello'; umask 027")
    assert await live.out('echo $x; sh -c "echo $y"; f 3; umask') == "1\n2\nf3\n" + (
        "027\n" if live.kind.program == "zsh" else "0027\n"
    )
    if live.kind.interactive:  # a shell without a prompt expands no aliases, by its own rules
        assert await live.out("greet you") == "hello you\n"


async def test_shell_options_are_kept(bash: Live) -> None:
    """`shopt` and `set -o` last."""
    await bash.out("shopt -s extglob nullglob; set -o pipefail")
    assert await bash.out("false | true", 1) == ""
    assert await bash.out("shopt -q extglob && shopt -q nullglob && echo both") == "both\n"


async def test_the_previous_status_is_seen(live: Live) -> None:
    """`$?` is what the previous command left, whatever we did between the two."""
    for code in (7, 0, 1):
        await live.out(f"(exit {code})", code)
        assert await live.out('echo "$?"') == f"{code}\n"


async def test_long_commands(live: Live) -> None:
    """A megabyte of command text arrives as it is."""
    text = "0123456789abcde " * 65_536
    assert await live.out(f"x='{text}'; echo ${{#x}}") == f"{len(text)}\n"


async def test_binary_output(live: Live) -> None:
    """Every byte is kept in the log; in the text for a model, invalid ones are replaced."""
    answer = await live.run(r"printf '\377\000\200a\r\nb\033]133;x'")
    told = answer.structured["output"]
    assert told.count("\ufffd") == 2
    found = live.engine.session(answer.structured["session_id"])
    chunk = found.chunks[answer.structured["chunk_id"]]
    raw = found.log.range_bytes(*chunk)
    if live.kind.started.get("tty"):
        assert raw == b"\xff\0\x80a\r\r\nb\x1b]133;x"  # as a terminal writes it
    else:
        assert raw == b"\xff\0\x80a\r\nb\x1b]133;x"
    assert "a\r\nb" in told


async def test_much_output(live: Live) -> None:
    """Of 50 MB both ends are kept and what is missing is counted, to the byte."""
    size = 50_000_000
    answer = await live.run(f"printf first; head -c {size} /dev/zero | tr '\\0' x; printf last")
    facts = answer.structured
    session = live.engine.session(facts["session_id"])
    start, end = session.chunks[facts["chunk_id"]]
    assert end - start == size + 9
    assert facts["output"].partition("first")[2].startswith("xxx")
    assert facts["output"].endswith("xlast")
    assert facts["original_token_count"] == -(-(size + 9) // 4)


async def test_output_can_not_fake_the_end(live: Live) -> None:
    """Marks with another nonce are output like any other."""
    fake = r"\033]133;D;0;0123456789abcdef;1;/tmp\007"
    assert "after\n" in await live.out(f"printf '{fake}'; sleep 0.2; echo after; (exit 5)", 5)


async def test_partial_marks_are_output(live: Live) -> None:
    """The beginning of a mark that never ends hides nothing."""
    assert (await live.out(r"printf '\033]133;D;0;'")).endswith("133;D;0;")
    assert await live.out("echo next") == "next\n"


async def test_nothing_to_read(live: Live) -> None:
    """A command that reads its input finds it empty: nothing hangs."""
    assert await live.out("cat; read x; echo got:$x") == "got:\n"


async def test_open_input(live: Live) -> None:
    """With stdin=open it reads what write_stdin types meanwhile."""
    number = await live.id()
    reading = asyncio.create_task(
        live.out("printf ready; read -r x; echo; echo got:$x", stdin="open")
    )
    session = live.engine.session(number)
    await until(lambda: session.log.tail_bytes(5) == b"ready")
    await live.engine.call("write_stdin", {"session_id": number, "chars": "typed\n"})
    assert (await reading).endswith("got:typed\n")
    assert await live.out("echo usable") == "usable\n"


async def test_errors_that_abort(live: Live) -> None:
    """An error that makes the shell give up the line is an ordinary failure."""
    answer = await live.run("echo before; : ${nonesuch?is unset}; echo after")
    assert answer.structured["exit_code"] != 0
    assert "before" in answer.structured["output"]
    assert "is unset" in answer.structured["output"]
    assert "after" not in answer.structured["output"]
    assert await live.out("echo usable") == "usable\n"


async def test_the_user_changes_the_prompt(live: Live) -> None:
    """Whatever becomes of the prompt, an interrupted command comes back through it."""
    await live.out("PS1='mine> '; PROMPT_COMMAND='PS1=again'; precmd() { echo hook; }")
    assert await live.out("echo one") == "one\n"
    answer = await live.run("echo before; sh -c 'kill -INT 0'; kill -INT $$; sleep 0.1")
    assert answer.structured["output"].startswith("before")
    assert await live.out("echo two") == "two\n"


async def test_the_terminal_changes(live: Live) -> None:
    """`stty` does not disturb what comes after it."""
    for command in ("stty sane", "stty raw", "stty -echo -icanon", "stty sane"):
        await live.run(f"{command} <&1 2>/dev/null")
        assert await live.out("printf 'a\\nb\\n'") == "a\nb\n", command


async def test_tracing(live: Live) -> None:
    """With `set -x` nothing of ours is traced into the output, but the evaluation itself."""
    await live.run("set -x")
    traced = await live.out("echo hi")
    assert "hi\n" in traced
    assert "__fl_e" not in traced
    assert "printf" not in traced
    await live.run("set +x")
    assert await live.out("echo hi") == "hi\n"


async def test_no_history_file(live: Live, home: Path) -> None:
    """No history file is written, also when the shell exits."""
    await live.run("echo secret")
    await live.run("exit 0")
    await live.engine.close()
    assert [path.name for path in home.iterdir() if "hist" in path.name] == []


async def test_descendants(live: Live) -> None:
    """A plain command leaves nobody alive; a background child is told of, by the command that
    started it and by no later one."""
    assert "descendants_alive" not in (await live.run("echo hi")).structured
    answer = await live.run("sleep 100 & echo started")
    assert answer.structured["descendants_alive"] is True
    assert "started\n" in answer.structured["output"]
    assert "descendants_alive" not in (await live.run("sh -c 'exit 0'")).structured
    assert (await live.run("(setsid sleep 100 >/dev/null 2>&1 &)")).structured["descendants_alive"]


async def test_prompt_hooks_are_nobody(engine: Engine, home: Path) -> None:
    """What a prompt hook starts is not taken for a background child of the command."""
    (home / ".bashrc").write_text("PROMPT_COMMAND='sleep 0.05; /bin/true'\n")
    live = await Live.open(engine, KINDS["bash -i"])
    for _ in range(5):
        assert "descendants_alive" not in (await live.run("echo hi")).structured


async def test_no_descriptor_is_lost(engine: Engine) -> None:
    """A live shell that ended has given its files back."""
    for _ in range(2):
        live = await Live.open(engine, KINDS["own bash"])
        before = open_files()
        number = await live.id()
        assert open_files() > before
        await live.run("exit 3")
        await engine.call("kill_session", {"session_id": number})
    await live.run(":")
    assert open_files() <= before + 8


@pytest.mark.parametrize("command", ["exec >/dev/null", "exec 2>/dev/null"])
async def test_redirected_streams(bash: Live, command: str) -> None:
    """A shell whose output or errors were sent away still answers."""
    await bash.out(command)
    assert await bash.out("(exit 4)", 4) == ""


async def test_what_is_to_be_told_of_the_start_is_told(home: Path) -> None:
    """A shell that needs the place of another session says whom that cost its place."""
    one = Options(cwd=home, shell="bash", capacity=Capacity(live=1, protected=0))
    async with Engine(one) as engine:
        await engine.call("exec_command", {"cmd": ["sleep", "1000"], "yield_time_ms": 250})
        answer = await engine.call("run_in_session", {"command": "echo hi"})
        assert answer.structured["output"] == "hi\n"
        assert any("evicted" in text for text in answer.structured["warnings"])
        again = await engine.call("run_in_session", {"command": "echo hi"})
        assert "warnings" not in again.structured


async def test_a_log_that_fails_is_told(home: Path) -> None:
    """When the disk takes no more, the command goes on and its answer says so."""
    async with Engine(Options(cwd=home, shell="bash", log_directory=home / "missing")) as engine:
        answer = await engine.call("run_in_session", {"command": "seq 100000"})
        assert answer.structured["exit_code"] == 0
        assert "output log" in answer.structured["warnings"][0]


async def test_what_the_sandbox_denied_is_told(home: Path) -> None:
    """A command in a live shell is confined as any other, and its result says so."""
    async with Engine() as engine:
        live = Live(engine, KINDS["own bash"])
        told = (await live.run("cd /usr; touch there")).structured
        assert told["status"] == "denied"
        assert told["sandbox"]["type"] == "namespaces"
        [denial] = told["denials"]
        assert (denial["what"], denial["path"]) == ("write", "/usr/there")
        told = (await live.run("echo fine")).structured
        assert (told["status"], "denials" in told) == ("completed", False)
