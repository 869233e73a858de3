"""Commands that run out of time, are cancelled or interrupted: what they started ends, and
nothing else, and the shell is as it was."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from fairlead import Engine
from tests.live.driving import KINDS, Live, alive, kill, outside, pid_in, until, written

INTERACTIVE = pytest.mark.parametrize(
    "live", [name for name, kind in KINDS.items() if kind.interactive], indirect=True
)
SOON_MS = 600  # for a command that never ends, and long enough for what it does first


def facts(answer: object) -> tuple[object, object]:
    told = answer.structured  # type: ignore[attr-defined]
    return told.get("exit_code"), told.get("timed_out")


async def stays_as_it_was(live: Live) -> None:
    assert await live.out('echo "$x $PWD"; f') == "kept /tmp\nfunction\n"


async def with_state(live: Live) -> None:
    await live.out("cd /tmp; x=kept; f() { echo function; }")


ENDLESS = {
    "a program": "sleep 100",
    "the first of several": "sleep 100; echo rest > $HOME/rest",
    "one of a list": "sleep 100 || echo rest > $HOME/rest",
    "a loop": "while :; do sleep 0.02; done",
    "a builtin loop": "while :; do :; done; echo rest > $HOME/rest",
    "in a subshell": "(sleep 100; echo rest > $HOME/rest)",
    "in a function": "g() { sleep 100; echo rest > $HOME/rest; }; g; g",
    "in a pipe": "sleep 100 | cat; echo rest > $HOME/rest",
    "in a substitution": "y=$(sleep 100); echo rest > $HOME/rest",
    "a wait": "sleep 100 & wait; echo rest > $HOME/rest",
    "handles SIGINT": "sh -c 'trap : INT; sleep 100'; echo rest > $HOME/rest",
}


@pytest.mark.parametrize("what", list(ENDLESS))
async def test_a_timeout_ends_it(live: Live, home: Path, what: str) -> None:
    """The partial output and 124 come back, the rest of the script does not run, and the shell
    has its state."""
    await with_state(live)
    answer = await live.run(f"echo before; {ENDLESS[what]}", timeout_ms=SOON_MS)
    assert facts(answer) == (124, True), answer.content
    assert answer.structured["output"].splitlines()[0] == "before"
    assert "survivors" not in answer.structured
    await stays_as_it_was(live)
    assert not (home / "rest").exists()


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'trap \"\" INT TERM; echo $$ > $0; while :; do sleep 0.05; done' {note}",
        "sleep 100 & echo $! > {note}; sleep 100",
        "(setsid sh -c 'echo $$ > {note}; sleep 100' >/dev/null 2>&1 &); sleep 100",
        "setsid sh -c 'echo $$ > {note}; exec sleep 100'; sleep 100",
    ],
    ids=["deaf", "background", "daemon", "own session"],
)
async def test_a_timeout_ends_all_that_it_started(live: Live, home: Path, command: str) -> None:
    """Also what ignores the asking, runs in the background or left for a session of its own."""
    note = home / "pid"
    await with_state(live)
    answer = await live.run(command.format(note=note), timeout_ms=SOON_MS)
    assert facts(answer) == (124, True)
    assert not alive(pid_in(note))
    await stays_as_it_was(live)


@INTERACTIVE  # one that reads a script can't be interrupted: it is replaced
async def test_earlier_jobs_stay(live: Live) -> None:
    """A timeout ends no job of an earlier command, and not what that job starts meanwhile."""
    started = await live.out("(while :; do sleep 0.05; done) & echo $!")
    job = int(started.split()[-1])
    assert facts(await live.run("sleep 100", timeout_ms=SOON_MS)) == (124, True)
    assert alive(job)
    kill(job)


async def test_a_deaf_shell_is_replaced(live: Live) -> None:
    """A loop in a shell that ignores all signals: only another shell helps, and that is told."""
    await live.out("cd /tmp")
    deaf = "trap '' INT TERM HUP; cd /; while :; do :; done"
    answer = await live.run(deaf, timeout_ms=SOON_MS)
    assert facts(answer) == (124, True)
    assert answer.structured["warnings"]
    assert await live.out("pwd") == "/\n"


async def test_what_went_with_the_shell_is_no_survivor(live: Live) -> None:
    """A deaf shell starts another child whenever one is ended. Only its own end helps, and after
    that nobody is left to be named."""
    deaf = "trap '' INT TERM HUP; while :; do sleep 0.2; done"
    answer = await live.run(deaf, timeout_ms=SOON_MS)
    assert facts(answer) == (124, True)
    assert "survivors" not in answer.structured


async def test_time_runs_out_at_once(bash: Live) -> None:
    """However short the time, the shell is usable afterwards."""
    for _ in range(5):
        assert facts(await bash.run("sleep 5", timeout_ms=1)) == (124, True)
        assert await bash.out("echo usable") == "usable\n"


async def test_a_cancelled_call_stops_its_command(live: Live, home: Path) -> None:
    """Cancelling returns when the command is gone; the shell has its state."""
    note = home / "pid"
    await with_state(live)
    running = asyncio.create_task(live.run(f"sh -c 'echo $$ > {note}; exec sleep 100'"))
    await until(written(note))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(pid_in(note))
    await stays_as_it_was(live)


async def test_a_call_cancelled_at_any_moment(engine: Engine, home: Path) -> None:
    """Also while the shell starts or the command is typed: nothing hangs, nothing is left."""
    for turns in (0, 1, 2, 3, 5, 8, 13, 40):
        live = await Live.open(engine, KINDS["own bash"])
        running = asyncio.create_task(live.run("sleep 100"))
        for _ in range(turns):
            await asyncio.sleep(0.002)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await live.out("echo usable") == "usable\n"
        await live.out("exit 0")


@INTERACTIVE  # without a terminal SIGINT ends the shell too
async def test_an_interrupt_comes_back_through_the_prompt(live: Live, home: Path) -> None:
    """SIGINT from outside ends the command like Ctrl-C would; the shell stays."""
    note = home / "pid"
    await with_state(live)
    number = await live.id()
    running = asyncio.create_task(live.run(f"sh -c 'echo $$ > {note}; exec sleep 100'; echo rest"))
    await until(written(note))
    found = outside(pid_in(note))
    assert found is not None
    os.killpg(os.getpgid(found), signal.SIGINT)
    answer = await running
    assert answer.structured["exit_code"] == 130
    assert "rest" not in answer.structured["output"]
    await stays_as_it_was(live)
    assert await live.id() == number


async def test_closing_the_engine_ends_the_call(live: Live, home: Path) -> None:
    """A command that runs while the engine closes ends with it."""
    note = home / "pid"
    running = asyncio.create_task(live.run(f"sh -c 'echo $$ > {note}; exec sleep 100'"))
    await until(written(note))
    await live.engine.close()
    assert not (await running).success
    assert not alive(pid_in(note))
