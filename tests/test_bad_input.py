"""Whatever is wrong with a call, the answer says what, the same words through every front end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.front_ends import FRONT_ENDS, Answer, FrontEnd

BAD_REQUEST, SPAWN_FAILED, REJECTED = "bad_request", "spawn_failed", "rejected"
HUGE = 10**40


@dataclass(frozen=True, slots=True)
class Row:
    """A call, and the text that refuses it: `…` stands for anything."""

    tool: str
    arguments: Any
    text: str
    kind: str = BAD_REQUEST

    def __str__(self) -> str:
        return f"{self.tool}: {self.text[:60]}"


def exec_command(text: str, kind: str = BAD_REQUEST, **arguments: Any) -> Row:
    return Row("exec_command", {"cmd": "touch ran", **arguments}, text, kind)


ODD: dict[str, Any] = {"a\u202eb": 1}

ROWS = [
    # names
    Row("no_such_tool", {}, "unknown tool 'no_such_tool'; there are: shell, …, resize"),
    exec_command(
        'exec_command: unknown field "nonsense"; allowed: cmd, …, prefix_rule', nonsense=1
    ),
    exec_command('exec_command: unknown field "tyt" (did you mean "tty"?); allowed: …', tyt=True),
    exec_command(r'exec_command: unknown field "a\u202eb"; …', **ODD),
    Row("exec_command", {}, 'exec_command: missing required field "cmd"'),
    Row("shell", {"command": None}, 'shell: missing required field "command"'),
    Row("exec_command", {"cmd": "a", "command": "b"}, "exec_command: …cmd…command…"),
    # JSON
    Row("shell", "{", "shell: arguments are not valid JSON: line 1 column 2: …"),
    Row("shell", "[]", "shell: arguments must be a JSON object, got an array"),
    Row("shell", "7", "shell: arguments must be a JSON object, got 7"),
    Row("shell", '{"command":["a"],"command":["b"]}', 'shell: …the key "command" is given twice …'),
    Row("shell", "[" * 100_000, "shell: arguments are not valid JSON: nested too deeply"),
    Row("shell", '{"timeout_ms":' + "9" * 5000 + "}", "shell: …an integer has too many digits"),
    Row("shell", " " * (8 << 20) + "{}", "shell: arguments are longer than 8388608 bytes"),
    # types
    Row("shell", {"command": "ls -l"}, 'shell.command: expected an array of strings, got "ls -l"'),
    Row("shell", {"command": ["ls", 1]}, "shell.command[1]: expected a string, got 1"),
    Row("shell_command", {"command": ["ls"]}, "…command: expected a string, got an array"),
    exec_command("exec_command.cmd: expected a string or an array of strings, got 7", cmd=7),
    exec_command('exec_command.tty: expected true or false, got "yes"', tty="yes"),
    exec_command('….stdin: expected one of "null", "open", got "file"', stdin="file"),
    exec_command("….env: expected an object of strings, got an array", env=[]),
    exec_command("….env.A: expected a string, got 1", env={"A": 1}),
    exec_command('….env: "A=B" is not a variable\'s name: …', env={"A=B": "x"}),
    exec_command('….env: "" is not a variable\'s name: …', env={"": "x"}),
    exec_command("….workdir: expected a string, got true", workdir=True),
    exec_command(r"exec_command.cmd: lone surrogate \ud800 at offset 5", cmd="echo \ud800"),
    exec_command(r"….env.A: lone surrogate \udcff at offset 0", env={"A": "\udcff"}),
    exec_command(r"workdir: no such directory: /a\nb\u202e", workdir="/a\nb\u202e"),
    exec_command("workdir: …xxx…: File name too long", workdir="/" + "x" * 5000),
    Row("no\nsuch" * 1000, {}, r"unknown tool 'no\nsuch……'; there are: …"),
    # numbers
    exec_command("….yield_time_ms: expected a whole number, got 2.5", yield_time_ms=2.5),
    Row(
        "exec_command",
        '{"cmd":"touch ran","yield_time_ms":Infinity}',
        "….yield_time_ms: Infinity is out of range",
    ),
    Row("exec_command", '{"cmd":"touch ran","rows":NaN}', "….rows: expected a number, got NaN"),
    Row("exec_command", '{"cmd":"touch ran","rows":1e400}', "….rows: 1e400 is out of range"),
    exec_command(
        "….max_output_tokens: must be between 0 and 1000000, got -1", max_output_tokens=-1
    ),
    exec_command("….rows: must be between 1 and 1000, got 0", rows=0, tty=True),
    exec_command("….cols: …, got an integer of 133 bits", cols=HUGE, tty=True),
    Row("shell", {"command": ["true"], "timeout_ms": 0}, "….timeout_ms: …1 and 86400000, got 0"),
    Row("shell", {"command": ["true"], "timeout_ms": HUGE}, "….timeout_ms: must be between …"),
    # text
    exec_command("exec_command.cmd: must not be empty", cmd=""),
    exec_command("exec_command.cmd: must not be empty", cmd=" \n\t"),
    exec_command("exec_command.cmd: must not be empty", cmd=[]),
    exec_command("exec_command.cmd[0]: must not be empty", cmd=[""]),
    Row("shell", {"command": []}, "shell.command: must not be empty"),
    Row("shell_command", {"command": ""}, "shell_command.command: must not be empty"),
    Row("run_in_session", {"command": ""}, "run_in_session.command: must not be empty"),
    exec_command("exec_command.cmd: NUL byte at offset 4", cmd="echo\0"),
    exec_command("exec_command.cmd[1]: NUL byte at offset 0", cmd=["echo", "\0"]),
    exec_command("exec_command.workdir: NUL byte at offset 1", workdir="a\0"),
    exec_command("exec_command.env.…: NUL byte at offset 0", env={"A": "\0"}),
    exec_command("exec_command.shell: NUL byte at offset 0", shell="\0"),
    # places
    exec_command("workdir: no such directory: …/nowhere", workdir="nowhere"),
    exec_command("workdir: not a directory: …/plain", workdir="plain"),
    exec_command("workdir: …~no-such-user…", workdir="~no-such-user/x"),
    Row("shell", {"command": ["true"], "workdir": "nowhere"}, "workdir: no such directory: …"),
    # programs
    exec_command("command not found: no-such-program", SPAWN_FAILED, cmd=["no-such-program"]),
    exec_command("command not found: ./nowhere/x", SPAWN_FAILED, cmd=["./nowhere/x"]),
    exec_command("not executable: ./plain (permission denied)", SPAWN_FAILED, cmd=["./plain"]),
    exec_command("not executable: . (…)", SPAWN_FAILED, cmd=["."]),
    exec_command(
        "not a program: ./garbage (no known format and no #! line)", SPAWN_FAILED, cmd=["./garbage"]
    ),
    exec_command(
        "command not found: nnn…nnn… (the name is too long)", SPAWN_FAILED, cmd=["n" * 5000]
    ),
    exec_command("…too long…", SPAWN_FAILED, cmd=["true", "x" * (4 << 20)]),
    exec_command("shell: one of bash, zsh, …, not 'no-such-shell'", shell="no-such-shell"),
    # sessions
    Row("write_stdin", {}, 'write_stdin: missing required field "session_id"'),
    Row("write_stdin", {"session_id": "x"}, '….session_id: expected a number, got "x"'),
    Row("write_stdin", {"session_id": True}, "….session_id: expected a number, got true"),
    Row("write_stdin", {"session_id": [1]}, "….session_id: expected a number, got an array"),
    Row("write_stdin", {"session_id": 1.5}, "….session_id: expected a whole number, got 1.5"),
    Row("write_stdin", {"session_id": -1}, "….session_id: must be between 0 and …, got -1"),
    Row("write_stdin", {"session_id": HUGE}, "….session_id: …, got an integer of 133 bits"),
    Row(
        "write_stdin", {"session_id": 7}, "unknown session_id 7: it never existed or is forgotten…"
    ),
    Row("write_stdin", {"session_id": "7"}, "unknown session_id 7: …"),
    Row("read_output", {"session_id": 7}, "unknown session_id 7: …"),
    Row("wait_for", {"session_id": 7, "exit": True}, "unknown session_id 7: …"),
    Row("kill_session", {"session_id": 7}, "unknown session_id 7: …"),
    Row("resize", {"session_id": 7, "rows": 2, "cols": 2}, "unknown session_id 7: …"),
    Row("run_in_session", {"command": "true", "session_id": 7}, "unknown session_id 7: …"),
    # what the companions want
    Row("read_output", {}, "read_output: give one of session_id, chunk_id"),
    Row("read_output", {"chunk_id": "xyz"}, '….chunk_id: expected 6 hexadecimal digits, got "xyz"'),
    Row("wait_for", {"session_id": 7}, "wait_for: give at least one of exit, pattern, …"),
    Row("wait_for", {"session_id": 7, "pattern": "("}, "wait_for.pattern: not a regular …"),
    Row("wait_for", {"session_id": 7, "pattern": r"(a)\1"}, "wait_for.pattern: not a regular …"),
    Row("kill_session", {"session_id": 7, "signal": "NOPE"}, '….signal: …, got "NOPE"'),
    Row("resize", {"session_id": 7, "rows": 2}, 'resize: missing required field "cols"'),
    Row("run_in_session", {"command": "echo 'x"}, "run_in_session.command: incomplete…"),
    Row("run_in_session", {"command": "cat <<E"}, "run_in_session.command: incomplete…"),
    Row("run_in_session", {"command": "echo \\"}, "run_in_session.command: incomplete: it ends…"),
    Row("apply_patch", {"input": ""}, "apply_patch.input: must not be empty"),
    Row("apply_patch", {"input": "x"}, "patch line 1: found 'x'; allowed: '*** Begin Patch'"),
    # rights
    exec_command("….sandbox_permissions: expected one of …", sandbox_permissions="all"),
    exec_command(
        "approval required (the call asks to run outside the sandbox; approval policy "
        "(on-request × workspace-write)), and nobody is there to give it",
        REJECTED,
        sandbox_permissions="require_escalated",
    ),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a file that is no program, and one that says it is."""
    directory = tmp_path_factory.mktemp("place")
    (directory / "plain").write_text("text")
    garbage = directory / "garbage"
    garbage.write_bytes(b"\x01\x02 no format")
    garbage.chmod(0o755)
    return directory


@pytest.fixture(scope="module", params=FRONT_ENDS)
def answers(request: pytest.FixtureRequest, place: Path) -> list[Answer]:
    """Every row's answer, all asked of one process."""
    with FRONT_ENDS[request.param](place) as front:
        return [front.call(row.tool, row.arguments) for row in ROWS]


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[str(row) for row in ROWS])
def test_bad_input_is_told_what_is_wrong(answers: list[Answer], number: int) -> None:
    """The text says what is wrong and where, in one line of bounded length."""
    row, answer = ROWS[number], answers[number]
    pattern = ".*".join(re.escape(part) for part in row.text.split("…"))
    assert re.fullmatch(pattern, answer.text), answer.text[:2000]
    assert len(answer.text) < 1000
    assert not answer.success
    assert answer.structured["error"] == {"kind": row.kind, "message": answer.text}
    assert answer.structured["status"] == ("rejected" if row.kind == REJECTED else "failed")


def test_nothing_of_it_ran(answers: list[Answer], place: Path) -> None:
    """No refused call has started its command."""
    assert len(answers) == len(ROWS)
    assert not (place / "ran").exists()


@pytest.fixture(params=FRONT_ENDS)
def front(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FrontEnd]:
    with FRONT_ENDS[request.param](tmp_path) as front:
        yield front


def test_an_ended_session_says_how_it_ended(front: FrontEnd) -> None:
    """Writing to a session that has ended tells its exit code; its output is still there."""
    begun = front.call(
        "exec_command", {"cmd": "read -r x; exit 3", "tty": True, "yield_time_ms": 250}
    )
    front.call("write_stdin", {"session_id": begun.session_id, "chars": "x\n"})
    front.call("wait_for", {"session_id": begun.session_id, "exit": True})
    late = front.call("write_stdin", {"session_id": begun.session_id, "chars": "more\n"})
    assert not late.success
    assert "3" in late.text
    assert "ended" in late.text or "exited" in late.text
    read = front.call("read_output", {"session_id": begun.session_id})
    assert read.success


def test_a_closed_stdin_is_told(front: FrontEnd) -> None:
    """Text for a session without an open stdin is refused, and says how to have one."""
    begun = front.call("exec_command", {"cmd": "sleep 100", "yield_time_ms": 250})
    answer = front.call("write_stdin", {"session_id": begun.session_id, "chars": "x"})
    assert not answer.success
    assert "stdin" in answer.text
    assert '"open"' in answer.text or "tty" in answer.text


def test_a_stdin_that_was_closed_is_told(front: FrontEnd) -> None:
    """After `eof` there is no more to write, and the text says that it was closed."""
    start = {"cmd": "cat; sleep 100", "stdin": "open", "yield_time_ms": 250}
    begun = front.call("exec_command", start)
    closed = {"session_id": begun.session_id, "chars": "last\n", "eof": True}
    assert "last" in (front.call("write_stdin", closed)).text
    answer = front.call("write_stdin", {"session_id": begun.session_id, "chars": "x"})
    assert not answer.success
    assert "closed" in answer.text
