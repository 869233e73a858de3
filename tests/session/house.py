"""Sessions of real processes, or of played ones, without tools around them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fairlead.model.env import ExecEnv
from fairlead.model.limits import Capacity
from fairlead.model.params import ExecParams, Stdin
from fairlead.model.process import Spawner
from fairlead.protecting import Protector
from fairlead.sandbox import none
from fairlead.session.budget import MemoryBudget
from fairlead.session.hub import EventHub
from fairlead.session.session import Session
from fairlead.session.store import SessionStore
from fairlead.spawn.choose import local_spawner
from fairlead.starting import LogLimits, SessionStarter


class House:
    """A spawner, a store and a hub."""

    def __init__(
        self,
        spawner: Spawner | None = None,
        capacity: Capacity | None = None,
        log_bytes: int = 256 << 20,
    ) -> None:
        self.spawner = spawner or local_spawner()
        self.store = SessionStore(capacity or Capacity())
        self.hub = EventHub()
        limits = LogLimits(max_bytes=log_bytes, budget=MemoryBudget())
        protector = Protector("", lambda: None)  # nothing is confined here
        self.starter = SessionStarter(self.spawner, self.store, self.hub, limits, protector)
        self.warnings: tuple[str, ...] = ()

    async def start(self, script: str, **said: Any) -> Session:
        """A session whose command is this script of bash."""
        params, env = request(script, **said)
        session, self.warnings = await self.starter.start(params, env)
        return session

    async def run(self, script: str, **said: Any) -> Session:
        """The same, ended."""
        session = await self.start(script, **said)
        await session.wait_done(60)
        return session

    async def close(self) -> None:
        for session in self.store.everyone():
            await session.end(by="the house was closed")
        await self.spawner.close()
        for session in self.store.everyone():
            session.forget()


@asynccontextmanager
async def house(**said: Any) -> AsyncIterator[House]:
    """A house that is left empty."""
    built = House(**said)
    try:
        yield built
    finally:
        await built.close()


def request(script: str, **said: Any) -> tuple[ExecParams, ExecEnv]:
    """What is asked, and what will be spawned."""
    if said.get("tty"):
        said["stdin"] = Stdin.OPEN
    argv = ("/bin/bash", "-c", script)
    params = ExecParams(call_id="call", tool="test", argv=argv, cwd=Path("/"), **said)
    env = ExecEnv(
        argv=argv,
        cwd=params.cwd,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        sandbox=none.REPORT,
        tty=params.tty,
        stdin=params.stdin,
        timeout=params.timeout,
    )
    return params, env


async def grow_to(session: Session, size: int) -> None:
    """Until the log has so many bytes."""
    while (seen := session.log.size) < size and session.running:
        await session.change(seen)


def is_running(pid: int) -> bool:
    """The kernel has it, and not as a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text[text.rindex(")") + 2] not in "ZX"


def python(source: str) -> str:
    """A script that runs this as a Python program."""
    import shlex
    import sys

    return f"exec {shlex.quote(sys.executable)} -c {shlex.quote(source)}"
