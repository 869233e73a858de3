"""A command from its start to its end, confined: it writes in one directory, without a network."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from benchmarks.cases.common import LATENCY, fairlead, program
from benchmarks.figures import latency as figures
from benchmarks.model import Bench, Contender, Pace, Target
from benchmarks.rivals import NOT_INSTALLED, codex_binary, srt_program

TITLE = "confined `true`: workspace-write, network off"
COLUMNS = LATENCY
RATIO_OF = "p50"
SRT_SETTINGS = {
    "network": {"allowedDomains": [], "deniedDomains": []},
    "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
}


def pace(bench: Bench) -> Pace:
    return Pace(batch=8, warm=2, share=2.0)


def contenders(bench: Bench) -> list[Contender]:
    true = program("true")
    workspace = bench.scratch / "workspace"
    workspace.mkdir(exist_ok=True)
    whole = (*fairlead(), "sandbox", "--cwd", str(workspace), "--", true)
    return [
        Contender(name="C vfork+exec+wait", argv=bench.floor("spawn", true), floor=True),
        Contender(name="fairlead Engine, unconfined", argv=_worker("ours", "spawn", argv=[true])),
        _ours("fairlead zygote", "zygote", true, workspace, 1.4),
        _ours("fairlead Engine", "engine", true, workspace, 1.7),
        _ours("fairlead launcher, one-shot", "one_shot", true, workspace, 3.5),
        Contender(name="fairlead sandbox, with Python", argv=bench.floor("spawn", *whole), batch=1),
        *_peers(bench, true, workspace),
    ]


def _ours(name: str, operation: str, true: str, workspace: Path, limit: float) -> Contender:
    return Contender(
        name=name,
        argv=_worker("ours_confined", operation, argv=[true], workspace=str(workspace)),
        targets=(Target("ratio", limit, f"≤ {limit} x floor"),),
    )


def _worker(module: str, operation: str, **arguments: object) -> tuple[str, ...]:
    words = (module, operation, json.dumps(arguments))
    return (sys.executable, "-m", "benchmarks.worker", *words)


def _peers(bench: Bench, true: str, workspace: Path) -> list[Contender]:
    """Started by the C floor, so that each is its own cost and nothing more."""
    settings = bench.scratch / "srt.json"
    settings.write_text(json.dumps(SRT_SETTINGS))
    srt, codex = srt_program(bench.peers), codex_binary(bench.peers)
    srt_argv = (*srt, "-s", str(settings), true) if srt else None
    codex_argv = (codex, "sandbox", "-c", 'sandbox_mode="workspace-write"', "--", true)
    bwrap = shutil.which("bwrap")
    return [
        _peer(bench, "bwrap, by hand", _bwrap(bwrap, true, workspace) if bwrap else None, batch=4),
        _peer(bench, "srt", srt_argv, batch=1),
        _peer(bench, "codex sandbox", codex_argv if codex else None, batch=1),
    ]


def _bwrap(bwrap: str, true: str, workspace: Path) -> tuple[str | None, ...]:
    """What a careful person would write."""
    return (
        *(bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"),
        *("--proc", "/proc", "--bind", str(workspace), str(workspace), "--cap-drop", "ALL"),
        *("--", true),
    )


def _peer(bench: Bench, name: str, argv: tuple[str | None, ...] | None, *, batch: int) -> Contender:
    words = [word for word in argv or () if word is not None]
    missing = None if argv else NOT_INSTALLED
    if not argv and name.startswith("bwrap"):
        missing = "not installed (Debian: apt-get install bubblewrap)"
    started = bench.floor("spawn", *words)
    return Contender(name=name, argv=started, batch=batch, warm=1, missing=missing)


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
