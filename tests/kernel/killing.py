"""An engine that is killed with all that it started, again and again, and what that leaves behind.
`python -m tests.kernel.killing TREE POLICY TIMES SEED` prints what differs, as JSON."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from fairlead import Engine, Options
from fairlead.model.access import SandboxPolicy

SUBREAPER = 36
LONGEST = 0.3  # seconds: some are killed before the first command runs, most while commands run
PATIENCE = 30.0
Facts = dict[str, tuple[object, ...]]


def snapshot(top: Path) -> Facts:
    """Every name, with all that the file system says of it but the time of the last access."""
    found: Facts = {}
    for path in (top, *sorted(top.rglob("*"))):
        at = path.lstat()
        facts = (at.st_ino, at.st_mode, at.st_uid, at.st_nlink, at.st_size, at.st_mtime_ns)
        said: object = None
        if path.is_symlink():
            said = str(path.readlink())
        elif path.is_file():
            said = path.read_bytes().hex()
        found[str(path.relative_to(top))] = (*facts, at.st_ctime_ns, said)
    return found


def mounts_below(top: Path) -> list[str]:
    rows = Path("/proc/self/mountinfo").read_text().splitlines()
    return [row for row in rows if row.split()[4].startswith(str(top))]


async def run_commands(top: Path, policy: SandboxPolicy) -> None:
    """Without end."""
    script = "echo 1 > out; mkdir -p .claude .git/hooks; git init -q . ; git status; true"
    options = Options(cwd=top, sandbox=policy, exclude_slash_tmp=True, exclude_tmpdir=True)
    async with Engine(options) as engine:
        while True:
            for argv in (["true"], ["sh", "-c", script if policy == "read-only" else "echo > out"]):
                await engine.call("shell", {"command": argv})


def started(top: Path, policy: SandboxPolicy) -> int:
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(run_commands(top, policy))
        finally:
            os._exit(1)
    return child


def descendants() -> list[int]:
    """Of ours, who inherit every orphan."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path("/proc", name, "stat").read_text()
            except OSError:
                continue
            parents[int(name)] = int(stat.rpartition(")")[2].split()[1])
    found: list[int] = []
    for pid in parents:
        at = pid
        while at in parents and at != os.getpid():
            at = parents[at]
        if at == os.getpid() and pid != at:
            found.append(pid)
    return found


def kill_all(chance: random.Random) -> None:
    """In any order, until nobody is left."""
    until = time.monotonic() + PATIENCE
    while living := descendants():
        assert time.monotonic() < until, f"still there: {living}"
        chance.shuffle(living)
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


def main(top: Path, policy: SandboxPolicy, times: int, seed: int) -> None:
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    chance = random.Random(seed)
    before = snapshot(top)
    left: list[list[str]] = []
    mounted: list[str] = []
    for _ in range(times):
        started(top, policy)
        time.sleep(chance.uniform(0, LONGEST))
        kill_all(chance)
        after = snapshot(top)
        if after != before:
            names = {*before, *after}
            left.append(sorted(n for n in names if before.get(n) != after.get(n)))
        mounted += mounts_below(top)
    print(json.dumps({"times": times, "left": left, "mounted": mounted}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), SandboxPolicy(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
