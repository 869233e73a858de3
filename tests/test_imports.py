"""Imports point one way, and the light paths stay light."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "fairlead"
ROOT_PART = "fairlead"  # `import fairlead` itself: its __init__ offers the Python API

STAGES = ("shells", "patch", "policy", "approval", "sandbox", "spawn", "session", "protect")
ON_THE_WAY = ("shells", "policy", "approval", "sandbox", "session")  # what the plot itself names

# Exactly what each part imports: no more than it may, and no leave that nobody uses.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "model": (),
    **dict.fromkeys(STAGES, ("model",)),
    "config": ("model", "shells"),
    "confining": ("model", "protect", "sandbox", "spawn", "config"),
    # Parts of the plot that fill a page of their own.
    "login": ("model", "sandbox", "shells"),
    "protecting": ("model", "protect", "session"),
    "starting": ("model", "session", "protecting"),
    "orchestrator": ("model", *ON_THE_WAY, "login", "protecting", "starting"),
    "live": ("model", "session", "shells", "spawn", "orchestrator"),
    "tools": ("model", "patch", "session", "shells", "orchestrator", "live"),
    "typed": ("tools",),
    "assemble": (
        *("model", "approval", "sandbox", "session", "shells", "spawn", "config"),
        *("confining", "login", "protecting", "starting", "orchestrator", "live", "tools"),
    ),
    "engine": ("model", "session", "config", "assemble", "tools", "typed"),
    "sync": ("model", "config", "tools", "engine"),
    ROOT_PART: ("config", "engine", "sync"),
    "testing": ("model",),
    "mcp": ("model", "tools"),
    # `fairlead run` goes the stages itself, without an event loop.
    "cli": (
        *("model", "approval", "policy", "protect", "sandbox", "shells", "spawn", "config"),
        *("confining", "tools", "engine", "mcp", ROOT_PART),
    ),
    "__main__": ("cli",),
}

HEAVY = frozenset(
    {"asyncio", "mcp", "pydantic", "tree_sitter", "tree_sitter_bash", "tree_sitter_powershell"}
)
WEB = frozenset({"mcp", "starlette", "uvicorn", "pydantic", "anyio"})
A_PART = re.compile(r"fairlead\.(\w+)(\.\w+)*")


def modules() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


def part_of(path: Path) -> str:
    """The package below `fairlead`, or the module at its top, that a file belongs to."""
    first = path.relative_to(SRC).parts[0].removesuffix(".py")
    return ROOT_PART if first == "__init__" else first


def dotted(path: Path) -> str:
    return ".".join(("fairlead", *path.relative_to(SRC).with_suffix("").parts))


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Every module that the source names: anywhere in it, and as a string for a late import."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                base = absolute(node, package)
                yield from (f"{base}.{alias.name}" for alias in node.names)
            case ast.Constant(value=str(text)) if names_a_part(text):
                yield text


def names_a_part(text: str) -> bool:
    found = A_PART.fullmatch(text)
    return found is not None and found[1] in MAY_IMPORT


def absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".")[: -node.level]
    return ".".join((*parents, node.module) if node.module else parents)


def part_named(name: str) -> str | None:
    """The part of Fairlead that an imported name leads to; None for what is not ours."""
    first, _, rest = name.partition(".")
    if first != "fairlead":
        return None
    part = rest.split(".")[0]
    return part if part in MAY_IMPORT else ROOT_PART


def wrong_imports(source: str, path: Path) -> list[str]:
    part = part_of(path)
    allowed = {part, *MAY_IMPORT[part]}
    names = imported(ast.parse(source), dotted(path))
    return [name for name in names if (to := part_named(name)) is not None and to not in allowed]


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_point_one_way(path: Path) -> None:
    """A module imports only what lies below it, and a stage never another stage."""
    assert part_of(path) in MAY_IMPORT, "a new part: give it its place in MAY_IMPORT"
    assert wrong_imports(path.read_text(), path) == []


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_no_leave_is_unused(part: str) -> None:
    """What the table allows a part is what its modules import."""
    paths = [path for path in modules() if part_of(path) == part]
    assert paths, "the part is gone: take its row out of MAY_IMPORT"
    used = {
        to
        for path in paths
        for name in imported(ast.parse(path.read_text()), dotted(path))
        if (to := part_named(name)) is not None
    }
    assert set(MAY_IMPORT[part]) - used == set()


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("policy/judge.py", "from fairlead.spawn.local import LocalSpawner"),
        ("policy/judge.py", "import fairlead.spawn"),
        ("policy/judge.py", "from fairlead import spawn"),
        ("policy/judge.py", "from ..spawn import local"),
        ("policy/judge.py", "def f():\n    from fairlead.spawn import local"),
        ("policy/judge.py", "if TYPE_CHECKING:\n    from fairlead.spawn import local"),
        ("policy/judge.py", "import_module('fairlead.spawn.local')"),
        ("model/env.py", "from fairlead.policy import judge"),
        ("session/store.py", "from fairlead import SyncEngine"),
        ("tools/shell.py", "from fairlead.cli import main"),
        ("mcp/server.py", "from fairlead.cli import main"),
    ],
)
def test_a_wrong_import_is_seen(place: str, source: str) -> None:
    """However it is written, an import in the wrong direction is found."""
    assert len(wrong_imports(source, SRC / place)) == 1


def test_only_the_mcp_front_end_imports_mcp() -> None:
    """The MCP SDK is heavy, so nothing but fairlead/mcp names it."""
    users = {
        dotted(path)
        for path in modules()
        for name in imported(ast.parse(path.read_text()), dotted(path))
        if name.split(".")[0] == "mcp"
    }
    assert users, "the MCP front end should be here"
    assert all(user.startswith("fairlead.mcp.") for user in users)


ASYNCIO_STARTS = {"create_subprocess_exec", "create_subprocess_shell"}


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_no_module_starts_processes_the_wrong_way(path: Path) -> None:
    """No asyncio subprocess, no preexec_fn, no shell=True, no os.system, in any module."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in ASYNCIO_STARTS:
                found.append(name)
            case ast.Attribute(value=ast.Name(id="os"), attr="system" | "popen" as name):
                found.append(f"os.{name}")
            case ast.keyword(arg="preexec_fn", value=ast.Constant(value=value)) if value:
                found.append("preexec_fn")
            case ast.keyword(arg="shell", value=ast.Constant(value=True)):
                found.append("shell=True")
    assert found == []


def loaded_by(statement: str) -> frozenset[str]:
    """The top-level modules that a fresh interpreter holds after a statement."""
    script = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return frozenset(name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1]))


def test_import_fairlead_is_light() -> None:
    """`import fairlead` loads neither asyncio nor a heavy library."""
    assert loaded_by("import fairlead") & HEAVY == frozenset()


@pytest.mark.parametrize("module", ["fairlead.cli.main", "fairlead.cli.run"])
def test_the_run_command_is_light(module: str) -> None:
    """`fairlead run` loads no asyncio and nothing of MCP or the web."""
    assert loaded_by(f"import {module}") & (HEAVY | WEB) == frozenset()


def test_a_whole_run_stays_light() -> None:
    """Running a command with `fairlead run`, start to end, loads no asyncio, MCP or web code."""
    argv = [sys.executable, "-X", "importtime", "-m", "fairlead", "run", "--", "true"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    rows = [line.rpartition("|")[2] for line in done.stderr.splitlines() if "|" in line]
    loaded = {row.strip().split(".")[0] for row in rows}
    assert "fairlead" in loaded
    assert loaded & (HEAVY | WEB) == set()


def test_import_fairlead_is_quick() -> None:
    """`import fairlead` costs at most 80 ms over a bare start, and the public names are there."""
    bare = best_of(5, "pass")
    assert best_of(5, "import fairlead") - bare <= 0.080
    assert loaded_by("from fairlead import Engine, SyncEngine") >= {"fairlead"}


def best_of(times: int, statement: str) -> float:
    """The least disturbed of a few runs: other load only ever adds time."""
    return min(seconds(statement) for _ in range(times))


def seconds(statement: str) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=dict(os.environ))
    return time.perf_counter() - begun
