"""An engine that runs nothing: it knows a handful of commands and plays what they would do."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlead.model.event import Chunk, Event
from fairlead.tools.model import Annotations, Family, ToolOutput, ToolSpec

# Real shell commands, so that the same conversations can be had with the real engine.
HELLO = "echo hello"
FOREVER = "sleep 86400"
TICKING = 'for i in 1 2 3 4 5 6 7 8; do echo "tick $i"; sleep 0.25; done'
FAILING = "exit 3"
RAISING = "raise"  # only here: a mistake of the engine's own

TICKS = 8
TICK = 0.25

OUTPUT_SCHEMA = {
    "type": "object",
    "properties": {"status": {"type": "string"}, "output": {"type": "string"}},
    "required": ["status"],
}


def spec(name: str, properties: dict[str, Any], *, read_only: bool) -> ToolSpec:
    return ToolSpec(
        name=name,
        title=name.replace("_", " ").title(),
        description=f"The tool {name}.",
        input_schema={
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
        },
        output_schema=OUTPUT_SCHEMA,
        annotations=Annotations(
            read_only=read_only, destructive=not read_only, idempotent=read_only, open_world=True
        ),
        family=Family.COMPANION if read_only else Family.FIRST,
    )


SPECS = (
    spec(
        "exec_command",
        {"cmd": {"type": "string"}, "yield_time_ms": {"type": "number"}},
        read_only=False,
    ),
    spec("list_sessions", {}, read_only=True),
    spec("read_output", {"session_id": {"type": ["number", "string"]}}, read_only=True),
)


class FakeRegistry:
    def specs(self, family: str = "all") -> tuple[ToolSpec, ...]:
        return SPECS if family != "openclaw" else ()


@dataclass
class FakeSession:
    agent: str
    command: str
    output: str
    status: str


@dataclass
class FakeEngine:
    """Notes what happens to it in `journal`, and in the file that FAKE_JOURNAL names."""

    journal: list[str] = field(default_factory=list)
    kept: dict[int, FakeSession] = field(default_factory=dict)
    tools: FakeRegistry = field(default_factory=FakeRegistry)
    surroundings: str = "Commands are played."
    noted: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def __aenter__(self) -> FakeEngine:
        await self.note("opened")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.note("closed")

    async def note(self, what: str) -> None:
        self.journal.append(what)
        if path := os.environ.get("FAKE_JOURNAL"):
            with open(path, "a") as file:
                file.write(what + "\n")
        async with self.noted:
            self.noted.notify_all()

    async def until(self, what: str) -> None:
        """Return when something that begins so has been noted."""
        async with asyncio.timeout(10), self.noted:
            await self.noted.wait_for(lambda: any(n.startswith(what) for n in self.journal))

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | None,
        *,
        call_id: str | None = None,
        agent: str = "default",
        on_event: Callable[[Event], None] | None = None,
    ) -> ToolOutput:
        known = {spec.name: spec for spec in SPECS}
        if tool not in known:
            return refusal(f"unknown tool {tool!r}: there are {', '.join(known)}")
        untrusted = json.loads(arguments) if isinstance(arguments, str) else arguments or {}
        if not isinstance(untrusted, dict):
            return refusal(f"{tool}: arguments must be an object")
        for name in untrusted.keys() - known[tool].input_schema["properties"].keys():
            return refusal(f"{tool}: unknown field {name!r}")
        handler = getattr(self, tool)
        result: ToolOutput = await handler(untrusted, agent, on_event or (lambda event: None))
        return result

    async def exec_command(
        self, arguments: dict[str, Any], agent: str, on_event: Callable[[Event], None]
    ) -> ToolOutput:
        match arguments:
            case {"cmd": str(cmd)} if cmd.startswith("echo "):
                text = cmd.removeprefix("echo ") + "\n"
                return self.keep(agent, cmd, text, "completed")
            case {"cmd": "exit 3"}:
                return self.keep(agent, FAILING, "", "failed")
            case {"cmd": "raise"}:
                raise RuntimeError("a secret of the engine")
            case {"cmd": str(cmd)} if cmd == TICKING:
                return await self.tick(agent, on_event)
            case {"cmd": str(cmd), "yield_time_ms": int()} if cmd == FOREVER:
                return self.keep(agent, cmd, "", "running")
            case {"cmd": str(cmd)} if cmd == FOREVER:
                return await self.wait_for_ever(agent)
        return refusal("exec_command: cmd: a string is required")

    async def tick(self, agent: str, on_event: Callable[[Event], None]) -> ToolOutput:
        text = ""
        for number in range(1, TICKS + 1):
            line = f"tick {number}\n"
            data = line.encode()
            on_event(Chunk(call_id="c", session_id=1, offset=len(text), data=data))
            text += line
            await asyncio.sleep(TICK)
        return self.keep(agent, TICKING, text, "completed")

    async def wait_for_ever(self, agent: str) -> ToolOutput:
        session = self.kept[self.remember(agent, FOREVER, "", "running")]
        await self.note(f"started for {agent}")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            # Ending a process tree takes a few turns of the loop, each of which an
            # impatient canceller could interrupt.
            for _ in range(5):
                await asyncio.sleep(0.01)
            session.status = "failed"
            await self.note("tree ended")
            raise
        raise AssertionError("unreachable")

    async def list_sessions(self, arguments: object, agent: str, _: object) -> ToolOutput:
        known = self.sessions(agent)
        text = "\n".join(str(info) for info in known)
        return ToolOutput(
            content=text, success=True, structured={"status": "completed", "sessions": known}
        )

    async def read_output(self, arguments: dict[str, Any], agent: str, _: object) -> ToolOutput:
        session_id = arguments.get("session_id")
        session = self.kept.get(session_id) if isinstance(session_id, int) else None
        if session is None or session.agent != agent:
            return refusal(f"read_output: no session {session_id}")
        return answer(session.output, session.output, True, session.status)

    def keep(self, agent: str, command: str, text: str, status: str) -> ToolOutput:
        session_id = self.remember(agent, command, text, status)
        content = f"Session {session_id}\nOutput:\n{text}"
        return answer(content, text, status != "failed", status, session_id)

    def remember(self, agent: str, command: str, text: str, status: str) -> int:
        session_id = random.randint(1000, 99999)
        self.kept[session_id] = FakeSession(agent, command, text, status)
        return session_id

    def sessions(self, agent: str) -> list[dict[str, Any]]:
        return [
            {"session_id": number, "command": session.command, "state": session.status}
            for number, session in self.kept.items()
            if session.agent == agent
        ]

    async def end_agent(self, agent: str) -> None:
        self.kept = {n: session for n, session in self.kept.items() if session.agent != agent}
        await self.note(f"ended {agent}")


def answer(
    content: str, output: str, success: bool, status: str, session_id: int | None = None
) -> ToolOutput:
    facts = {"status": status, "output": output, "session_id": session_id}
    present = {name: fact for name, fact in facts.items() if fact is not None}
    return ToolOutput(content=content, success=success, structured=present)


def refusal(text: str) -> ToolOutput:
    return ToolOutput(content=text, success=False, structured={})
