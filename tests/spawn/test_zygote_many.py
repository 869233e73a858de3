"""Much at once, and much in the long run: nothing is lost, mixed up or left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.spawn import tree
from fairlead.spawn.zygote import Zygote
from tests.spawn.confined import ConfiningSpawner, confinement
from tests.spawn.running import OPEN, Output, command, eventually, python, run, script, start


@pytest.fixture
async def confined() -> AsyncIterator[ConfiningSpawner]:
    found = ConfiningSpawner()
    yield found
    await found.close()


def state_of(zygote: Zygote) -> tuple[int, int, int]:
    """Of the first process inside: its descriptors, its children, its pages."""
    (first,) = tree.children(zygote.process)
    pages = int(Path(f"/proc/{first}/statm").read_text().split()[1])
    return len(os.listdir(f"/proc/{first}/fd")), len(tree.children(first)), pages


async def many(spawner: ConfiningSpawner, count: int) -> None:
    room = asyncio.Semaphore(32)

    async def one(at: int) -> None:
        async with room:
            output = Output()
            process = await spawner.spawn(script(f"exit {at % 3}", tty=at % 8 == 7), output)
            assert (await process.wait()).code == at % 3
            await output.until(lambda: output.gone)

    for begin in range(0, count, 500):
        await asyncio.gather(*map(one, range(begin, min(begin + 500, count))))


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(2000, marks=pytest.mark.slow),
        pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
    ],
)
async def test_thousands_leave_nothing_in_the_zygote(
    confined: ConfiningSpawner, count: int
) -> None:
    """No zombie, no descriptor, no growth: the last command begins where the first one did."""
    await many(confined, 500)
    (zygote,) = confined._zygotes._all
    await eventually(lambda: state_of(zygote)[1] == 1)  # the guard for the next command
    before = state_of(zygote)
    await many(confined, count)
    await eventually(lambda: state_of(zygote)[:2] == before[:2])
    assert state_of(zygote)[2] <= before[2] + 4
    assert confined._zygotes._all == {zygote}


async def test_many_agents_at_once(confined: ConfiningSpawner) -> None:
    """Each in its own namespaces, seeing nobody else's processes; each goes by itself."""
    confinements = [confinement(agent=f"agent-{number}") for number in range(15)]
    code = """
import os
pids = [pid for pid in os.listdir("/proc") if pid.isdigit()]
marks = set()
for pid in pids:
    try: words = open(f"/proc/{pid}/cmdline").read().split("\\0")
    except OSError: words = []
    marks |= {word for word in words if word.startswith("mark-")}
print(os.readlink("/proc/self/ns/pid"), *sorted(marks), flush=True)
input()
"""
    running = []
    for number, one in enumerate(confinements):
        confined.confinement = one
        env = command("/usr/bin/env", "python3", "-c", code, f"mark-{number}", **OPEN)
        running.append(await start(confined, env))
    for number, one_running in enumerate(running):
        await one_running.output.shows(b"\n")
        _, *marks = one_running.output.data.decode().split()
        assert marks == [f"mark-{number}"]
    assert len({bytes(one.output.data).split()[0] for one in running}) == 15
    for number in range(0, 15, 2):
        await running[number].process.end_tree(0.0)
        confined.release(f"agent-{number}")
    await eventually(lambda: len(confined._zygotes._all) == 7)
    for number in range(1, 15, 2):
        assert running[number].output.ending is None


async def test_racing_writers_lose_no_byte(confined: ConfiningSpawner) -> None:
    """Two thousand children of one command, all at once on its output."""
    text = "n=0; while [ $n -lt 2000 ]; do printf '%05d\\n' $n & n=$((n+1)); done; wait"
    output = await run(confined, script(text))
    assert sorted(output.data.split()) == [b"%05d" % number for number in range(2000)]


async def test_racing_commands_lose_no_byte(confined: ConfiningSpawner) -> None:
    """Two hundred commands, each with its own output, on pipes and terminals."""
    text = "i=0; while [ $i -lt 200 ]; do echo {0} $i; i=$((i+1)); done"
    outputs = await asyncio.gather(
        *(run(confined, script(text.format(number), tty=number % 4 == 0)) for number in range(200))
    )
    for number, output in enumerate(outputs):
        expected = [b"%d %d" % (number, line) for line in range(200)]
        assert output.data.replace(b"\r", b"").splitlines() == expected


async def test_large_input_and_output(confined: ConfiningSpawner) -> None:
    """Eight megabytes through a command inside, byte for byte."""
    running = await start(confined, command("cat", **OPEN))
    data = os.urandom(1 << 20)
    for number in range(1, 9):
        running.process.write(data)
        await running.output.until(lambda size=number << 20: len(running.output.data) == size)  # type: ignore[misc]
    running.process.close_stdin()
    assert (await running.ended()).code == 0
    await running.all_gone()
    assert running.output.data == data * 8


async def test_job_control_inside(confined: ConfiningSpawner) -> None:
    """Stopping with ^Z, `fg`, and ^C are the shell's own affair, on a terminal of the inside."""
    env = command("bash", "--norc", "-i", env={"PATH": "/usr/bin:/bin", "PS1": "> "}, tty=True)
    running = await start(confined, env)
    await running.output.shows(b"> ")
    running.process.write(b"tty; sleep 1000\n")
    await eventually(lambda: running.process.foreground_program() == "sleep")
    running.process.write(b"\x1a")
    await running.output.shows(b"Stopped")
    await eventually(lambda: running.process.foreground_program() == "bash")
    running.process.write(b"fg\n")
    await eventually(lambda: running.process.foreground_program() == "sleep")
    running.process.write(b"\x03")
    await eventually(lambda: running.process.foreground_program() == "bash")
    running.process.write(b"echo status $?; exit 3\n")
    assert (await running.ended()).code == 3
    assert b"status 130" in running.output.data
    assert b"/dev/pts/" in running.output.data


async def test_signals_inside(confined: ConfiningSpawner) -> None:
    """To the group and by number: the command hears the very signal that was sent."""
    code = """
import os, signal, time
for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGWINCH):
    signal.signal(number, lambda n, _: os.write(1, b"%d\\n" % n))
os.write(1, b"up")
while True: time.sleep(0.01)
"""
    running = await start(confined, python(code))
    await running.output.shows(b"up")
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGWINCH):
        running.process.signal(number)
        await running.output.shows(b"%d\n" % number)
    running.process.signal(signal.SIGKILL)
    assert (await running.ended()).signal == signal.SIGKILL


ESCAPES = """
import os, time
def away(depth):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if depth: away(depth - 1)
            os.execve("/bin/sleep", ["sleep", "1000"], {})
        os._exit(0)
for depth in range(3): away(depth)
print("up", flush=True)
time.sleep(1000)
"""


async def test_racing_ends_reach_their_own_only(confined: ConfiningSpawner) -> None:
    """Three hundred commands with escapees, ten at a time, ended in any order."""
    room = asyncio.Semaphore(10)
    witness = await start(confined, script("setsid sleep 1000 & echo up; read x", **OPEN))
    await witness.output.shows(b"up")
    kept = witness.process.descendants()

    async def one() -> list[int]:
        async with room:
            running = await start(confined, python(ESCAPES))
            await running.output.shows(b"up")
            mine = running.process.descendants()
            assert await running.process.end_tree(0.0) == ()
            await running.all_gone()
            return mine

    found = await asyncio.gather(*(one() for _ in range(300)))
    assert all(found)
    assert not [pid for mine in found for pid in mine if tree.is_alive(pid) and pid in kept]
    (zygote,) = confined._zygotes._all
    names = [tree.name(pid) for pid in tree.descendants(zygote.process)]
    assert names.count("sleep") == 1  # the witness's
    assert witness.process.descendants() == kept
    await witness.process.end_tree(0.0)


ORDINARY = """
import asyncio, os
from tests.spawn.confined import ConfiningSpawner
from tests.spawn.running import is_running, run, script, start
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
async def main():
    spawner = ConfiningSpawner()
    who = await run(spawner, script("id -u; id -g; cat /etc/shadow", tty=True))
    assert who.data.split()[:2] == [b"%d" % os.getuid(), b"%d" % os.getgid()], who.data
    for turn in range(40):
        text = f"setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo up; exec sleep 1000"
        running = await start(spawner, script(text, tty=turn % 2 == 1))
        await running.output.shows(b"up")
        mine = running.process.descendants()
        assert await running.process.end_tree(0.0) == ()
        await running.all_gone()
        assert not any(map(is_running, mine))
    running = await start(spawner, script("sleep 1000"))
    (zygote,) = spawner._zygotes._all
    os.kill(zygote.process, 9)
    assert (await running.ended()).signal == 9
    assert (await run(spawner, script("exit 5"))).ending.code == 5
    await spawner.close()
    print("fine")
asyncio.run(main())
"""


def test_for_an_ordinary_user() -> None:
    """The same without any privilege: a user namespace gives what is needed, and no more."""
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    argv = [sys.executable, "-c", ORDINARY]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("fine\n", "")
