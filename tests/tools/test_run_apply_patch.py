"""Patches: as a tool of their own, and where a command turns out to be one."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from fairlead import Engine
from fairlead.config.options import Options
from fairlead.model.access import ApprovalPolicy
from fairlead.model.params import ExecParams
from fairlead.orchestrator import ToolOrchestrator
from fairlead.tools.model import CustomPayload

ADD = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"
DELETE = "*** Begin Patch\n*** Delete File: new.txt\n*** End Patch\n"
HEREDOC = f"apply_patch <<'EOF'\n{ADD}EOF\n"
DONE = "Success. Updated the following files:\nA new.txt\n"
EXISTS = "apply_patch verification failed: new.txt exists already; use *** Update File to change it"

COMMANDS: dict[str, dict[str, Any]] = {
    "shell": {"command": ["bash", "-lc", HEREDOC]},
    "shell_command": {"command": HEREDOC},
    "exec_command": {"cmd": HEREDOC},
}


@pytest.mark.parametrize("arguments", [{"input": ADD}, {"patch": ADD}, ADD, CustomPayload(ADD)])
async def test_a_patch_is_applied(engine: Engine, tmp_path: Path, arguments: Any) -> None:
    """As an argument, as raw text in place of JSON, as a free-form call."""
    answer = await engine.call("apply_patch", arguments)
    assert answer.success
    assert answer.content == DONE
    assert answer.structured["status"] == "completed"
    assert answer.structured["files"] == [{"path": "new.txt", "change": "A"}]
    assert answer.structured["approval"]["decision"] == "skip"
    assert (tmp_path / "new.txt").read_text() == "hello\n"


async def test_a_refusal_is_bounded_and_shows_no_control_characters(engine: Engine) -> None:
    """Whatever the names in a patch are, what is said about them can be read."""
    name = "a\x1b[2J\r\u202e" + "x" * 100_000
    patch = f"*** Begin Patch\n*** Delete File: {name}\n*** End Patch"
    answer = await engine.call("apply_patch", {"input": patch})
    text = answer.structured["error"]["message"]
    assert text.startswith(r"apply_patch verification failed: a\x1b[2J\r\u202exxx")
    assert text.endswith("xxx… (cut)")
    assert len(text) < 5000
    assert text == answer.content


async def test_a_patch_that_does_not_fit(engine: Engine, tmp_path: Path) -> None:
    """The answer is what is wrong, and nothing was changed."""
    (tmp_path / "new.txt").write_text("mine\n")
    answer = await engine.call("apply_patch", {"input": ADD})
    assert answer.content == EXISTS
    assert not answer.success
    assert (answer.structured["status"], answer.structured["output"]) == ("failed", EXISTS)
    assert (tmp_path / "new.txt").read_text() == "mine\n"


async def test_what_is_no_patch(engine: Engine) -> None:
    """Text without the first line is refused as such."""
    answer = await engine.call("apply_patch", {"input": "hello"})
    assert not answer.success
    assert "*** Begin Patch" in answer.content


@pytest.mark.parametrize("tool", COMMANDS)
async def test_a_command_that_is_a_patch_is_not_spawned(
    engine: Engine, tmp_path: Path, tool: str
) -> None:
    """A heredoc for apply_patch is applied; the answer reads as that of a command."""
    answer = await engine.call(tool, COMMANDS[tool])
    assert answer.success
    assert answer.structured["exit_code"] == 0
    assert answer.structured["output"] == DONE
    assert answer.structured["approval"]["decision"] == "skip"
    assert "chunk_id" not in answer.structured
    assert (tmp_path / "new.txt").read_text() == "hello\n"
    assert engine.sessions() == []


@pytest.mark.parametrize("tool", COMMANDS)
async def test_a_command_whose_patch_does_not_fit(
    engine: Engine, tmp_path: Path, tool: str
) -> None:
    """It fails with 1, and its output is what is wrong."""
    (tmp_path / "new.txt").touch()
    answer = await engine.call(tool, COMMANDS[tool])
    assert not answer.success
    assert answer.structured["exit_code"] == 1
    assert answer.structured["output"] == EXISTS


async def test_the_texts_of_a_command_that_is_a_patch(engine: Engine) -> None:
    """Each tool answers in its own form; without a session there is no chunk."""
    words = await engine.call("shell", {"command": ["apply_patch", ADD]})
    assert json.loads(words.content)["output"] == DONE
    script = await engine.call("shell_command", {"command": f"apply_patch '{DELETE}'"})
    assert re.fullmatch(
        r"Exit code: 0\nWall time: \d+\.\d seconds\nOutput:\nSuccess. Updated .*\nD new.txt\n",
        script.content,
    )
    session = await engine.call("exec_command", {"cmd": HEREDOC})
    assert re.fullmatch(
        r"Wall time: \d+\.\d{4} seconds\nProcess exited with code 0\nOriginal token count: 12\n"
        r"Output:\nSuccess. Updated .*\nA new.txt\n",
        session.content,
    )


@pytest.mark.parametrize("workdir", [None, "sub"])
async def test_a_patch_after_cd(engine: Engine, tmp_path: Path, workdir: str | None) -> None:
    """`cd DIR &&` before it counts, from where the call says that it runs."""
    target = tmp_path / (workdir or "") / "deep"
    target.mkdir(parents=True)
    answer = await engine.call(
        "exec_command", {"cmd": f"cd deep && {HEREDOC}", "workdir": workdir or ""}
    )
    assert answer.structured["output"] == DONE
    assert (target / "new.txt").read_text() == "hello\n"


async def test_a_patch_in_a_directory_that_is_none(engine: Engine, tmp_path: Path) -> None:
    """The verification names it."""
    answer = await engine.call("exec_command", {"cmd": f"cd missing && {HEREDOC}"})
    assert answer.structured["exit_code"] == 1
    assert answer.structured["output"] == (
        f"apply_patch verification failed: the working directory {tmp_path}/missing does not exist"
    )


async def test_a_bare_patch_as_a_command(engine: Engine) -> None:
    """No shell could make sense of it: the refusal names the tool to call."""
    answer = await engine.call("exec_command", {"cmd": ADD})
    assert answer.content == (
        "this command is a patch, not a program: call the apply_patch tool with it"
    )
    assert engine.sessions() == []


async def test_a_script_with_more_than_a_patch_runs(engine: Engine, tmp_path: Path) -> None:
    """Whatever else stands in it makes it an ordinary script."""
    given = {"cmd": f"echo before\n{HEREDOC}", "login": False}
    answer = await engine.call("exec_command", given)
    assert answer.structured["output"].startswith("before\n")
    assert "chunk_id" in answer.structured


class Watched(ToolOrchestrator):
    """Notes what it was asked to permit."""

    asked: list[ExecParams]

    async def permit(self, params: ExecParams) -> Any:
        self.asked.append(params)
        return await super().permit(params)


@pytest.mark.parametrize("tool", ["apply_patch", *COMMANDS])
async def test_approval_is_asked_for_the_files(engine: Engine, tmp_path: Path, tool: str) -> None:
    """Whatever way a patch came, what is judged is the patch and the real paths that it touches."""
    (tmp_path / "old.txt").write_text("x\n")
    (tmp_path / "link").symlink_to(tmp_path)
    patch = (
        "*** Begin Patch\n*** Add File: link/new.txt\n+hello\n*** Update File: old.txt\n"
        "*** Move to: moved.txt\n@@\n-x\n+y\n*** End Patch\n"
    )
    given = {name: _replaced(value, ADD, patch) for name, value in COMMANDS.get(tool, {}).items()}
    orchestrator = engine._open().toolbox.orchestrator
    orchestrator.__class__ = Watched
    assert isinstance(orchestrator, Watched)
    orchestrator.asked = []
    answer = await engine.call(tool, given or {"input": patch})
    assert answer.success, answer.content
    (asked,) = orchestrator.asked
    assert asked.files == tuple(tmp_path / name for name in ("new.txt", "old.txt", "moved.txt"))
    assert asked.argv == ("apply_patch", patch)
    assert asked.script is None
    assert asked.cwd == tmp_path


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, list):
        return [word.replace(old, new) for word in value]
    return value.replace(old, new)


@pytest.mark.parametrize("tool", ["apply_patch", *COMMANDS])
async def test_a_patch_without_approval_changes_nothing(tmp_path: Path, tool: str) -> None:
    """Where somebody would have to be asked and nobody listens, it is refused."""
    options = Options(cwd=tmp_path, approval=ApprovalPolicy.UNLESS_TRUSTED)
    async with Engine(options) as engine:
        answer = await engine.call(tool, COMMANDS.get(tool, {"input": ADD}))
    assert answer.structured["status"] == "rejected"
    assert not answer.success
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        ("*** Add File: {outside}/new\n+x", "outside of the writable roots"),
        ("*** Update File: {outside}/secret\n@@\n-guess\n+x", "outside of the writable roots"),
        ("*** Delete File: {outside}/secret", "outside of the writable roots"),
        ("*** Update File: link\n@@\n-guess\n+x", "outside of the writable roots"),
        ("*** Add File: .fairlead/policy.toml\n+x", "protected"),
        ("*** Add File: .git/hooks/pre-commit\n+x", "protected"),
        ("*** Update File: hidden/key\n@@\n-guess\n+x", "hidden"),
    ],
)
async def test_a_patch_has_the_bounds_of_a_command(
    tmp_path: Path, operation: str, told: str
) -> None:
    """What no command could write or read, no patch writes, or tells whether it fits."""
    outside = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        (outside / "secret").write_text("secret\n")
        (tmp_path / "hidden").mkdir()
        (tmp_path / "hidden/key").write_text("secret\n")
        (tmp_path / ".git/hooks").mkdir(parents=True)
        (tmp_path / "link").symlink_to(outside / "secret")
        patch = f"*** Begin Patch\n{operation.format(outside=outside)}\n*** End Patch"
        async with Engine(Options(cwd=tmp_path, deny_read=("hidden",))) as engine:
            answer = await engine.call("apply_patch", {"input": patch})
        assert answer.structured["status"] == "rejected"
        assert told in answer.content
        assert sorted(path.name for path in outside.iterdir()) == ["secret"]
        assert (outside / "secret").read_text() == "secret\n"
    finally:
        shutil.rmtree(outside)
