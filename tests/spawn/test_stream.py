"""Nothing that a process wrote is lost, and its end is known at once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from tests.spawn.running import (
    OPEN,
    AnySpawner,
    command,
    eventually,
    python,
    run,
    script,
    start,
)

RACES = 2000
AT_ONCE = 16
SIZES = (1, 2, 100, 4095, 4096, 4097, 65_535, 65_536, 65_537, 200_000)


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
@pytest.mark.slow
async def test_nothing_of_2000_racing_writers_is_lost(guarded: AnySpawner, tty: bool) -> None:
    """Each writes as its last act; all of it is there when the exit is told."""
    await race(guarded, RACES, tty)


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_nothing_of_racing_writers_is_lost(spawner: AnySpawner, tty: bool) -> None:
    """The same for a few, with the launcher and without."""
    await race(spawner, 100, tty)


async def race(spawner: AnySpawner, count: int, tty: bool) -> None:
    chance = random.Random(1)
    sizes = [chance.choice(SIZES) if one % 10 == 0 else 1 + one % 50 for one in range(count)]
    room = asyncio.Semaphore(AT_ONCE)

    async def one(size: int, cold: bool) -> int:
        async with room:
            running = await start(spawner, script(f"printf %0{size}d 7", tty=tty))
            running.process.awaited(not cold)
            await running.ended()
            assert running.output.held_open is False
            assert running.output.data.count(b"0") == size - 1
            return running.output.size_at_exit

    found = await asyncio.gather(*(one(size, at % 2 == 0) for at, size in enumerate(sizes)))
    assert found == sizes


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_a_background_child_does_not_hold_up_the_end(spawner: AnySpawner, tty: bool) -> None:
    """`sleep 100 & echo done` returns at once and says that somebody holds the output."""
    running = await start(spawner, script("trap '' HUP; sleep 100 & echo done", tty=tty))
    ending = await running.ended()
    assert (ending.code, ending.descendants_alive) == (0, True)
    assert running.output.held_open
    assert running.output.data.split() == [b"done"]
    assert len(running.process.descendants()) == 1
    assert await running.process.end_tree(5) == ()
    await running.all_gone()


@pytest.mark.parametrize("awaited", [True, False])
@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_what_a_background_child_writes_later_arrives(
    spawner: AnySpawner, tmp_path: Path, tty: bool, awaited: bool
) -> None:
    """Output goes on after the exit, until the last one that holds it is gone."""
    text = f"trap '' HUP; (while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo late) & echo now"
    running = await start(spawner, script(text, tty=tty))
    await running.ended()
    running.process.awaited(awaited)
    assert running.output.data.split() == [b"now"]
    (tmp_path / "go").touch()
    await running.all_gone()
    assert running.output.data.split() == [b"now", b"late"]


async def test_a_flooding_descendant_does_not_hold_up_the_end(spawner: AnySpawner) -> None:
    """The window of quiet is bounded: `yes &` is never quiet."""
    running = await start(spawner, script("yes & echo done"))
    ending = await running.ended()
    assert ending.descendants_alive
    assert running.output.held_open
    assert b"done\n" in running.output.data
    assert await running.process.end_tree(5) == ()


async def test_output_closed_early_is_no_end(spawner: AnySpawner) -> None:
    """A command that closes its output runs on, and its exit code is the real one."""
    env = script("echo x; exec >&- 2>&-; read line; exit 3", **OPEN)
    running = await start(spawner, env)
    await running.output.shows(b"x\n")
    assert running.output.ending is None
    running.process.write(b"\n")
    assert (await running.ended()).code == 3


async def test_a_terminal_closed_early_is_no_end(guarded: AnySpawner, tmp_path: Path) -> None:
    """EIO on the terminal is the end of the output, not of the command."""
    go = tmp_path / "go"
    text = f"exec <&- >&- 2>&-; while [ ! -e {go} ]; do sleep 0.01; done; exit 4"
    running = await start(guarded, script(text, tty=True))
    await eventually(lambda: running.process._streams.output.ended)
    assert running.output.ending is None
    go.touch()
    assert (await running.ended()).code == 4


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
async def test_the_signal_that_ended_it_is_kept(
    spawner: AnySpawner, number: signal.Signals, tty: bool
) -> None:
    """Death by a signal is told apart from an exit code, with a terminal as without."""
    output = await run(spawner, script(f"echo before; kill -{number:d} $$", tty=tty))
    assert output.ending is not None
    assert (output.ending.code, output.ending.signal) == (128 + number, number)
    assert output.data.split() == [b"before"]


@pytest.mark.parametrize("code", [0, 1, 127, 137, 255])
async def test_exit_codes(spawner: AnySpawner, code: int) -> None:
    """An exit code is handed on as it is; 137 without a signal names no signal."""
    output = await run(spawner, script(f"exit {code}"))
    assert output.ending is not None
    assert (output.ending.code, output.ending.signal) == (code, None)


@pytest.mark.parametrize("awaited", [True, False], ids=["hot", "cold"])
async def test_100_megabytes_pass_through(guarded: AnySpawner, awaited: bool) -> None:
    """All of a long output arrives, by the loop and by the drainer thread."""
    running = await start(guarded, command("head", "-c", "100000000", "/dev/zero"))
    running.process.awaited(awaited)
    await running.ended()
    assert len(running.output.data) == 100_000_000


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_handing_over_loses_and_reorders_nothing(spawner: AnySpawner, tty: bool) -> None:
    """Awaited or not, changed thousands of times while lines come: every line, in order."""
    running = await start(spawner, script("while :; do echo $((n += 1)); done", tty=tty))
    process, output = running.process, running.output
    turns = 0
    while turns < 4000 or len(output.threads) < 2:
        process.awaited(turns % 2 == 0)
        turns += 1
        await asyncio.sleep(0.001 if turns % 7 == 0 else 0)  # the drainer needs a moment to wake
    process.signal(signal.SIGKILL)
    await running.ended()
    numbers = output.data.splitlines()
    assert len(numbers) > 1000
    assert numbers == [str(number).encode() for number in range(1, len(numbers) + 1)]
    assert output.breaches == []


async def test_closing_settles_what_is_under_way(guarded: AnySpawner) -> None:
    """A spawner that closes within the window of quiet still tells every end once."""
    for _ in range(20):
        running = await start(guarded, script("sleep 100 & echo done"))
        await running.output.shows(b"done")
        await guarded.close()
        assert running.output.ending is not None
        assert running.output.gone
        assert (await running.ended()) == running.output.ending
        assert running.output.breaches == []


async def test_a_sink_that_fails_does_not_stop_the_others(guarded: AnySpawner) -> None:
    """The drainer serves everybody: one sink's error is reported and costs only its own output."""
    complaints: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, report: complaints.append(str(report["exception"])))
    bad = await start(guarded, command("cat", **OPEN))
    bad.output.feed = broken  # type: ignore[method-assign]
    good = await start(guarded, command("cat", **OPEN))
    for one in (bad, good):
        one.process.awaited(False)
    bad.process.write(b"x")
    await eventually(lambda: complaints)
    good.process.write(b"hello")
    await good.output.shows(b"hello")
    for one in (bad, good):
        one.process.close_stdin()
        await one.ended()
    assert complaints == ["this sink is broken"]


def broken(data: memoryview) -> None:
    raise RuntimeError("this sink is broken")


async def test_output_held_from_outside_the_tree_is_let_go(guarded: AnySpawner) -> None:
    """When the tree is gone its output is read and closed, though a stranger holds it open."""
    code = "import os; print(os.getpid(), flush=True); input()"
    running = await start(guarded, python(code, **OPEN))
    await running.output.shows(b"\n")
    stranger = os.open(f"/proc/{running.process.pid}/fd/1", os.O_WRONLY)
    running.process.write(b"\n")
    await running.all_gone()
    with pytest.raises(BrokenPipeError):
        os.write(stranger, b"x")
    os.close(stranger)
