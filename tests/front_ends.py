"""The two front ends that an agent reaches from outside, as the real programs that they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

PROGRAM = [sys.executable, "-m", "fairlead"]
ROOT = Path(__file__).parents[1]
SECONDS = 60

Program = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one tool call."""

    text: str
    success: bool
    structured: dict[str, Any]

    @property
    def session_id(self) -> int:
        number = self.structured["session_id"]
        assert isinstance(number, int)
        return number


class FrontEnd(Protocol):
    """Makes tool calls on one engine, one after the other."""

    def call(self, tool: str, arguments: Any) -> Answer: ...


def environment() -> dict[str, str]:
    """Ours, with the sources on the path wherever the program is started."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


@contextmanager
def started(*arguments: str, **streams: Any) -> Iterator[Program]:
    """`fairlead …` with pipes for what is not given otherwise; killed if it does not end itself."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **streams}
    with subprocess.Popen([*PROGRAM, *arguments], env=environment(), **pipes) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def say(program: Program, message: object) -> None:
    """Send one line."""
    assert program.stdin is not None
    program.stdin.write(json.dumps(message).encode() + b"\n")
    program.stdin.flush()


def hear(program: Program) -> dict[str, Any]:
    """Read one line."""
    assert program.stdout is not None
    heard: dict[str, Any] = json.loads(program.stdout.readline())
    return heard


def finish(program: Program) -> int:
    """Say that nothing more comes; its exit code."""
    assert program.stdin is not None
    program.stdin.close()
    return program.wait(SECONDS)


@dataclass
class OverCli:
    """`fairlead call --stdin`: a line in, a line out."""

    program: Program

    def call(self, tool: str, arguments: Any) -> Answer:
        say(self.program, {"tool": tool, "arguments": arguments})
        told = hear(self.program)
        return Answer(told["content"], told["success"], told["structured"])


INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "0"},
}


@dataclass
class OverMcp:
    """`fairlead mcp` on its pipes. Not through the SDK's client, which sends objects only."""

    program: Program
    number: int = 0

    def open(self) -> None:
        self.ask("initialize", INITIALIZE)
        say(self.program, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        say(self.program, request)
        result: dict[str, Any] = hear(self.program)["result"]
        return result

    def call(self, tool: str, arguments: Any) -> Answer:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        [block] = result["content"]
        structured = result.get("structuredContent", {})
        return Answer(block["text"], not result["isError"], structured)


@contextmanager
def over_cli(cwd: Path) -> Iterator[FrontEnd]:
    with started("call", "--stdin", "--cwd", str(cwd)) as program:
        yield OverCli(program)
        assert finish(program) == 0


@contextmanager
def over_mcp(cwd: Path) -> Iterator[FrontEnd]:
    with started("mcp", "--cwd", str(cwd)) as program:
        front = OverMcp(program)
        front.open()
        yield front
        assert finish(program) == 0


FRONT_ENDS = {"cli": over_cli, "mcp": over_mcp}
