"""Running probes in a tier, and what came of them. `python -m tests.kernel.probes.running TIER`
prints a line of JSON for each: `--part N/M` is every M-th of them, names choose some."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict

from fairlead import Engine, Options
from fairlead.model.access import ApprovalPolicy, Limits, SandboxPolicy
from fairlead.model.frozen import replace
from fairlead.model.sandbox import Host
from fairlead.sandbox.host import Machine
from fairlead.shells.environment import EnvironmentPolicy
from fairlead.spawn import installed, launcher
from tests.kernel.probes import ALL
from tests.kernel.probes.arena import Arena, arena
from tests.kernel.probes.model import Outcome, Probe, judged
from tests.kernel.probes.processes import USED_UP
from tests.kernel.probes.table import TIERS as TIER_NAMES

LIMITS = Limits(
    memory=256 << 20, processes=128, cpu_seconds=1, file_bytes=64 << 20, open_files=1024
)
SHOWN = 300
FAULTS = ("NameError", "SyntaxError", "AttributeError", "TypeError", "IndexError", "ImportError")


def _first(host: Host) -> Host:
    return host


def _second(host: Host) -> Host:
    """As where namespaces are forbidden."""
    return replace(host, user_namespaces=False, mount_namespaces=False)


def _third(host: Host) -> Host:
    """As where the launcher could not be built."""
    launcher.find = lambda: None
    return replace(host, launcher=False, bubblewrap=installed.bubblewrap(), notify=False)


# What each tier makes of a machine that offers everything. The names are in `table.TIERS`.
TIERS: dict[str, Callable[[Host], Host]] = {
    "namespaces": _first,
    "landlock": _second,
    "bubblewrap": _third,
}


def options(ground: Arena, limits: Limits) -> Options:
    """A workspace, the network off, everything else as it is by default."""
    return Options(
        cwd=ground.workspace,
        sandbox=SandboxPolicy.WORKSPACE_WRITE,
        approval=ApprovalPolicy.NEVER,
        limits=limits,
        environment=EnvironmentPolicy(set=ground.variables),
        accept=("all",),
        git_commit=True,
    )


class Runner:
    """One ground and an engine or two. With limits, programs that want much would not be what
    fails, so only the probes of limits run under them."""

    def __init__(self, tier: str, ground: Arena, engines: AsyncExitStack) -> None:
        self.tier = tier
        self.ground = ground
        self._engines = engines
        self._open: dict[bool, Engine] = {}
        ground.fresh_workspace()

    async def run(self, probe: Probe) -> Outcome:
        """Each probe finds the ground as it was."""
        if probe.needs and shutil.which(probe.needs) is None:
            return judged(probe, self.tier, (), f"missing {probe.needs}", "")
        self.ground.remember()
        engine = await self._engine(limited=probe in USED_UP)
        answer = await engine.call(
            "shell", {"command": list(probe.argv), "timeout_ms": 60000, "workdir": "."}
        )
        facts = answer.structured
        code = facts.get("exit_code")
        said = str(facts.get("output", answer.content))[-SHOWN:]
        got = "did not run" if code is None else "worked" if code == 0 else "denied"
        if got == "denied" and any(fault in said for fault in FAULTS):
            got = "broken"
        if facts.get("signal") and probe not in USED_UP:  # it took down more than it should
            got = f"ended by {facts['signal']}"
        changed = self.ground.changes()
        if changed and code is not None:
            got = f"changed {changed[0]}"
        if changed or self.ground.workspace_changed():
            self.ground.restore()
        sandbox = facts.get("sandbox", {})
        if sandbox.get("tier") != self.tier:
            got = f"ran in {sandbox.get('tier')}"
        return judged(probe, self.tier, tuple(sandbox.get("missing", ())), got, said)

    async def _engine(self, *, limited: bool) -> Engine:
        if limited not in self._open:
            engine = Engine(options(self.ground, LIMITS if limited else Limits()))
            self._open[limited] = await self._engines.enter_async_context(engine)
        return self._open[limited]


def _play(machine: Machine, change: Callable[[Host], Host]) -> None:
    """Another machine than it is, also when it looks closely."""
    probe = machine._probe
    machine.host = change(machine.host)
    machine._probe = lambda host: change(probe(host))


async def run_all(tier: str, probes: Sequence[Probe]) -> AsyncIterator[Outcome]:
    """One after the other."""
    from fairlead.confining import machine

    with arena() as ground:
        os.environ["HOME"] = str(ground.home)
        os.environ["XDG_STATE_HOME"] = str(ground.top / "state")
        _play(machine(), TIERS[tier])
        async with AsyncExitStack() as engines:
            runner = Runner(tier, ground, engines)
            for probe in probes:
                yield await runner.run(probe)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tier", choices=TIER_NAMES)
    parser.add_argument("--part", default="0/1", metavar="N/M")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    part, parts = map(int, chosen.part.split("/"))
    probes = [one for one in ALL if not chosen.names or one.name in chosen.names]
    async for outcome in run_all(chosen.tier, probes[part::parts]):
        print(json.dumps(asdict(outcome)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
