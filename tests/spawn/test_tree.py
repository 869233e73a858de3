"""Every process of a command is ended, however it tried to get away."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from fairlead.model.process import Whom
from fairlead.spawn import tree
from fairlead.spawn.local import LocalSpawner
from tests.spawn.running import (
    PATH,
    AnySpawner,
    Output,
    command,
    eventually,
    eventually_sync,
    is_running,
    outside,
    python,
    run,
    script,
    start,
)

# Forks twice, leaves the session, clears its environment and directory, and ignores every signal.
# The command ends when the daemon is all that: the pipe between them is closed by its exec.
DAEMON = """
import os, signal
waited, held = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        for number in (1, 2, 15):
            signal.signal(number, signal.SIG_IGN)
        print(os.getpid(), flush=True)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execve("/bin/sleep", ["sleep", "1000"], {})
    os._exit(0)
os.wait()
os.close(held)
os.read(waited, 1)
"""


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_hundreds_of_daemons_are_ended(guarded: LocalSpawner, tty: bool) -> None:
    """A daemon that cut every tie is still found and ended by its guard."""
    room = asyncio.Semaphore(8)

    async def one() -> int:
        async with room:
            running = await start(guarded, python(DAEMON, tty=tty))
            assert (await running.ended()).descendants_alive
            daemon = outside(int(running.output.data))
            assert is_running(daemon)
            assert running.process.descendants() == [daemon]
            assert await running.process.end_tree(0.0) == ()
            await running.all_gone()
            return daemon

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one()) for _ in range(150)]
    assert not [task.result() for task in tasks if is_running(task.result())]


async def test_a_daemon_that_was_seen_is_ended_without_a_guard(spawner: AnySpawner) -> None:
    """Who left the session is known from an earlier look, and ended with the rest."""
    code = "import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(1000)"
    inner = f"{sys.executable} -ISc '{code}' & wait"
    running = await start(spawner, script(inner))
    await running.output.shows(b"\n")
    daemon = outside(int(running.output.data))
    assert daemon in running.process.descendants()
    running.process.signal(signal.SIGKILL)
    assert (await running.ended()).descendants_alive
    assert await running.process.end_tree(0.0) == ()
    assert not is_running(daemon)


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_sigterm_comes_first(spawner: AnySpawner, tty: bool) -> None:
    """Whoever obeys SIGTERM gets the time to say goodbye, and what it says is kept."""
    text = "trap '' HUP; trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done"
    running = await start(spawner, script(text, tty=tty))
    await running.output.shows(b"up")
    assert await running.process.end_tree(30) == ()
    assert (await running.ended()).code == 5
    said = running.output.data.split()  # "Terminated" too: the sleep was ended with the rest
    assert [said[0], said[-1]] == [b"up", b"bye"]


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_who_ignores_sigterm_is_killed_after_the_grace(
    spawner: AnySpawner, tty: bool
) -> None:
    """SIGKILL follows for the whole tree, and what was written until then is kept."""
    text = "trap '' TERM HUP; (while :; do sleep 0.1; done) & echo up; while :; do sleep 0.1; done"
    running = await start(spawner, script(text, tty=tty))
    await running.output.shows(b"up")
    assert await running.process.end_tree(0.1) == ()
    ending = await running.ended()
    assert (ending.code, ending.signal) == (137, signal.SIGKILL)
    assert running.output.data.split() == [b"up"]
    await running.all_gone()
    assert running.process.descendants() == []


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_a_stopped_process_is_ended(spawner: AnySpawner, tty: bool) -> None:
    """A process that stopped itself is woken up to hear that it should go."""
    running = await start(spawner, script("trap 'exit 6' TERM HUP; kill -STOP $$", tty=tty))
    pid = running.process.pid
    await eventually(lambda: (tree._stat(pid) or ["?"])[0] == "T")
    assert await running.process.end_tree(30) == ()
    assert (await running.ended()).code == 6


async def test_interactive_bash_ends_promptly(spawner: AnySpawner) -> None:
    """It ignores SIGTERM, but obeys a terminal that hangs up, and so do its jobs."""
    env = command("bash", "--norc", "-i", env={"PATH": PATH, "PS1": "ready> "}, tty=True)
    running = await start(spawner, env)
    await running.output.shows(b"ready> ")
    running.process.write(b"sleep 1000 & sleep 1001\n")
    await eventually(lambda: running.process.foreground_program() == "sleep")
    assert len(running.process.descendants()) == 3
    assert await running.process.end_tree(30) == ()
    assert (await running.ended()).signal == signal.SIGHUP


async def test_a_signal_reaches_the_group_or_the_tree(spawner: AnySpawner) -> None:
    """GROUP is the command's own process group; TREE reaches those who left it."""
    text = "trap 'echo group' USR1; setsid sh -c \"trap 'echo outside' USR1; echo up; {0}\" & {0}"
    loop = "while :; do sleep 0.01; done"
    running = await start(spawner, script(text.format(loop)))
    await running.output.shows(b"up\n")
    running.process.descendants()
    running.process.signal(signal.SIGUSR1)
    await running.output.shows(b"group\n")
    assert b"outside" not in running.output.data
    running.process.signal(signal.SIGUSR1, Whom.TREE)
    await running.output.shows(b"outside\n")
    assert await running.process.end_tree(0.0) == ()


async def test_with_a_terminal_its_foreground_group_gets_the_signal(spawner: AnySpawner) -> None:
    """In a shell with job control SIGINT ends the job, not the shell."""
    env = command("bash", "--norc", "-i", env={"PATH": PATH, "PS1": "ready> "}, tty=True)
    running = await start(spawner, env)
    await running.output.shows(b"ready> ")
    running.process.write(b"sleep 1000\n")
    await eventually(lambda: running.process.foreground_program() == "sleep")
    running.process.signal(signal.SIGINT)
    await eventually(lambda: running.process.foreground_program() == "bash")
    running.process.write(b"exit 9\n")
    assert (await running.ended()).code == 9


async def test_ending_what_has_ended_is_nothing(spawner: AnySpawner) -> None:
    """end_tree, signals and questions after the end do no harm."""
    running = await start(spawner, command("true"))
    await running.ended()
    await running.all_gone()
    running.process.signal(signal.SIGKILL)
    running.process.signal(signal.SIGKILL, Whom.TREE)
    assert await running.process.end_tree(0.0) == ()
    assert running.process.descendants() == []
    assert running.process.foreground_program() is None
    assert running.process.waiting_for_input() is False
    assert running.process.listens_on(22) is False


async def test_zombies_of_the_command_do_not_count(spawner: AnySpawner) -> None:
    """A child that its parent never collected is no living descendant."""
    code = "import os, time; os.fork() or os._exit(0); print('x', flush=True); time.sleep(1000)"
    running = await start(spawner, python(code))
    await running.output.shows(b"x")
    await eventually(lambda: running.process.descendants() == [running.process.pid])
    assert await running.process.end_tree(0.0) == ()


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_a_command_that_kills_its_guard(unconfined: LocalSpawner, tty: bool) -> None:
    """It dies with its guard, and the result says how; what it wrote is there."""
    for _ in range(10):
        running = await start(unconfined, script("echo x; kill -9 $PPID; exec sleep 1000", tty=tty))
        ending = await running.ended()
        assert (ending.code, ending.signal) == (137, signal.SIGKILL)
        assert running.output.data.split() == [b"x"]
        await running.all_gone()


async def test_children_of_a_killed_guard_do_not_stay(unconfined: LocalSpawner) -> None:
    """Whoever stayed in the command's session is ended with it."""
    text = "sleep 1000 & echo $!; sh -c 'echo $$; exec sleep 1000' & sleep 0.1; kill -9 $PPID; wait"
    output = await run(unconfined, script(text))
    first, second = map(int, output.data.split())
    await eventually(lambda: not is_running(first) and not is_running(second))


async def test_a_stopped_guard_is_woken_to_end_its_tree(guarded: LocalSpawner) -> None:
    """A command that stops its guard gains nothing."""
    running = await start(guarded, script("kill -STOP $PPID; echo x; exec sleep 1000"))
    await running.output.shows(b"x")
    assert await running.process.end_tree(0.0) == ()
    assert (await running.ended()).code in (137, 143)


@pytest.mark.parametrize("fields", [{}, {"tty": True}], ids=["pipe", "tty"])
async def test_an_end_behind_a_stopped_guard_is_heard_of(
    guarded: LocalSpawner, fields: dict[str, object]
) -> None:
    """A command that stops its guard and ends is not waited for in vain."""
    output = await run(guarded, script("sleep 0.1; kill -STOP $PPID; exit 3", **fields))
    assert output.ending is not None
    assert output.ending.code == 3


async def test_a_cancelled_spawn_leaves_nothing(guarded: LocalSpawner) -> None:
    """Whoever is cancelled while a command starts gets back to find it gone."""
    for turn in range(100):
        output = Output()
        env = script("setsid sleep 1000 & sleep 1000", tty=turn % 2 == 1)
        task = asyncio.create_task(guarded.spawn(env, output))
        for _ in range(turn % 5):
            await asyncio.sleep(0)
        task.cancel()
        try:
            process = await task
        except asyncio.CancelledError:
            continue
        assert await process.end_tree(0.0) == ()
    assert guarded._processes == set()


async def test_a_spawn_cancelled_twice_leaves_nothing(guarded: LocalSpawner) -> None:
    """A second cancellation does not break off the clean-up."""
    task = asyncio.create_task(guarded.spawn(script("sleep 1000"), Output()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert guarded._processes == set()


async def test_closing_ends_everything(spawner: AnySpawner) -> None:
    """A spawner that closes takes all of its commands along."""
    several = [await start(spawner, script("sleep 1000 & sleep 1000", tty=one)) for one in (0, 1)]
    pids = [pid for running in several for pid in running.process.descendants()]
    assert pids
    await spawner.close()
    assert not [pid for pid in pids if is_running(pid)]
    for running in several:
        assert (await running.ended()).code in (129, 137, 143)
        assert running.output.gone


ENGINE = f"""
import asyncio, sys
from tests.spawn.running import launcher_path, python, start, LocalSpawner
async def main():
    spawner = LocalSpawner(launcher_path())
    for tty in (False, True):
        running = await start(spawner, python({DAEMON!r} + "input()", tty=tty, stdin="open"))
        await running.output.until(lambda: b"\\n" in running.output.data)
        while len(running.process.descendants()) != 2:  # the one between may not be gone yet
            await asyncio.sleep(0.01)
        print(int(running.output.data), *running.process.descendants(), flush=True)
    await asyncio.sleep(1000)
asyncio.run(main())
"""


def test_a_killed_engine_leaves_nobody() -> None:
    """When the engine is killed with SIGKILL, not even a daemon of a command stays alive."""
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    for _ in range(10):  # two commands each
        with subprocess.Popen(
            [sys.executable, "-c", ENGINE], env=env, stdout=subprocess.PIPE
        ) as engine:
            assert engine.stdout is not None
            pids = [int(pid) for _ in range(2) for pid in engine.stdout.readline().split()]
            engine.kill()
        assert len(pids) == 6
        eventually_sync(partial(none_runs, pids))


def none_runs(pids: list[int]) -> bool:
    return not any(map(is_running, pids))


def names(pids: list[int]) -> list[str]:
    return [tree.name(pid) for pid in pids]


def test_descendants_come_parents_first() -> None:
    """The walk shows every generation, and nobody twice."""
    text = "sh -c 'sleep 1000 & echo; wait' & wait"
    with subprocess.Popen(["sh", "-c", text], stdout=subprocess.PIPE) as top:
        assert top.stdout is not None
        select.select([top.stdout], [], [])
        top.stdout.readline()
        # The shell may be quicker to say so than what it started is to become a sleep.
        eventually_sync(lambda: names(tree.descendants(top.pid)) == ["sh", "sleep"])
        found = tree.descendants(top.pid)
        assert tree.children(top.pid) == found[:1]
        assert tree.in_group(os.getpgrp(), found) == found
        for pid in (*found, top.pid):
            os.kill(pid, signal.SIGKILL)
    assert tree.descendants(top.pid) == []
    assert tree.start_time(top.pid) is None
    assert tree.name(top.pid) == "?"
