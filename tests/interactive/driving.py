"""Typing into a session and waiting for what it shows, through the tools alone."""

from __future__ import annotations

import re
from typing import Any

from fairlead import Engine
from fairlead.tools.model import ToolOutput

LONG_MS = 30_000  # nothing takes so long unless it hangs
# The user's own history and prompt are nobody's business.
BARE = {"HISTFILE": "", "PS1": "ready> ", "HOME": "."}


class Terminal:
    """A running session. Everything it says is kept, in order, in `seen`."""

    def __init__(self, engine: Engine, session_id: int) -> None:
        self.engine = engine
        self.session_id = session_id
        self.seen = ""
        self.last: ToolOutput | None = None
        self._looked_at = 0

    @classmethod
    async def start(cls, engine: Engine, cmd: list[str] | str, **more: Any) -> Terminal:
        """Run a program on a terminal until it wants input."""
        asked = {"cmd": cmd, "tty": True, "login": False, "env": BARE, "yield_time_ms": LONG_MS}
        answer = await engine.call("exec_command", {**asked, **more})
        assert answer.structured["status"] == "running", answer.content
        terminal = cls(engine, answer.structured["session_id"])
        terminal._heard(answer)
        return terminal

    async def type(self, chars: str, **more: Any) -> ToolOutput:
        """Type, and stay until it wants more input, or ends."""
        given = {"chars": chars, "yield_time_ms": LONG_MS, **more}
        return await self._call("write_stdin", given)

    async def until(self, pattern: str) -> str:
        """All that comes up to a match of `pattern`, and not what earlier waits have returned."""
        while (found := re.search(pattern, self.seen[self._looked_at :])) is None:
            answer = await self._call("wait_for", {"bytes": 1, "timeout_ms": LONG_MS})
            assert answer.structured["met"] == "bytes", (pattern, self.seen, answer.content)
        begin, self._looked_at = self._looked_at, self._looked_at + found.end()
        return self.seen[begin : self._looked_at]

    async def wants_input(self) -> bool:
        """Whether the kernel shows it waiting for input, once it is quiet. A program that is busy
        is given another chance or two."""
        for _ in range(20):
            answer = await self._call("wait_for", {"quiet_ms": 100, "timeout_ms": LONG_MS})
            if answer.structured.get("waiting_for_input"):
                return True
        return False

    async def end(self) -> ToolOutput:
        """The answer that tells how it ended."""
        while self.last is None or self.last.structured["status"] == "running":
            await self._call("wait_for", {"exit": True, "timeout_ms": LONG_MS})
        return self.last

    async def _call(self, tool: str, given: dict[str, Any]) -> ToolOutput:
        answer = await self.engine.call(tool, {"session_id": self.session_id, **given})
        self._heard(answer)
        return answer

    def _heard(self, answer: ToolOutput) -> None:
        assert "error" not in answer.structured, answer.content
        self.seen += answer.structured["output"]
        self.last = answer
