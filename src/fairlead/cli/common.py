"""The flags that every command which runs something shares, and the options they make."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from fairlead.cli.flags import Flag, Line
from fairlead.config.options import DEFAULT_PRESET, Options
from fairlead.model.access import PRESETS, ApprovalPolicy, Network, SandboxPolicy
from fairlead.model.container import Backend, ContainerEngine
from fairlead.model.errors import BadRequest
from fairlead.model.sandbox import EVERYTHING, MISSING

Word = TypeVar("Word", bound=StrEnum)

_WORDS: dict[str, type[StrEnum]] = {
    "sandbox": SandboxPolicy,
    "approval": ApprovalPolicy,
    "network": Network,
    "backend": Backend,
    "engine": ContainerEngine,
}

POLICY_FLAGS = (
    Flag("preset", f"one of {', '.join(PRESETS)} (default: {DEFAULT_PRESET})", "P"),
    Flag("policy", "a policy file in TOML", "FILE"),
    Flag("sandbox", f"one of {', '.join(SandboxPolicy)}", "S"),
    Flag("approval", f"one of {', '.join(ApprovalPolicy)}", "A"),
    Flag("cwd", "where to run, and the workspace (default: here)", "DIR"),
    Flag("writable", "one more directory that may be written", "DIR", many=True),
    Flag("deny-read", "a path or glob that may not be read", "PATH", many=True),
    Flag("network", "off (default) or full", "N"),
    Flag("backend", "what confines: auto (default) or container", "B"),
    Flag("image", "of containers; it has to be on this machine", "NAME"),
    Flag("engine", "of containers: auto (default), podman or docker", "E"),
    Flag("accept", "what may be missing where not all can be enforced", "WORDS"),
)


def options_from(line: Line) -> Options:
    """The engine's options: what the flags say, over what a policy file says. Raises
    `BadRequest`."""
    said: dict[str, Any] = {"preset": line.get("preset") or DEFAULT_PRESET}
    policy = line.get("policy")
    if policy is not None:
        from fairlead.config.policy_file import read

        said |= read(Path(policy))
    for name, kind in _WORDS.items():
        if line.on(name):
            said[name] = _word(kind, name, line.get(name) or "")
    if line.get("backend") == Backend.AUTO:  # a policy file's words on containers are moot then
        said = {name: value for name, value in said.items() if name not in ("image", "engine")}
    if line.on("image"):
        said["image"] = line.get("image")
    if line.on("writable"):
        given = tuple(_existing(text, "writable") for text in line.all("writable"))
        said["writable_roots"] = (*said.get("writable_roots", ()), *given)
    if line.on("deny-read"):
        said["deny_read"] = (*said.get("deny_read", ()), *line.all("deny-read"))
    if line.on("accept"):
        said["accept"] = _accepted(line.get("accept") or "")
    return Options(cwd=_directory(line.get("cwd")), **said)


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


def _existing(text: str, flag: str) -> Path:
    path = Path(text).expanduser().absolute()
    if path.is_dir():
        return path
    problem = "not a directory" if path.exists() else "no such directory"
    raise BadRequest(f"--{flag}: {problem}: {text}")


def _accepted(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(","))
    known = (*MISSING, EVERYTHING)
    for word in words:
        if word not in known:
            raise BadRequest(f"--accept: expected some of {', '.join(known)}, got {word!r}")
    return words


def _word(kind: type[Word], name: str, text: str) -> Word:
    try:
        return kind(text)
    except ValueError:
        raise BadRequest(f"--{name}: expected one of {', '.join(kind)}, got {text!r}") from None
