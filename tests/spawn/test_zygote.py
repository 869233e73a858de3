"""Commands that begin inside a confinement: how they start, what they can't do, how they end."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.confine import MountTree
from fairlead.model.errors import SandboxFailed, SpawnFailed
from fairlead.model.frozen import replace
from fairlead.model.process import Whom
from fairlead.spawn import cgroup, tree
from fairlead.spawn.local import LocalSpawner
from fairlead.spawn.local_process import LocalProcess
from fairlead.spawn.zygote import Zygote
from tests.spawn.confined import ConfiningSpawner, confinement
from tests.spawn.running import (
    OPEN,
    Output,
    Running,
    command,
    eventually,
    eventually_sync,
    is_running,
    launcher_path,
    python,
    run,
    script,
    start,
)


@pytest.fixture
async def confined() -> AsyncIterator[ConfiningSpawner]:
    found = ConfiningSpawner()
    yield found
    await found.close()


async def test_commands_of_an_agent_share_one(confined: ConfiningSpawner) -> None:
    """The second command begins in what was made for the first: same namespaces, other pid."""
    show = "readlink /proc/self/ns/pid /proc/self/ns/mnt /proc/self/ns/net; echo $$"
    first, second = [(await run(confined, script(show))).data.split() for _ in range(2)]
    assert first[:3] == second[:3]
    assert first[3] != second[3]
    assert first[:3] != [
        os.readlink(f"/proc/self/ns/{one}").encode() for one in ("pid", "mnt", "net")
    ]


async def test_a_command_has_two_numbers(confined: ConfiningSpawner) -> None:
    """One on this machine, and one that it and its neighbours know it by."""
    running = await start(confined, script("echo $$; read x", **OPEN))
    await running.output.shows(b"\n")
    process = running.process
    assert running.output.data.split() == [str(process.inner_pid).encode()]
    assert process.pid != process.inner_pid
    assert tree.command_line(process.pid)[-1].startswith("echo $$")
    process.close_stdin()
    await running.ended()


def guards(spawner: ConfiningSpawner) -> set[int]:
    """Of the only zygote: every child of its first process."""
    (zygote,) = spawner._zygotes._all
    return {guard for first in tree.children(zygote.process) for guard in tree.children(first)}


async def test_the_next_commands_guard_waits_already(confined: ConfiningSpawner) -> None:
    """It is forked while a command runs, and no command ever waits for two."""
    first = await start(confined, script("echo up; read x", **OPEN))
    assert isinstance(first.process, LocalProcess)
    await eventually(lambda: len(guards(confined)) == 2)
    (waiting,) = guards(confined) - {first.process.guard}
    second = await start(confined, script("echo up; read x", **OPEN))
    assert isinstance(second.process, LocalProcess)
    assert second.process.guard == waiting
    await eventually(lambda: len(guards(confined)) == 3)


@pytest.mark.parametrize("changes", [{"each": ()}, {"processes": 40}], ids=["open", "counted"])
async def test_no_guard_waits_where_it_should_not(
    confined: ConfiningSpawner, changes: dict[str, Any]
) -> None:
    """Where a neighbour could stop it, and where it would be one process less for commands."""
    if cgroup.why_not() and "processes" in changes:
        pytest.skip("this machine gives us no control group")
    confined.confinement = replace(confined.confinement, **changes)
    for _ in range(3):
        running = await start(confined, script("echo up; read x", **OPEN))
        await running.output.shows(b"up")
        running.process.close_stdin()
        await running.all_gone()
    await eventually(lambda: not guards(confined))


async def test_agents_do_not_share(confined: ConfiningSpawner) -> None:
    """Each agent has a zygote of its own, which goes when the agent does."""
    running = await start(confined, script("echo x; read x", **OPEN))
    confined.confinement = confinement(agent="other")
    other = await start(confined, script("readlink /proc/self/ns/pid; read x", **OPEN))
    await other.output.shows(b"]")
    assert os.readlink(f"/proc/{running.process.pid}/ns/pid").encode() not in other.output.data
    confined.release("other")
    assert is_running(other.process.pid)  # it was never ended, so it may end by itself
    other.process.close_stdin()
    await other.ended()
    await other.all_gone()
    await eventually(lambda: len(confined._zygotes._all) == 1)
    running.process.close_stdin()
    await running.ended()


async def test_a_changed_confinement_begins_anew(confined: ConfiningSpawner) -> None:
    """What runs stays where it is; what is started later sees the new one."""
    old = await start(confined, script("echo up; read x; readlink /proc/self/ns/mnt", **OPEN))
    await old.output.shows(b"up")
    confined.confinement = confinement()
    new = await run(confined, script("readlink /proc/self/ns/mnt"))
    old.process.write(b"\n")
    await old.ended()
    assert new.data not in old.output.data
    await eventually(lambda: len(confined._zygotes._all) == 1)


async def test_a_command_can_not_signal_its_guard_nor_its_neighbours(
    confined: ConfiningSpawner,
) -> None:
    """Every process inside is in view, and only its own can be signalled."""
    neighbour = await start(confined, script("trap '' TERM; echo up; read x", **OPEN))
    await neighbour.output.shows(b"up")
    code = """
import os, signal
for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
    if pid != os.getpid():
        try: os.kill(pid, signal.SIGKILL); print("killed", pid)
        except PermissionError: print("refused")
try: os.kill(-1, signal.SIGKILL)  # the kernel calls it a success that it reached nobody
except PermissionError: pass
"""
    output = await run(confined, python(code))
    assert set(bytes(output.data).split()) == {b"refused"}
    assert output.data.count(b"refused") >= 4  # the first process, both guards, the neighbour
    neighbour.process.write(b"\n")
    assert (await neighbour.ended()).code == 0


async def test_ending_one_command_ends_its_escapees_and_no_neighbour(
    confined: ConfiningSpawner,
) -> None:
    """Hundreds of times, while a neighbour lives on."""
    neighbour = await start(confined, script("setsid sleep 1000 & echo up; read x", **OPEN))
    await neighbour.output.shows(b"up")
    theirs = neighbour.process.descendants()
    escape = script("setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo $!; exec sleep 1000")
    for _ in range(200):
        running = await start(confined, escape)
        await running.output.shows(b"\n")
        mine = running.process.descendants()
        assert await running.process.end_tree(0.0) == ()
        await running.all_gone()
        assert not [pid for pid in mine if is_running(pid)]
    assert neighbour.process.descendants() == theirs
    await neighbour.process.end_tree(0.0)


async def test_the_death_of_a_zygote_is_told_and_survived(confined: ConfiningSpawner) -> None:
    """Its commands get an honest end, and the next command another zygote."""
    running = await start(confined, script("echo up; sleep 1000"))
    await running.output.shows(b"up")
    (zygote,) = confined._zygotes._all
    os.kill(zygote.process, signal.SIGKILL)
    ending = await running.ended()
    assert (ending.code, ending.signal) == (137, signal.SIGKILL)
    assert ending.killed_by == "the sandbox's first process ended"
    await running.all_gone()
    assert (await run(confined, script("echo again"))).data == b"again\n"


async def test_a_killed_first_process_ends_all_inside(confined: ConfiningSpawner) -> None:
    """However they forked: the kernel does it."""
    text = "setsid sleep 1000 & exec sleep 1000"
    several = [await start(confined, script(text)) for _ in range(3)]
    await eventually(lambda: all(len(one.process.descendants()) == 2 for one in several))
    pids = [pid for one in several for pid in one.process.descendants()]
    os.kill(outside_parent(several[0]), signal.SIGKILL)
    for one in several:
        assert (await one.ended()).signal == signal.SIGKILL
    await eventually(lambda: not any(map(is_running, pids)))


def outside_parent(running: Running) -> int:
    """The first process inside: the guard's parent."""
    assert isinstance(running.process, LocalProcess)
    found = tree.parent(running.process.guard)
    assert found
    return found


ENGINE = """
import asyncio
from tests.spawn.confined import ConfiningSpawner
from tests.spawn.running import script, start
async def main():
    spawner = ConfiningSpawner()
    for tty in (False, True):
        running = await start(spawner, script("setsid sleep 1000 & echo up; sleep 1000", tty=tty))
        await running.output.shows(b"up")
        (zygote,) = spawner._zygotes._all
        print(zygote.process, *running.process.descendants(), flush=True)
    await asyncio.sleep(1000)
asyncio.run(main())
"""


def test_a_killed_engine_leaves_nobody() -> None:
    """When the engine is killed, the zygote goes, and every process inside."""
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", ENGINE], env=env, stdout=subprocess.PIPE
        ) as engine:
            assert engine.stdout is not None
            pids = [int(pid) for _ in range(2) for pid in engine.stdout.readline().split()]
            engine.kill()
        assert len(pids) >= 6
        eventually_sync(partial(nobody_of, pids))


def nobody_of(pids: list[int]) -> bool:
    return not any(map(is_running, pids))


async def test_a_setup_that_fails_says_where() -> None:
    """A path that is something else by now is a refusal, and nothing has run."""
    spawner = LocalSpawner(launcher_path())
    wrong = confinement()
    stale = tuple(
        replace(step, identity=replace(step.identity, inode=1))
        if isinstance(step, MountTree) and step.slot == 1
        else step
        for step in wrong.setup
    )
    env = replace(command("true"), confinement=replace(wrong, setup=stale))
    with pytest.raises(SandboxFailed, match=r"could not be set up .copy of a mount tree: ") as told:
        await start(spawner, env)
    assert told.value.errno == errno.ESTALE
    assert "was not run" in str(told.value)
    await spawner.close()


async def test_a_replaced_directory_is_not_entered(
    confined: ConfiningSpawner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path is looked up once more inside, and must be what was looked at."""
    checked = tmp_path / "checked"
    checked.mkdir()
    opened = os.open

    def open_then_replace(path: Path, flags: int, **more: int) -> int:
        fd = opened(path, flags, **more)
        if path == checked:
            checked.rename(tmp_path / "other")
            checked.mkdir()
        return fd

    await run(confined, command("true"))
    monkeypatch.setattr("fairlead.spawn.start.os.open", open_then_replace)
    with pytest.raises(SpawnFailed, match="workdir: the directory was replaced while"):
        await run(confined, command("ls", cwd=checked))


async def test_long_plans_are_taken(confined: ConfiningSpawner) -> None:
    """Arguments as long as the kernel takes them, far longer than a socket does at once."""
    words = ["x" * 100_000 for _ in range(15)]
    output = await run(confined, command("sh", "-c", "echo $#; echo ${#1}", "sh", *words))
    assert output.data.split() == [b"15", b"100000"]


async def test_parallel_starts_do_not_disturb_each_other(confined: ConfiningSpawner) -> None:
    """A hundred at once, on pipes and terminals, the first of them making the zygote."""
    envs = [script(f"echo {n}; exit {n % 7}", tty=n % 2 == 1) for n in range(100)]
    outputs = await asyncio.gather(*(run(confined, env) for env in envs))
    for number, output in enumerate(outputs):
        assert output.data.split() == [str(number).encode()]
        assert output.ending is not None
        assert output.ending.code == number % 7


async def test_a_signal_to_the_tree_reaches_who_left_the_group(confined: ConfiningSpawner) -> None:
    """The guard knows its own, and no neighbour hears of it."""
    loop = "while :; do sleep 0.01; done"
    text = f"setsid sh -c \"trap 'echo outside' USR1; echo up; {loop}\" & wait; {loop}"
    neighbour = await start(confined, script(f"trap 'echo heard' USR1; {loop}"))
    running = await start(confined, script(f"trap '' USR1; {text}"))
    running2 = running.output
    await running2.shows(b"up")
    running.process.signal(signal.SIGUSR1, Whom.TREE)
    await asyncio.sleep(0)
    assert b"heard" not in neighbour.output.data
    await running.process.end_tree(0.0)
    assert neighbour.output.ending is None
    await neighbour.process.end_tree(0.0)


async def test_no_descriptor_and_no_process_is_left(confined: ConfiningSpawner) -> None:
    """After a thousand commands and the close nothing of them remains."""
    await run(confined, command("true"))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        await asyncio.gather(*(run(confined, command("true")) for _ in range(20)))
    await eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)
    (zygote,) = confined._zygotes._all
    inside = outside_children(zygote.process)
    assert inside == 1  # the first process, and no zombie
    await confined.close()
    assert not is_running(zygote.process)


def only_waiting(zygote: Zygote) -> bool:
    """Nobody is inside but the first process and, maybe, a guard for the next command."""
    first, *others = tree.descendants(zygote.process)
    return tree.name(first) == "fairlead-serve" and len(others) <= 1 and names(others) <= GUARDS


GUARDS = {"fairlead-guard", "fairlead-serve"}  # as which it is born


def names(pids: list[int]) -> set[str]:
    return {tree.name(pid) for pid in pids}


def outside_children(pid: int) -> int:
    return len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


async def test_a_cancelled_start_leaves_nothing(confined: ConfiningSpawner) -> None:
    """At any moment of it."""
    for turn in range(60):
        task = asyncio.create_task(
            confined.spawn(script("setsid sleep 1000 & sleep 1000"), Output())
        )
        for _ in range(turn % 6):
            await asyncio.sleep(0)
        task.cancel()
        try:
            process = await task
        except asyncio.CancelledError:
            continue
        assert await process.end_tree(0.0) == ()
    await eventually(lambda: not confined._processes)
    (zygote,) = confined._zygotes._all
    await eventually(lambda: only_waiting(zygote))
