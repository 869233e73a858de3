"""Which contender runs under which Python, and how a case enters all of them at once."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.model import Bench, Contender, Target

OURS = "fairlead"
LEFT_OUT = "left out by --quick: its start alone takes seconds"
INTERACTIVE = ("echo", "session_command")
SMALL: Mapping[str, Any] = {"batch": 2, "warm": 1}
NOT_INSTALLED = "not installed (python benchmarks/setup_peers.py)"


@dataclass(frozen=True, slots=True)
class Rival:
    """A module of `contenders/`, and the virtual environment it needs where it is not ours."""

    name: str
    module: str
    needs: str | None = None


RIVALS = (
    Rival(OURS, "ours"),
    Rival("asyncio", "asyncio_subprocess"),
    Rival("subprocess.run", "subprocess_run"),
    Rival("pexpect", "pexpect_spawn", needs="pexpect"),
    Rival("SWE-ReX", "swe_rex", needs="swe-rex"),
    Rival("OpenHands", "openhands", needs="openhands-tools"),
    Rival("openai-agents", "openai_agents", needs="openai-agents"),
    Rival("codex exec-server", "codex_server"),
)
SLOW = {"SWE-ReX", "OpenHands", "openai-agents"}  # to import, and they wait or poll by design


def enter_all(
    bench: Bench,
    operation: str,
    arguments: Mapping[str, Any],
    *,
    targets: tuple[Target, ...] = (),
    gated: bool = False,
) -> list[Contender]:
    """Every rival with this operation; the worker itself says what it lacks."""
    entered = []
    for rival in RIVALS:
        gate = new_gate(bench, f"{rival.module}.gate") if gated else None
        own = {**arguments, **({"gate": str(gate)} if gate else {})}
        entered.append(
            enter(
                bench,
                rival,
                operation,
                own,
                targets=targets if rival.name == OURS else (),
                gate=gate,
                **(SMALL if rival.name in SLOW and operation in INTERACTIVE else {}),
            )
        )
    return entered


def enter(
    bench: Bench,
    rival: Rival,
    operation: str,
    arguments: Mapping[str, Any],
    *,
    name: str | None = None,
    **options: Any,
) -> Contender:
    """One rival with one operation."""
    python, missing = _python_of(rival, bench.peers), None
    if python is None:
        missing = NOT_INSTALLED
    elif bench.quick and rival.name in SLOW:
        missing = LEFT_OUT
    argv = (str(python), "-m", "benchmarks.worker", rival.module, operation)
    return Contender(
        name=name or rival.name,
        argv=(*argv, json.dumps(arguments)),
        missing=missing,
        **options,
    )


def new_gate(bench: Bench, name: str) -> Path:
    """A shut gate: a page of words, the first of them 0."""
    gate = bench.scratch / name
    gate.write_bytes(bytes(4096))
    return gate


def codex_binary(peers: Path) -> str | None:
    """The native program inside the npm package: its node shim would only add to its times."""
    packages = peers / "npm" / "node_modules" / "@openai"
    found = sorted(packages.glob("codex*/vendor/*/bin/codex"))
    return str(found[0]) if found else shutil.which("codex")


def srt_program(peers: Path) -> tuple[str, ...] | None:
    """Anthropic's sandbox-runtime: a script for node."""
    script = peers / "npm" / "node_modules" / ".bin" / "srt"
    found = str(script) if script.exists() else shutil.which("srt")
    node = shutil.which("node")
    return (node, found) if found and node else None


def _python_of(rival: Rival, peers: Path) -> Path | None:
    if rival.needs is None:
        return Path(sys.executable)
    python = peers / rival.needs / "bin" / "python"
    return python if python.exists() else None


def versions(peers: Path) -> list[str]:
    """The release of each installed peer."""
    found = []
    for name in sorted({rival.needs for rival in RIVALS if rival.needs}):
        told = peers.glob(f"{name}/lib/python*/site-packages/{name.replace('-', '_')}-*.dist-info")
        found += [path.name.removesuffix(".dist-info").replace("-", " ") for path in told]
    for name, package in (("codex", "@openai/codex"), ("srt", "@anthropic-ai/sandbox-runtime")):
        manifest = peers / "npm" / "node_modules" / package / "package.json"
        if manifest.exists():
            found.append(f"{name} {json.loads(manifest.read_text())['version']}")
    return found
