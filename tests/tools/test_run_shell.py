"""`shell` and `shell_command`, run: texts, facts, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fairlead import Engine
from fairlead.tools.model import CustomPayload, LocalShellPayload, McpPayload


async def test_shell_executes_words_as_they_are(engine: Engine) -> None:
    """No shell reads the words: a dollar stays one. The answer is one JSON object."""
    answer = await engine.call("shell", {"command": ["printf", "%s|", "$HOME", "a b", "*"]})
    said = json.loads(answer.content)
    assert said["output"] == "$HOME|a b|*|"
    assert said["metadata"]["exit_code"] == 0
    assert isinstance(said["metadata"]["duration_seconds"], float)
    assert set(said["metadata"]) == {"exit_code", "duration_seconds"}
    assert answer.success


async def test_the_facts_of_a_finished_command(engine: Engine) -> None:
    """What applies is there, what does not apply is no key."""
    answer = await engine.call("shell", {"command": ["echo", "hi"]})
    facts = dict(answer.structured)
    assert re.fullmatch("[0-9a-f]{6}", facts.pop("chunk_id"))
    assert facts.pop("wall_time_seconds") >= 0
    assert facts == {
        "status": "completed",
        "exit_code": 0,
        "output": "hi\n",
        "original_token_count": 1,
        "sandbox": {"type": "namespaces", "tier": "namespaces", "missing": []},
        "approval": {
            "requirement": "skip",
            "decision": "skip",
            "because": "auto_allow_sandboxed (the sandbox is workspace-write)",
        },
    }


async def test_container_exec_is_shell(engine: Engine) -> None:
    """The alias answers alike."""
    answer = await engine.call("container.exec", {"command": ["echo", "hi"], "timeout": 60_000})
    assert json.loads(answer.content)["output"] == "hi\n"


async def test_a_local_shell_call_is_shell(engine: Engine) -> None:
    """A model's built-in call is checked and run like any other."""
    answer = await engine.call("shell", LocalShellPayload(command=["pwd"], workdir="/usr"))
    assert answer.structured["output"] == "/usr\n"
    answer = await engine.call("shell", LocalShellPayload(command="pwd"))
    assert answer.content == 'shell.command: expected an array of strings, got "pwd"'


async def test_a_payload_of_the_wrong_shape_is_refused(engine: Engine) -> None:
    """Each tool says which call it does not take."""
    refused = await engine.call("exec_command", LocalShellPayload(command=["ls"]))
    assert refused.content == "exec_command: does not take a local shell call"
    refused = await engine.call("shell", CustomPayload("ls"))
    assert refused.content == "shell: does not take free-form text"
    taken = McpPayload(server="fairlead", tool="shell", arguments={"command": ["true"]})
    assert (await engine.call("shell", taken)).success


async def test_what_may_change_something_says_so(engine: Engine) -> None:
    """Tools that only look are told apart from those that act."""
    from fairlead.tools.model import FunctionPayload, ToolInvocation

    looks = set()
    for spec in engine.tools.specs():
        handler = engine.tools.handler(spec.name)
        payload = FunctionPayload({})
        invocation = ToolInvocation(call_id="1", tool_name=spec.name, payload=payload)
        if not await handler.is_mutating(invocation):
            looks.add(spec.name)
    assert looks == {"read_output", "wait_for", "list_sessions"}


async def test_an_unknown_tool(engine: Engine) -> None:
    """The refusal names those that there are."""
    answer = await engine.call("shel", {})
    assert answer.content.startswith("unknown tool 'shel'; there are: shell, shell_command, ")


@pytest.mark.parametrize(
    ("script", "code", "signal"),
    [("exit 7", 7, None), ("kill -9 $$", 137, "SIGKILL"), ("kill -40 $$", 168, "SIGRTMIN+6")],
)
async def test_how_a_command_failed(
    engine: Engine, script: str, code: int, signal: str | None
) -> None:
    """A non-zero code and a signal are a call without success, each in the words of a shell."""
    answer = await engine.call("shell", {"command": ["sh", "-c", script]})
    assert not answer.success
    assert answer.structured["status"] == "failed"
    assert answer.structured["exit_code"] == code
    assert answer.structured.get("signal") == signal
    assert json.loads(answer.content)["metadata"]["exit_code"] == code


async def test_shell_command_answers_in_lines(engine: Engine) -> None:
    """Code, time, `Output:`, and then both streams as they came."""
    script = "echo one; echo two >&2; exit 3"
    answer = await engine.call("shell_command", {"command": script, "login": False})
    assert re.fullmatch(
        r"Exit code: 3\nWall time: \d+\.\d seconds\nOutput:\none\ntwo\n", answer.content
    )


async def test_shell_command_says_how_long_a_cut_output_was_only_once(engine: Engine) -> None:
    """The number of lines stands in the header, so the body has none of the warning's lines."""
    answer = await engine.call("shell_command", {"command": "seq 20000", "login": False})
    lines = answer.content.splitlines()
    assert lines[2:5] == ["Total output lines: 20000", "Output:", "1"]
    assert answer.content.count("Total output lines") == 1
    assert "Warning" not in answer.content
    assert lines[-1] == "20000"
    assert len(re.findall("…[0-9]+ tokens truncated…", answer.content)) == 1


async def test_shell_command_counts_the_lines_that_fell_out(engine: Engine) -> None:
    """Of 5 MB both ends are shown, and what is missing is counted exactly, in bytes and lines."""
    script = "yes 1234 | head -n 1000000"
    answer = await engine.call("shell_command", {"command": script, "login": False})
    assert "\nTotal output lines: 1000000\nOutput:\n... " in answer.content
    omitted = answer.structured["omitted_bytes"]
    assert omitted == 5_000_000 - (1 << 20)
    assert answer.structured["original_token_count"] == 1_250_000
    assert answer.content.count(f"... {omitted} bytes omitted ...") == 1


async def test_a_timeout_ends_the_call_with_124(engine: Engine) -> None:
    """What was written until then is kept, below a line that says what happened."""
    given = {"command": "echo partial; sleep 100", "timeout": 300, "login": False}
    answer = await engine.call("shell_command", given)
    body = answer.content.partition("Output:\n")[2]
    assert re.fullmatch(r"command timed out after \d+ milliseconds\npartial\n", body)
    assert answer.content.startswith("Exit code: 124\n")
    assert not answer.success
    assert answer.structured["timed_out"] is True
    assert answer.structured["killed_by"] == "timeout after 0.3 s"


@pytest.mark.parametrize(("login", "expected"), [(True, "login"), (False, "plain")])
async def test_a_login_shell_is_one(engine: Engine, login: bool, expected: str) -> None:
    """`login` decides whether bash is a login shell."""
    script = "shopt -q login_shell && echo login || echo plain"
    given = {"cmd": script, "login": login, "shell": "bash"}
    answer = await engine.call("exec_command", given)
    assert answer.structured["output"] == f"{expected}\n"


async def test_the_working_directory(engine: Engine, tmp_path: Path) -> None:
    """Relative ones start at the engine's own, which is also the default."""
    (tmp_path / "sub").mkdir()
    for given, expected in ((None, tmp_path), ("", tmp_path), ("sub", tmp_path / "sub")):
        answer = await engine.call("shell", {"command": ["pwd"], "workdir": given})
        assert answer.structured["output"] == f"{expected}\n"


@pytest.mark.parametrize(
    ("workdir", "text"),
    [
        ("missing", "workdir: no such directory: {}/missing"),
        ("file", "workdir: not a directory: {}/file"),
        ("~nosuchuser/x", "workdir: there is no user ~nosuchuser with a home directory"),
    ],
)
@pytest.mark.parametrize("tool", ["shell", "shell_command", "exec_command"])
async def test_a_directory_that_is_none(
    engine: Engine, tmp_path: Path, tool: str, workdir: str, text: str
) -> None:
    """Each mistake is named, nothing runs."""
    (tmp_path / "file").touch()
    field = "cmd" if tool == "exec_command" else "command"
    given: dict[str, Any] = {field: ["true"] if tool == "shell" else "true", "workdir": workdir}
    answer = await engine.call(tool, given)
    assert answer.content == text.format(tmp_path)
    assert not answer.success
    assert answer.structured["error"]["kind"] == "bad_request"
    assert engine.sessions() == []


async def test_a_directory_with_a_name_that_is_too_long(engine: Engine, tmp_path: Path) -> None:
    """It is named as far as it fits into a line."""
    answer = await engine.call("shell", {"command": ["true"], "workdir": "x" * 300})
    shown = f"{tmp_path}/{'x' * 300}"[:200]
    assert answer.content == f"workdir: {shown}…: File name too long"
    assert answer.structured["error"]["kind"] == "bad_request"


@pytest.mark.parametrize(
    ("word", "content", "mode", "text"),
    [
        ("no-such-program", None, 0, "command not found: no-such-program"),
        ("./plain", "text", 0o644, "not executable: ./plain (permission denied)"),
        ("./odd", "\x01\x02", 0o755, "not a program: ./odd (no known format and no #! line)"),
    ],
)
async def test_what_can_not_be_started(
    engine: Engine, tmp_path: Path, word: str, content: str | None, mode: int, text: str
) -> None:
    """Nothing ran, and the text says why."""
    if content is not None:
        (tmp_path / word).write_text(content)
        (tmp_path / word).chmod(mode)
    answer = await engine.call("shell", {"command": [word]})
    assert answer.content == text
    assert answer.structured["error"]["kind"] == "spawn_failed"
    assert engine.sessions() == []


async def test_escalation_that_nobody_can_grant(engine: Engine) -> None:
    """Refused before anything runs, in the words that an agent knows."""
    given = {"command": ["touch", "made"], "sandbox_permissions": "require_escalated"}
    answer = await engine.call("shell", given)
    assert answer.content == (
        "approval required (the call asks to run outside the sandbox; approval policy "
        "(on-request × workspace-write)), and nobody is there to give it"
    )
    assert answer.structured["status"] == "rejected"
    assert not (engine.options.cwd / "made").exists()
