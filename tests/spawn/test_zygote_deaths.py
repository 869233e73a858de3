"""Whoever is killed, and whenever: endings are honest, nothing survives, the next command runs."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from fairlead.model.errors import SpawnFailed
from fairlead.spawn import tree
from fairlead.spawn.zygote import Zygote
from tests.spawn.confined import ConfiningSpawner, confinement
from tests.spawn.running import (
    TTY,
    Output,
    Running,
    eventually,
    eventually_sync,
    is_running,
    run,
    script,
    start,
)

ESCAPING = "setsid sh -c 'setsid sleep 1000 & exec env -i sleep 1000' & echo up; exec sleep 1000"


@pytest.fixture
async def confined() -> AsyncIterator[ConfiningSpawner]:
    found = ConfiningSpawner()
    yield found
    await found.close()


def the_zygote(spawner: ConfiningSpawner) -> Zygote:
    (found,) = spawner._zygotes._all
    return found


def inside(zygote: Zygote) -> list[int]:
    """The first process inside, then guards, commands and theirs."""
    return tree.descendants(zygote.process)


def guards(zygote: Zygote) -> list[int]:
    return tree.children(inside(zygote)[0])


Choice = Callable[[Zygote], int]
VICTIMS: dict[str, Choice] = {
    "outside": lambda zygote: zygote.process,
    "first": lambda zygote: inside(zygote)[0],
    "guard": lambda zygote: random.choice(guards(zygote)),
    "anybody": lambda zygote: random.choice([zygote.process, *inside(zygote)]),
}


async def attempt(spawner: ConfiningSpawner, *, tty: bool) -> Running | None:
    """A command, or an honest word that nothing ran."""
    try:
        return await start(spawner, script(ESCAPING, tty=tty))
    except SpawnFailed:
        return None


@pytest.mark.parametrize("victim", VICTIMS)
async def test_killed_at_random_moments(confined: ConfiningSpawner, victim: str) -> None:
    """Fifteen times each: who was started ends by a signal that is told, who was not says so."""
    for turn in range(15):
        starting = [asyncio.create_task(attempt(confined, tty=n % 2 == 1)) for n in range(4)]
        await asyncio.sleep(random.random() * 0.02)
        if not confined._zygotes._all:
            await asyncio.gather(*starting)
        zygote = the_zygote(confined)
        await eventually(lambda zygote=zygote: len(inside(zygote)) > 1)  # type: ignore[misc]
        everybody = [zygote.process, *inside(zygote)]
        try:
            os.kill(VICTIMS[victim](zygote), signal.SIGKILL)
        except ProcessLookupError:
            pass
        several = [one for one in await asyncio.gather(*starting) if one is not None]
        # Some live on: it was a guard or a command, or they began in the next zygote.
        await asyncio.gather(*(one.process.end_tree(0.0) for one in several))
        for one in several:
            ending = await one.ended()
            assert ending.signal in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL)
            await one.all_gone()
        assert (await run(confined, script(f"echo {turn}"))).data == b"%d\n" % turn
        left = partial(still_runs, everybody, confined)
        await eventually(lambda left=left: not left())  # type: ignore[misc]


def still_runs(pids: list[int], spawner: ConfiningSpawner) -> list[int]:
    """But for those of a zygote that lives: itself, its first process, a guard that waits."""
    kept = {pid for one in spawner._zygotes._all for pid in (one.process, *inside(one))}
    waiting = {pid for pid in kept if tree.name(pid).startswith("fairlead-")}
    return [pid for pid in pids if is_running(pid) and pid not in waiting]


async def test_a_killed_guards_escapees_are_ended(confined: ConfiningSpawner) -> None:
    """Nobody is left to answer for them, and their neighbour is left alone."""
    neighbour = await start(confined, script(ESCAPING))
    await neighbour.output.shows(b"up")
    await eventually(lambda: len(neighbour.process.descendants()) == 3)
    kept = neighbour.process.descendants()
    running = await start(confined, script(ESCAPING))
    await eventually(lambda: len(running.process.descendants()) == 3)
    mine = running.process.descendants()
    os.kill(running.process.guard, signal.SIGKILL)  # type: ignore[union-attr]
    ending = await running.ended()
    assert (ending.code, ending.signal) == (137, signal.SIGKILL)
    await running.all_gone()
    await eventually(lambda: not any(map(is_running, mine)))
    assert neighbour.process.descendants() == kept
    assert neighbour.output.ending is None
    await neighbour.process.end_tree(0.0)


async def test_a_killed_spare_is_not_missed(confined: ConfiningSpawner) -> None:
    """The guard that waits for the next command is gone: another is forked."""
    for turn in range(10):
        running = await start(confined, script(f"exit {turn}"))
        assert (await running.ended()).code == turn
        zygote = the_zygote(confined)
        spares = partial(others, zygote, running.process.guard)  # type: ignore[union-attr]
        await eventually(spares)
        spare = spares()
        os.kill(spare[0], signal.SIGKILL)
        await eventually(lambda spare=spare: not is_running(spare[0]))  # type: ignore[misc]
    assert (await run(confined, script("echo on"))).data == b"on\n"
    assert the_zygote(confined) is zygote


def others(zygote: Zygote, guard: int) -> list[int]:
    return [pid for pid in guards(zygote) if pid != guard]


@pytest.mark.parametrize("fields", [{}, TTY], ids=["pipe", "tty"])
async def test_a_stopped_guard_is_no_shelter(
    confined: ConfiningSpawner, fields: dict[str, bool]
) -> None:
    """Stopped by somebody outside, it is woken: to report an end, and to end its tree."""
    quick = await start(confined, script("echo up; read x; exit 3", stdin="open", **fields))
    await quick.output.shows(b"up")
    os.kill(quick.process.guard, signal.SIGSTOP)  # type: ignore[union-attr]
    quick.process.write(b"\n")
    assert (await quick.ended()).code == 3
    stubborn = await start(confined, script(f"trap '' TERM HUP; {ESCAPING}", **fields))
    await stubborn.output.shows(b"up")
    os.kill(stubborn.process.guard, signal.SIGSTOP)  # type: ignore[union-attr]
    assert await stubborn.process.end_tree(0.05) == ()
    assert (await stubborn.ended()).signal == signal.SIGKILL


async def test_a_stopped_zygote_still_ends(confined: ConfiningSpawner) -> None:
    """What runs inside does not depend on it, and closing ends even one that is stopped."""
    running = await start(confined, script("echo up; read x; exit 4", stdin="open"))
    await running.output.shows(b"up")
    zygote = the_zygote(confined)
    pids = [zygote.process, *inside(zygote)]
    for pid in pids[:2]:
        os.kill(pid, signal.SIGSTOP)
    running.process.write(b"\n")
    assert (await running.ended()).code == 4
    await confined.close()
    assert not any(map(is_running, pids))


async def test_a_confinement_that_changes_all_the_time(confined: ConfiningSpawner) -> None:
    """Commands that were begun in an old one end there, each in its time; one is left."""
    running: list[Running] = []
    seen = set[bytes]()
    for number in range(12):
        confined.confinement = confinement()
        text = f"readlink /proc/self/ns/mnt; read x; exit {number}"
        running.append(await start(confined, script(text, stdin="open")))
        await running[-1].output.shows(b"]")
        seen.add(bytes(running[-1].output.data))
    assert len(seen) == 12
    assert len(confined._zygotes._all) == 12
    random.shuffle(running)
    for left, one in enumerate(running):
        assert len(confined._zygotes._all) >= min(12 - left, 12) - 1
        one.process.close_stdin()
    assert {(await one.ended()).code for one in running} == set(range(12))
    await eventually(lambda: len(confined._zygotes._all) == 1)


async def test_released_while_commands_run(confined: ConfiningSpawner) -> None:
    """The agent is gone, its last commands end as they like, and then there is nothing left."""
    several = [await start(confined, script("read x; exit 6", stdin="open")) for _ in range(3)]
    pids = [one.process.pid for one in several]
    confined.release("default")
    assert all(map(is_running, pids))
    for one in several:
        one.process.close_stdin()
        assert (await one.ended()).code == 6
        await one.all_gone()
    await eventually(lambda: not confined._zygotes._all)


async def test_closed_while_commands_start(confined: ConfiningSpawner) -> None:
    """Some run already, some are on their way: all are gone when it returns."""
    for _ in range(10):
        starting = [
            asyncio.create_task(confined.spawn(script(ESCAPING), Output())) for _ in range(6)
        ]
        await asyncio.sleep(random.random() * 0.01)
        ours = set(tree.children(os.getpid()))
        await confined.close()
        done = await asyncio.gather(*starting, return_exceptions=True)
        for one in done:
            if not isinstance(one, BaseException):
                assert await one.end_tree(0.0) == ()
        await confined.close()
        await eventually(lambda ours=ours: not any(map(is_running, ours)))  # type: ignore[misc]


ENGINE = """
import asyncio, random
from tests.spawn.confined import ConfiningSpawner
from tests.spawn.running import script, start
async def main():
    spawner = ConfiningSpawner()
    text = "setsid sh -c 'setsid sleep 1000 & exec sleep 1000' & exec sleep 1000"
    print("up", flush=True)
    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(start(spawner, script(text, tty=number % 2 == 1)))
    await asyncio.sleep(1000)
asyncio.run(main())
"""


def test_an_engine_killed_at_random_moments_leaves_nobody() -> None:
    """While it starts the zygote, while that starts commands, and after."""
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    for turn in range(10):
        argv = [sys.executable, "-c", ENGINE]
        with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as engine:
            assert engine.stdout is not None
            assert engine.stdout.readline() == b"up\n"
            wanted = 3 * turn  # processes: a moment that a slow machine has too
            eventually_sync(partial(has_grown, engine.pid, wanted))
            pids = tree.descendants(engine.pid)
            engine.kill()
        eventually_sync(partial(none_runs, pids))


def has_grown(pid: int, wanted: int) -> bool:
    return len(tree.descendants(pid)) >= wanted


def none_runs(pids: list[int]) -> bool:
    return not any(map(is_running, pids))
