"""`exec_command`, run: texts, facts, environment, output of every kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Engine

PLAIN = {"login": False}


async def test_the_answer_of_a_finished_command(engine: Engine) -> None:
    """Chunk, time, code, token count (0 is said too), `Output:`, body."""
    answer = await engine.call("exec_command", {"cmd": "true", **PLAIN})
    assert re.fullmatch(
        r"Chunk ID: [0-9a-f]{6}\n"
        r"Wall time: \d+\.\d{4} seconds\n"
        r"Process exited with code 0\n"
        r"Original token count: 0\n"
        r"Output:\n",
        answer.content,
    )


async def test_the_answer_of_one_that_runs(engine: Engine) -> None:
    """It names the session instead of a code, and is a success so far."""
    started = await engine.call(
        "exec_command", {"cmd": "echo up; exec sleep 100", "yield_time_ms": 0, **PLAIN}
    )
    number = started.structured["session_id"]
    assert 1000 <= number <= 99999
    assert f"\nProcess running with session ID {number}\nOriginal token count: " in started.content
    assert started.structured["status"] == "running"
    assert started.success
    assert "exit_code" not in started.structured


async def test_older_names_of_arguments(engine: Engine) -> None:
    """`command` is `cmd`, `cwd` is `workdir`."""
    answer = await engine.call("exec_command", {"command": ["pwd"], "cwd": "/usr"})
    assert answer.structured["output"] == "/usr\n"


async def test_an_older_call_names_its_session(engine: Engine) -> None:
    """`process_id` becomes the session's number; one that is taken is refused."""
    given = {"cmd": ["cat"], "stdin": "open", "process_id": "123456", "yield_time_ms": 250}
    started = await engine.call("exec_command", given)
    assert started.structured["session_id"] == 123456
    written = await engine.call("write_stdin", {"process_id": 123456, "input": "x\n", "eof": True})
    assert written.structured["output"] == "x\n"
    again = await engine.call("exec_command", given)
    assert again.content == "session 123456 exists already; let a number be chosen"


async def test_variables_of_a_call(engine: Engine) -> None:
    """They are set; those that change what a program is are left out, each with a warning."""
    given = {
        "cmd": ["sh", "-c", 'echo "$WORD|$LD_PRELOAD|$BASH_ENV"'],
        "env": {"WORD": "ä b", "LD_PRELOAD": "x.so", "BASH_ENV": "y"},
    }
    answer = await engine.call("exec_command", given)
    assert answer.structured["output"] == "ä b||\n"
    assert answer.structured["warnings"] == [
        "env.LD_PRELOAD was not passed on: it changes what a program is",
        "env.BASH_ENV was not passed on: it changes what a program is",
    ]
    assert answer.content.startswith(
        "Warning: env.LD_PRELOAD was not passed on: it changes what a program is\nWarning: "
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash", "sh"])
async def test_the_shell_of_a_call(
    engine: Engine, require: Callable[[str], str], shell: str
) -> None:
    """By name or by path, that shell reads the script."""
    path = require(shell)
    script = f"cat /proc/{'$fish_pid' if shell == 'fish' else '$$'}/comm; true"
    for named in (shell, path):
        answer = await engine.call("exec_command", {"cmd": script, "shell": named, **PLAIN})
        assert answer.structured["output"] == f"{shell}\n"


async def test_a_shell_that_is_none(engine: Engine) -> None:
    """The refusal names what is allowed."""
    answer = await engine.call("exec_command", {"cmd": "true", "shell": "nosh"})
    assert answer.content.startswith("shell: one of bash, zsh, sh, dash, fish, ")
    answer = await engine.call("exec_command", {"cmd": "true", "shell": "/nowhere/bash"})
    assert answer.content == "shell: '/nowhere/bash' was not found, or is not executable"


async def test_no_token_of_output(engine: Engine) -> None:
    """With a budget of 0 there is only the count."""
    given = {"cmd": ["seq", "1000"], "max_output_tokens": 0}
    answer = await engine.call("exec_command", given)
    assert answer.content.partition("Output:\n")[2] == (
        "Warning: truncated output (original token count: 974)\n"
        "Total output lines: 1000\n"
        "\n"
        "…974 tokens truncated…"
    )


async def test_a_budget_keeps_both_ends(engine: Engine) -> None:
    """Half of the budget is the beginning, half the end."""
    given = {"cmd": ["seq", "1000"], "max_output_tokens": 8}
    answer = await engine.call("exec_command", given)
    body = answer.structured["output"].splitlines()
    assert body[3:5] == ["1", "2"]
    assert body[-2:] == ["999", "1000"]


async def test_five_megabytes(engine: Engine) -> None:
    """One mark, with the exact number of bytes that are missing between the two ends."""
    given = {"cmd": ["seq", "-w", "625000"], "max_output_tokens": 1_000_000}  # 7 bytes a line
    answer = await engine.call("exec_command", given)
    head, mark, tail = re.split(
        r"\n(\.\.\. \d+ bytes omitted \.\.\.)\n", answer.structured["output"]
    )
    total = 625_000 * 7
    omitted = answer.structured["omitted_bytes"]
    assert mark == f"... {omitted} bytes omitted ..."
    assert len(head) + omitted + len(tail) == total
    assert head.startswith("000001\n000002\n")
    assert tail.endswith("\n625000\n")
    assert answer.structured["original_token_count"] == -(-total // 4)


async def test_rendered_output_collapses_progress(engine: Engine) -> None:
    """A bar that was drawn a hundred times shows in its last state; bad bytes are still counted."""
    script = (
        r"printf 'start \377\n'; for n in $(seq 100); do printf '\r%3d %%' $n; done; echo; echo end"
    )
    given: dict[str, Any] = {"cmd": script, "shell": "bash", **PLAIN}
    answer = await engine.call("exec_command", {**given, "rendered": True})
    assert answer.structured["output"] == "start \ufffd\n100 %\nend\n"
    assert answer.structured["replaced_bytes"] == 1
    raw = await engine.call("exec_command", given)
    assert raw.structured["output"].count("\r") == 100


async def test_invalid_bytes_are_counted(engine: Engine) -> None:
    """Three bytes that are no characters are three, and the log has them as they were."""
    answer = await engine.call("exec_command", {"cmd": ["printf", r"\377a\300\257é"]})
    assert answer.structured["replaced_bytes"] == 3
    assert answer.structured["output"] == "\ufffda\ufffd\ufffdé"


async def test_a_child_that_stays(engine: Engine) -> None:
    """The call returns when its command ends, and says that a child lives and holds the output."""
    answer = await engine.call("exec_command", {"cmd": "sleep 100 & echo done", **PLAIN})
    assert answer.structured["status"] == "completed"
    assert answer.structured["output"] == "done\n"
    assert answer.structured["descendants_alive"] is True
    assert answer.structured["output_held_open"] is True
