"""The flags that every command which runs something shares, and the options they make."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from fairlead.cli.flags import Flag, Line
from fairlead.config.options import DEFAULT_PRESET, Options
from fairlead.model.access import PRESETS, ApprovalPolicy, SandboxPolicy
from fairlead.model.errors import BadRequest

Word = TypeVar("Word", SandboxPolicy, ApprovalPolicy)

POLICY_FLAGS = (
    Flag("preset", f"one of {', '.join(PRESETS)} (default: {DEFAULT_PRESET})", "P"),
    Flag("policy", "a rule file (none are understood by this version)", "FILE"),
    Flag("sandbox", f"one of {', '.join(SandboxPolicy)}", "S"),
    Flag("approval", f"one of {', '.join(ApprovalPolicy)}", "A"),
    Flag("cwd", "where to run (default: here)", "DIR"),
)


def options_from(line: Line) -> Options:
    """The engine's options, as the flags say. Raises `BadRequest`."""
    if line.on("policy"):
        raise BadRequest("--policy: rule files are not understood by this version; nothing was run")
    return Options(
        cwd=_directory(line.get("cwd")),
        preset=line.get("preset") or DEFAULT_PRESET,
        sandbox=_word(SandboxPolicy, "sandbox", line.get("sandbox")),
        approval=_word(ApprovalPolicy, "approval", line.get("approval")),
    )


def _directory(text: str | None) -> Path:
    try:
        path = Path.cwd() if text is None else Path(text).absolute()
        if path.is_dir():
            return path
        problem = "not a directory" if path.exists() else "no such directory"
    except OSError as error:  # it was deleted, or lies behind something that we may not enter
        problem = error.strerror.lower() if error.strerror else str(error)
    if text is None:
        raise BadRequest(f"the current directory can't be used: {problem}; name one with --cwd")
    raise BadRequest(f"--cwd: {problem}: {text}")


def _word(kind: type[Word], name: str, text: str | None) -> Word | None:
    if text is None:
        return None
    try:
        return kind(text)
    except ValueError:
        raise BadRequest(f"--{name}: expected one of {', '.join(kind)}, got {text!r}") from None
