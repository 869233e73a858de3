"""What all commands of an agent may use together: version 1 of the kernel's groups for real where
it is mounted, version 2 as files that look like it."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fairlead.model.confine import JoinGroup
from fairlead.model.errors import SandboxFailed, SpawnFailed
from fairlead.model.frozen import replace
from fairlead.spawn import cgroup, tree
from fairlead.spawn.cgroup import Group, Limit
from tests.spawn.confined import ConfiningSpawner, confinement
from tests.spawn.running import (
    Output,
    command,
    eventually,
    eventually_sync,
    python,
    run,
    script,
    start,
)

MIB = 1 << 20
HERE = cgroup.why_not()
needs_groups = pytest.mark.skipif(HERE is not None, reason=f"this machine: {HERE}")


def ours() -> set[Path]:
    """The groups of this very process."""
    return {
        path
        for above in cgroup.own_groups().values()
        for path in above.glob(f"fairlead-{os.getpid()}-*")
    }


@pytest.fixture(autouse=True)
def no_group_is_left() -> Iterator[None]:
    yield
    eventually_sync(lambda: not ours())


TABLE_1 = """\
5:pids:/docker/abc
4:memory:/docker/abc
3:cpu,cpuacct:/docker/abc
0::/docker/abc
"""


def test_version_1_has_a_group_for_each_controller(tmp_path):
    """Only those that are there; controllers that share a mount share the group."""
    for name in ("pids", "cpu,cpuacct"):
        (tmp_path / name / "docker" / "abc").mkdir(parents=True)
    found = cgroup.own_groups(TABLE_1, tmp_path)
    assert found == {
        "pids": tmp_path / "pids/docker/abc",
        "cpu": tmp_path / "cpu,cpuacct/docker/abc",
        "cpuacct": tmp_path / "cpu,cpuacct/docker/abc",
    }


@pytest.mark.parametrize("unified", ["", "unified"])
def test_version_2_has_one_without_a_name(tmp_path, unified):
    """At the top, or below `unified` where both versions are mounted."""
    (tmp_path / unified / "user.slice" / "one").mkdir(parents=True)
    found = cgroup.own_groups("0::/user.slice/one\n", tmp_path)
    assert found == {"": tmp_path / unified / "user.slice/one"}


class Tree:
    """A group of version 2 as files. Writing to one of the kernel's is what changes it there."""

    def __init__(self, top: Path, *, controllers: str, enabled: str, inside: str) -> None:
        self.top = top
        top.mkdir()
        (top / "cgroup.controllers").write_text(controllers)
        (top / "cgroup.subtree_control").write_text(enabled)
        (top / "cgroup.procs").write_text(inside)

    def text(self, name: str) -> str:
        return (self.top / name).read_text()


@pytest.fixture
def version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """We are alone in a group with both controllers, which are not switched on below it."""
    found = Tree(
        tmp_path / "own", controllers="cpu memory pids\n", enabled="", inside=f"{os.getpid()}\n"
    )
    monkeypatch.setattr(cgroup, "own_groups", lambda: {"": found.top})
    return found


def test_in_version_2_we_step_aside(version_2):
    """A group with limits below it has no process itself: we move to a leaf, and switch on."""
    group = cgroup.make(64 * MIB, 10)
    assert group is not None
    assert version_2.text("fairlead-engine/cgroup.procs") == "0"
    assert version_2.text("cgroup.subtree_control") == "+memory +pids"
    (made,) = version_2.top.glob("fairlead-*-*-*")
    assert (made / "memory.max").read_text() == str(64 * MIB)
    assert (made / "pids.max").read_text() == "10"
    assert group.joins == (JoinGroup(f"{made}/cgroup.procs"),)


def test_in_the_leaf_already(version_2, monkeypatch):
    """For the second group of a process: the leaf's parent is where to make it."""
    (version_2.top / "fairlead-engine").mkdir()
    (version_2.top / "cgroup.subtree_control").write_text("memory pids")
    monkeypatch.setattr(cgroup, "own_groups", lambda: {"": version_2.top / "fairlead-engine"})
    assert cgroup.make(MIB, None) is not None
    (made,) = version_2.top.glob("fairlead-*-*-*")
    assert (made / "memory.max").read_text() == str(MIB)
    assert not (made / "pids.max").exists()


def test_others_are_not_moved(version_2):
    """Where the group has processes that are not ours, there are no limits to be had."""
    (version_2.top / "cgroup.procs").write_text(f"1\n{os.getpid()}\n")
    with pytest.raises(SandboxFailed, match="processes that are not ours") as refusal:
        cgroup.make(MIB, None)
    assert refusal.value.errno == errno.EBUSY
    assert version_2.text("cgroup.subtree_control") == ""


@pytest.mark.parametrize(
    ("memory", "processes", "lacks"),
    [(MIB, None, "memory"), (None, 5, "pids"), (MIB, 5, "memory and no pids")],
)
def test_controllers_that_are_not_delegated(version_2, memory, processes, lacks):
    """The one that is missing is named, and nothing was made."""
    (version_2.top / "cgroup.controllers").write_text("cpu io\n")
    with pytest.raises(SandboxFailed, match=f"our group has no {lacks} controller"):
        cgroup.make(memory, processes)
    assert not list(version_2.top.glob("fairlead-*"))


def test_no_groups_at_all(monkeypatch):
    """Nothing is mounted: a reason, not a crash."""
    monkeypatch.setattr(cgroup, "own_groups", dict)
    assert cgroup.why_not() == "no control group can be had: no control groups are mounted"


def test_no_limit_is_no_group(version_2):
    """Who limits nothing has nothing made."""
    assert cgroup.make(None, None) is None
    assert version_2.text("cgroup.subtree_control") == ""


def test_half_a_group_is_taken_back(tmp_path):
    """If one of its files can't be written the directories go again."""
    good, bad = tmp_path / "memory" / "one", tmp_path / "pids" / "one"
    for path in (good, bad):
        path.parent.mkdir()
    bad.mkdir()
    with pytest.raises(FileExistsError):
        Group(tuple(Limit(directory=path, name="x", value=1) for path in (good, bad)))
    assert not good.exists()
    assert bad.exists()  # it is somebody else's


def test_groups_of_dead_engines_are_swept(tmp_path):
    """Known by pid and start time; a living engine's stays, and whatever is not ours."""
    began = tree.start_time(os.getpid())
    kept = {f"fairlead-{os.getpid()}-{began}-1", "fairlead-engine", "other-1-2-3"}
    gone = {
        f"fairlead-{os.getpid()}-{(began or 0) + 1}-1",
        "fairlead-4194305-7-1",
        "fairlead-x-1-1",
    }
    for name in kept | gone:
        (tmp_path / name).mkdir()
    cgroup.sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept


@pytest.mark.parametrize(
    ("name", "text", "kills"),
    [
        ("memory.events", "low 0\nhigh 4\noom 3\noom_kill 2\n", 2),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n", 5),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", 0),  # before Linux 4.13
        ("other", "", 0),
    ],
)
def test_how_many_the_kernel_has_ended(tmp_path, name, text, kills):
    """Each version tells it in a file of its own."""
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / name).write_text(text)
    assert cgroup.oom_kills_in(tmp_path / "one") == kills


@pytest.fixture
async def limited() -> AsyncIterator[ConfiningSpawner]:
    """96 MiB and twelve processes for all commands together."""
    found = ConfiningSpawner()
    found.confinement = replace(confinement(), memory=96 * MIB, processes=12)
    yield found
    await found.close()


@needs_groups
async def test_memory_is_limited_and_the_ending_says_so(limited: ConfiningSpawner) -> None:
    """Who takes more is ended by the kernel, and nobody else; a SIGKILL of ours is none of that."""
    neighbour = await start(limited, script("echo up; read x", stdin="open"))
    await neighbour.output.shows(b"up")
    greedy = await run(limited, python("x = bytearray(400 << 20); print(len(x))"))
    assert greedy.ending is not None
    assert (greedy.ending.signal, greedy.ending.oom) == (signal.SIGKILL, True)
    modest = await run(limited, python("x = bytearray(8 << 20); print(len(x))"))
    assert modest.data.split() == [str(8 * MIB).encode()]
    neighbour.process.signal(signal.SIGKILL)
    ending = await neighbour.ended()
    assert (ending.signal, ending.oom) == (signal.SIGKILL, False)


@needs_groups
async def test_memory_counts_for_all_commands_together(limited: ConfiningSpawner) -> None:
    """Two that are modest by themselves are too many together: one of them goes."""
    code = "x = bytearray(60 << 20); print('up', flush=True); input()"
    several = [await start(limited, python(code, stdin="open")) for _ in range(2)]
    async with asyncio.timeout(60):
        done, _ = await asyncio.wait(
            [asyncio.create_task(one.process.wait()) for one in several],
            return_when=asyncio.FIRST_COMPLETED,
        )
    assert all(task.result().oom for task in done)


FORK_BOMB = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0: time.sleep(1000)
        made += 1
except OSError as error: print(made, error.errno, flush=True)
time.sleep(1000)
"""


@needs_groups
async def test_processes_are_limited_together(limited: ConfiningSpawner) -> None:
    """A fork bomb meets the limit; a neighbour that can't start says why; once it is ended there
    is room again."""
    bomb = await start(limited, python(FORK_BOMB))
    await bomb.output.shows(b"\n")
    made, number = map(int, bomb.output.data.split())
    assert made < 12
    assert number == errno.EAGAIN
    with pytest.raises(SpawnFailed, match="processes have reached their limit"):
        await limited.spawn(command("true"), Output())
    assert await bomb.process.end_tree(0.0) == ()
    assert (await run(limited, script("echo fine"))).data == b"fine\n"


@needs_groups
async def test_a_new_confinement_stays_in_the_agents_group(limited: ConfiningSpawner) -> None:
    """What is used up in the old zygote counts in the new one, and the group goes with the last."""
    old = await start(limited, script("echo up; read x", stdin="open"))
    await old.output.shows(b"up")
    (before,) = {path.name for path in ours()}
    limited.confinement = replace(limited.confinement)
    await run(limited, command("true"))
    assert {path.name for path in ours()} == {before}
    old.process.close_stdin()
    await old.ended()
    await limited.close()
    assert not ours()


@needs_groups
async def test_each_agent_has_its_own_group(limited: ConfiningSpawner) -> None:
    """And it goes with the agent."""
    await run(limited, command("true"))
    limited.confinement = replace(limited.confinement, agent="other")
    await run(limited, command("true"))
    assert len({path.name for path in ours()}) == 2
    limited.release("other")
    await eventually(lambda: len({path.name for path in ours()}) == 1)


ENGINE = """
import asyncio
from fairlead.model.frozen import replace
from tests.spawn.confined import ConfiningSpawner, confinement
from tests.spawn.running import script, start
async def main():
    spawner = ConfiningSpawner()
    spawner.confinement = replace(confinement(), memory=1 << 28, processes=32)
    running = await start(spawner, script("setsid sleep 1000 & echo up; exec sleep 1000"))
    await running.output.shows(b"up")
    print("up", flush=True)
    await asyncio.sleep(1000)
asyncio.run(main())
"""


@needs_groups
def test_a_killed_engines_group_is_swept_by_the_next(tmp_path: Path) -> None:
    """Its processes are gone with it; the empty group waits for whoever makes the next one."""
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    with subprocess.Popen(
        [sys.executable, "-c", ENGINE], env=env, stdout=subprocess.PIPE
    ) as engine:
        assert engine.stdout is not None
        assert engine.stdout.readline() == b"up\n"
        engine.kill()
    left = {
        path
        for above in cgroup.own_groups().values()
        for path in above.glob(f"fairlead-{engine.pid}-*")
    }
    assert left

    def swept() -> bool:
        group = cgroup.make(MIB, 1)
        assert group is not None
        group.remove()
        return not any(path.exists() for path in left)

    eventually_sync(swept)
