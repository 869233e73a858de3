"""Live shells as an agent meets them: through the tools alone."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlead import Engine
from fairlead.spawn import tree
from fairlead.tools.model import ToolOutput

LONG_MS = 60_000  # nothing takes so long unless it hangs


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of live shell, and how an agent comes to have one."""

    program: str
    started: dict[str, Any] = field(default_factory=dict)  # nothing: it is our own
    interactive: bool = True

    @property
    def dialect(self) -> str:
        return {"dash": "sh"}.get(self.program, self.program)


def typed(program: str, *more: str, **how: Any) -> Kind:
    """A shell that an agent started with exec_command."""
    how = how or {"tty": True}
    return Kind(program, {"cmd": [program, *more], **how}, interactive="tty" in how)


KINDS = {
    "own bash": Kind("bash"),
    "own zsh": Kind("zsh"),
    "own dash": Kind("dash"),
    "bash -i": typed("bash", "-i"),
    "bash --norc": typed("bash", "--norc"),
    "zsh -f": typed("zsh", "-f"),
    "dash": typed("dash"),
    "bash on a pipe": typed("bash", stdin="open"),
}


@dataclass(slots=True)
class Live:
    """A live shell."""

    engine: Engine
    kind: Kind
    session_id: int | None = None

    @classmethod
    async def open(cls, engine: Engine, kind: Kind) -> Live:
        if not kind.started:
            return cls(engine, kind)
        # dash takes an exported prompt, zsh and bash set their own
        answer = await engine.call(
            "exec_command", {"login": False, "yield_time_ms": 250, **kind.started}
        )
        assert answer.structured["status"] == "running", answer.content
        return cls(engine, kind, answer.structured["session_id"])

    async def run(self, command: str, **more: Any) -> ToolOutput:
        """The answer of `run_in_session`."""
        where: dict[str, Any] = {"shell": self.kind.dialect}
        if self.session_id is not None:
            where = {"session_id": self.session_id}
        given = {"command": command, "timeout_ms": LONG_MS, **where, **more}
        return await self.engine.call("run_in_session", given)

    async def out(self, command: str, code: int = 0, **more: Any) -> str:
        """What the command wrote, after a look at its exit code."""
        answer = await self.run(command, **more)
        facts = answer.structured
        assert (facts.get("exit_code"), facts.get("timed_out")) == (code, None), answer.content
        output: str = facts["output"]
        return output

    async def id(self) -> int:
        """The session's number."""
        number: int = (await self.run(":")).structured["session_id"]
        return number


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something that has no event."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def outside(told: int) -> int | None:
    """The process of ours that calls itself `told`, by the number that we know it by: a confined
    one counts its own way. None if there is none, or no more than its exit status."""
    ours = tree.descendants(os.getpid())
    return next((p for p in ours if tree.number_inside(p) == told and tree.is_alive(p)), None)


def alive(told: int) -> bool:
    """Whether a process that a command named runs."""
    return outside(told) is not None


def kill(told: int) -> None:
    """End a process that a command named, from outside."""
    found = outside(told)
    assert found is not None
    os.kill(found, signal.SIGKILL)


def pid_in(path: Path) -> int:
    """The number that a command wrote into a file."""
    return int(path.read_text())


def written(path: Path) -> Callable[[], bool]:
    """Whether a line has been written into it."""
    return lambda: path.exists() and path.read_text().endswith("\n")


def words_of(told: int) -> bytes:
    return Path(f"/proc/{outside(told)}/cmdline").read_bytes()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))
