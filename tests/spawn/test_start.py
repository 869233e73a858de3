"""What a command is born with: streams, session, directory, signals, and nothing else."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.model.env import Rlimit
from fairlead.spawn.bare import BareSpawner
from fairlead.spawn.local import LocalSpawner
from tests.spawn import signals
from tests.spawn.running import (
    OPEN,
    PATH,
    TTY,
    AnySpawner,
    command,
    outside,
    python,
    run,
    script,
    start,
)

Require = Callable[[str], str]

NONE: frozenset[int] = frozenset()

SHOW_DESCRIPTORS = """
import os
for fd in os.listdir("/proc/self/fd"):
    try:
        os.fstat(int(fd))
    except OSError:
        continue  # the one that lists
    print(fd)
"""


@pytest.mark.parametrize("fields", [{}, OPEN, TTY], ids=["null", "open", "tty"])
async def test_no_descriptor_is_inherited_but_three(
    spawner: AnySpawner, fields: dict[str, object]
) -> None:
    """Standard input, output and error, whatever else is open and inheritable in the engine."""
    stray = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(stray, True)
    try:
        output = await run(spawner, python(SHOW_DESCRIPTORS, **fields))
    finally:
        os.close(stray)
    assert sorted(map(int, output.data.split())) == [0, 1, 2]


async def test_attached_bytes_are_readable_under_their_numbers(spawner: AnySpawner) -> None:
    """Also where the numbers are in the way of what we hold ourselves, and for large contents."""
    attached = {number: f"<{number}>".encode() for number in range(3, 30)}
    attached[199] = b"x" * 300_000
    code = """
import os
for number in (*range(3, 30), 199):
    data = b"".join(iter(lambda: os.read(number, 65536), b""))
    print(len(data) if number == 199 else data.decode())
"""
    output = await run(spawner, python(code, attached=attached))
    assert output.data.decode().split() == [*(f"<{one}>" for one in range(3, 30)), "300000"]


async def test_only_attached_descriptors_are_added(spawner: AnySpawner) -> None:
    """With attached bytes too, nothing else is open."""
    output = await run(spawner, python(SHOW_DESCRIPTORS, attached={5: b"x"}))
    assert sorted(map(int, output.data.split())) == [0, 1, 2, 5]


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_a_session_and_a_group_of_its_own(
    spawner: AnySpawner, tty: bool, require: Require
) -> None:
    """The command leads its own session and process group, as `ps` sees it."""
    require("ps")
    running = await start(
        spawner, script("echo $$; ps -o pid=,pgid=,sid= -p $$; read x", tty=tty, **OPEN)
    )
    await running.output.until(lambda: running.output.data.count(b"\n") == 2)
    own, *seen = map(int, running.output.data.split())
    assert seen == [own, own, own]
    assert outside(own) == running.process.pid
    assert os.getsid(running.process.pid) == running.process.pid
    running.process.close_stdin()
    await running.ended()


async def test_a_controlling_terminal_of_its_own(spawner: AnySpawner) -> None:
    """With a terminal /dev/tty opens and is that terminal; all three streams are it."""
    text = "echo hello >/dev/tty; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && tty && ps -o tty= -p $$"
    output = await run(spawner, script(text, tty=True))
    hello, path, seen = output.data.decode().split()
    assert hello == "hello"
    assert path == f"/dev/{seen}"


async def test_without_a_terminal_there_is_none(spawner: AnySpawner) -> None:
    """A command on pipes can't reach the terminal that the engine may have."""
    output = await run(spawner, script("(: </dev/tty) 2>/dev/null || echo none"))
    assert output.data == b"none\n"


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_signals_are_as_a_new_program_expects_them(guarded: LocalSpawner, tty: bool) -> None:
    """None is blocked or ignored, whatever the engine does with them, the C library's included."""
    with signals.ignored({signal.SIGUSR1} | signals.RESERVED), signals.blocked({signal.SIGUSR2}):
        assert await blocked_and_ignored(guarded, tty) == (NONE, NONE)


async def test_signals_are_reset_for_a_terminal_without_the_launcher(spawner: AnySpawner) -> None:
    """The pure-Python path does the same where it prepares a command."""
    before = signals.default(signals.RESERVED)
    with before, signals.ignored({signal.SIGUSR1}), signals.blocked({signal.SIGUSR2}):
        assert await blocked_and_ignored(spawner, tty=True) == (NONE, NONE)


async def test_without_the_launcher_the_c_library_keeps_its_own_signals() -> None:
    """Python can't reset the few that the C library reserves: they alone stay as inherited."""
    spawner = BareSpawner("a test")
    with signals.ignored({signal.SIGUSR1} | signals.RESERVED):
        assert await blocked_and_ignored(spawner, tty=True) == (NONE, signals.RESERVED)
    await spawner.close()


async def blocked_and_ignored(
    spawner: AnySpawner, tty: bool
) -> tuple[frozenset[int], frozenset[int]]:
    """As the kernel has them for a command that changes none itself."""
    output = await run(spawner, command("grep", "^Sig[BI]", "/proc/self/status", tty=tty))
    fields = dict(line.split(b":\t") for line in bytes(output.data).splitlines())
    return signals.in_mask(fields[b"SigBlk"]), signals.in_mask(fields[b"SigIgn"])


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_the_environment_is_exactly_the_given_one(spawner: AnySpawner, tty: bool) -> None:
    """Nothing of the engine's own environment shows, and odd bytes survive."""
    variables = {"PATH": PATH, "A": "b=c", "UMLAUT": "ä", "BYTES": os.fsdecode(b"\xff"), "E": ""}
    output = await run(spawner, command("env", "-0", env=variables, tty=tty))
    found = dict(entry.split(b"=", 1) for entry in bytes(output.data).split(b"\0") if entry)
    assert found == {os.fsencode(k): os.fsencode(v) for k, v in variables.items()}


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_a_large_environment_arrives(spawner: AnySpawner, tty: bool) -> None:
    """A plan that no socket takes at once gets there all the same."""
    variables = {"PATH": PATH, **{f"V{number}": "x" * 1000 for number in range(400)}}
    output = await run(spawner, script("echo $V399 | wc -c", env=variables, tty=tty))
    assert output.data.split() == [b"1001"]


async def test_limits_are_set(spawner: AnySpawner) -> None:
    """Resource limits hold for the command and not for us."""
    limits = (Rlimit(resource.RLIMIT_NOFILE, 40, 50), Rlimit(resource.RLIMIT_CORE, 0, 0))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    output = await run(spawner, script("ulimit -Sn; ulimit -Hn; ulimit -c", limits=limits))
    assert output.data.split() == [b"40", b"50", b"0"]
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
async def test_the_executable_may_differ_from_its_name(spawner: AnySpawner, tty: bool) -> None:
    """argv[0] is what the program is told, `executable` what is run."""
    env = command("a name", "-c", "echo $0", executable="/bin/sh", tty=tty)
    assert (await run(spawner, env)).data.split() == [b"a", b"name"]


async def test_the_directory_is_held_by_descriptor(
    unconfined: LocalSpawner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was looked at is what the command starts in, though it is renamed meanwhile."""
    checked, other = tmp_path / "checked", tmp_path / "other"
    checked.mkdir()
    (checked / "right").touch()
    opened = os.open

    def open_then_rename(path: Path, flags: int) -> int:
        fd = opened(path, flags)
        if path == checked:
            checked.rename(other)
            checked.mkdir()
        return fd

    monkeypatch.setattr("fairlead.spawn.start.os.open", open_then_rename)
    output = await run(unconfined, command("ls", cwd=checked))
    assert output.data == b"right\n"


async def test_the_directory_may_go_while_the_command_runs(
    spawner: AnySpawner, tmp_path: Path
) -> None:
    """Neither we nor the guard hold on to it."""
    place = tmp_path / "place"
    place.mkdir()
    running = await start(spawner, script("echo x; cd /; read line; pwd", cwd=place, **OPEN))
    await running.output.shows(b"x")
    place.rmdir()
    running.process.write(b"\n")
    await running.ended()
    assert running.output.data == b"x\n/\n"
