"""Fairlead's three ways to start a confined command: the policy is `workspace-write`, network off.

Each run is checked once: what it starts is confined for real.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.contenders.common import load, require
from benchmarks.operation import Once

LACKS: Mapping[str, str] = {}
OUTSIDE = "/usr/.fairlead-bench"  # writable for root, but not for a command


def _options(workspace: str) -> Any:
    return load("fairlead").Options(cwd=Path(workspace))


def _planned(argv: Sequence[str], workspace: str, *, answers: bool) -> Any:
    """What would be spawned for a call, as the engine makes it."""
    options = _options(workspace)
    confiner = load("fairlead.confining").confiner_for(options, answers=answers)
    params = load("fairlead.model.params").ExecParams(
        call_id="bench", tool="bench", argv=tuple(argv), script=None, cwd=options.cwd
    )
    requirement = load("fairlead.model.requirement")
    because = requirement.RuleRef("benchmark")
    grant = requirement.Grant(
        requirement=requirement.Skip(because), decision="skip", because=str(because)
    )
    planning = load("fairlead.sandbox.plan")
    prepared = planning.Prepared(argv=tuple(argv), env={"PATH": os.environ["PATH"]})
    env = planning.plan(params, grant, confiner, prepared)
    report = env.sandbox
    require(report.tier == "namespaces" and not report.missing, f"not enforced: {report}")
    return env


class _Sink:
    """Takes output to its end and keeps none of it."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.code: int | None = None

    def feed(self, data: memoryview) -> None: ...

    def exited(self, ending: Any, held_open: bool) -> None:
        self.code = ending.code
        self.ended.set()

    def tree_gone(self) -> None: ...

    def denied(self, denial: Any) -> None: ...


@asynccontextmanager
async def zygote(argv: Sequence[str], workspace: str) -> AsyncIterator[Once]:
    """The spawner alone: what an engine does of it besides is left out."""
    spawner = load("fairlead.spawn.choose").local_spawner(load("fairlead.confining").call_denied)

    async def run(env: Any) -> int | None:
        sink = _Sink()
        process = await spawner.spawn(env, sink)
        await sink.ended.wait()
        process.release()
        return sink.code

    try:
        touch = _planned([_touch(), OUTSIDE], workspace, answers=True)
        require(await run(touch) == 1, "the command was not confined")
        env = _planned(argv, workspace, answers=True)

        async def once() -> None:
            code = await run(env)
            require(code == 0, f"ended with {code}")

        yield once
    finally:
        await spawner.close()


@asynccontextmanager
async def engine(argv: Sequence[str], workspace: str) -> AsyncIterator[Once]:
    """A whole tool call: judged, planned, started, its output collected."""
    async with load("fairlead").Engine(_options(workspace)) as fairlead:
        out = await fairlead.call("shell", {"command": [_touch(), OUTSIDE]})
        require(not out.success, "the command was not confined")

        async def once() -> None:
            out = await fairlead.call("shell", {"command": list(argv)})
            require(out.success, f"failed: {out.content}")

        yield once


@asynccontextmanager
async def one_shot(argv: Sequence[str], workspace: str) -> AsyncIterator[Once]:
    """What `fairlead sandbox` does once Python has started and the plan is made: everything is
    set up anew for each command."""
    run = load("fairlead.spawn.foreground").run
    launcher = str(load("fairlead.spawn.launcher").find())
    touch = _planned([_touch(), OUTSIDE], workspace, answers=False)
    require(run(launcher, touch) == 1, "the command was not confined")
    env = _planned(argv, workspace, answers=False)

    async def once() -> None:
        nonlocal env
        try:
            code = run(launcher, env)
        except load("fairlead.model.errors").SandboxFailed:  # a path of the plan is gone
            env = _planned(argv, workspace, answers=False)
            code = run(launcher, env)
        require(code == 0, f"ended with {code}")

    yield once


def _touch() -> str:
    return shutil.which("touch") or "touch"
