"""Thousands of commands leave nothing behind, and failures neither."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.model.errors import Bug
from fairlead.spawn.local import LocalSpawner
from tests.spawn.running import (
    OPEN,
    Output,
    command,
    eventually,
    open_descriptors,
    run,
    script,
    start,
)

ROOT = Path(__file__).parents[2]

MANY = """
import asyncio, gc, json, os, sys, threading
from tests.spawn.conftest import MAKERS
from tests.spawn.running import Output, command
from tests.conftest import children

async def batch(spawner, count):
    room = asyncio.Semaphore(32)
    async def one(at):
        async with room:
            output = Output()
            env = command("/bin/true", tty=at % 10 == 9, stdin="open" if at % 2 else "null")
            process = await spawner.spawn(env, output)
            process.awaited(at % 3 != 0)
            assert (await process.wait()).code == 0
            await output.until(lambda: output.gone)
    for begin in range(0, count, 500):
        await asyncio.gather(*map(one, range(begin, min(begin + 500, count))))

async def drained(spawner):
    # So that the thread is there which reads what nobody awaits.
    output = Output()
    process = await spawner.spawn(command("cat", stdin="open"), output)
    process.awaited(False)
    process.close_stdin()
    await output.until(lambda: output.gone)

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def state():
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(children())

async def settled(expected):
    for _ in range(1000):
        if state() == expected:
            break
        await asyncio.sleep(0.01)
    return state()

async def main(which, count):
    spawner = MAKERS[which]()
    at_first = state()
    await drained(spawner)
    await batch(spawner, count // 5)
    warm, memory = state(), resident()
    await batch(spawner, count)
    found = {"warm": warm, "after": await settled(warm), "growth": resident() - memory}
    await spawner.close()
    found["first"], found["closed"] = at_first, state()
    print(json.dumps(found))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("which", "count"), [("local", 10_000), ("confined", 2000), ("bare", 1000)]
)
def test_thousands_of_spawns_leave_nothing(which: str, count: int) -> None:
    """No zombie, no descriptor, no thread, and no growth of memory."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    argv = [sys.executable, "-c", MANY, which, str(count)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["after"] == found["warm"]
    assert found["growth"] < 4 << 20
    descriptors, threads, children = found["first"]
    # Selector and self-pipe of the loop may come and go, nothing of ours may stay.
    assert found["closed"] == [descriptors, threads, children]


@pytest.mark.parametrize("fields", [{}, OPEN, {"tty": True}], ids=["null", "open", "tty"])
async def test_each_command_gives_its_descriptors_back(
    guarded: LocalSpawner, fields: dict[str, object]
) -> None:
    """Once a tree is gone nothing of it is open, whatever became of its input."""
    for _ in range(3):  # so that what is made once has been made
        await run(guarded, command("true"))
    before = len(open_descriptors())
    several = [await start(guarded, script("sleep 0.01 & cat /dev/null", **fields))] * 8
    for running in several:
        await running.ended()
        await running.all_gone()
    await eventually(lambda: len(open_descriptors()) <= before)


async def test_a_launcher_that_says_nothing_is_a_bug(tmp_path: Path) -> None:
    """Some other program in its place is found out, and nothing leaks."""
    before = len(open_descriptors())
    spawner = LocalSpawner("/bin/true")
    output = Output()
    with pytest.raises(Bug, match="ended without a word"):
        await spawner.spawn(command("true"), output)
    await spawner.close()
    assert output.ending is None
    await eventually(lambda: len(open_descriptors()) <= before)


async def test_a_spawner_can_be_closed_twice_and_used_again(guarded: LocalSpawner) -> None:
    """Close is no end for good: an engine may be opened again."""
    for _ in range(3):
        assert (await run(guarded, script("exit 3"))).ending is not None
        await guarded.close()
        await guarded.close()


async def test_everybody_who_waits_is_told(guarded: LocalSpawner) -> None:
    """wait may be called often, before and after the end, and being cancelled harms nobody."""
    running = await start(guarded, command("cat", **OPEN))
    waiters = [asyncio.create_task(running.process.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    waiters[0].cancel()
    running.process.close_stdin()
    endings = [await waiters[1], await waiters[2], await running.ended()]
    assert {ending.code for ending in endings} == {0}
    assert waiters[0].cancelled()
