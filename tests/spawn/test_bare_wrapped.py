"""Commands behind a program that confines them: their own endings, never the program's."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.model.access import Access
from fairlead.model.env import ExecEnv, Rlimit
from fairlead.model.errors import SandboxFailed, SpawnFailed
from fairlead.model.frozen import replace
from fairlead.model.process import Whom
from fairlead.sandbox import bubblewrap, seccomp
from fairlead.sandbox.host import assumed
from fairlead.sandbox.system import system
from fairlead.spawn import tree
from fairlead.spawn.bare import BareProcess, BareSpawner
from fairlead.spawn.bare_wrapped import Wrapped
from tests.programs import require
from tests.spawn.confined import writable
from tests.spawn.running import (
    OPEN,
    TTY,
    Output,
    command,
    eventually,
    is_running,
    open_descriptors,
    outside,
    python,
    run,
    script,
    start,
)

TMP = os.path.realpath(tempfile.gettempdir())


@pytest.fixture
async def bare() -> AsyncIterator[BareSpawner]:
    found = BareSpawner("a test")
    yield found
    await found.close()


def behind(env: ExecEnv) -> ExecEnv:
    """The same, with `bwrap` around it and the temporary directory writable."""
    host = replace(assumed(launcher=False), notify=False, bubblewrap=require("bwrap"))
    access = Access(rules=(writable(TMP),))
    program = seccomp.compile_filter(host.machine, access.network, notify=False)
    wrapper = bubblewrap.render(access, host, system(), program)
    return wrapper.around(env)


def wrapped_by(env: ExecEnv, *words: str) -> ExecEnv:
    """The same behind a program of ours."""
    return replace(env, argv=(*words, *env.argv), wrapped=len(words))


PLAIN = ("/usr/bin/env", "--")  # the plainest wrapper: it confines nothing
both = pytest.mark.parametrize("fields", [{}, TTY], ids=["pipe", "tty"])


@both
@pytest.mark.parametrize("code", [0, 1, 7, 127, 255])
async def test_the_exit_code_is_the_commands(bare, fields, code):
    """Whatever the wrapper makes of it."""
    output = await run(bare, behind(script(f"echo x; exit {code}", **fields)))
    assert output.data.split() == [b"x"]
    assert output.ending is not None
    assert (output.ending.code, output.ending.signal) == (code, None)


@both
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGUSR1])
async def test_the_signal_is_the_commands(bare, fields, number):
    """What it died of, which a wrapper tells nobody."""
    output = await run(bare, behind(python(f"import os; os.kill(os.getpid(), {number})", **fields)))
    assert output.ending is not None
    assert (output.ending.code, output.ending.signal) == (128 + number, number)


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program"])
async def test_what_is_not_there_says_so(bare, name):
    """As without a wrapper: nothing ran, and why."""
    with pytest.raises(SpawnFailed, match=f"command not found: {name}") as refusal:
        await start(bare, behind(command(name)))
    assert refusal.value.errno == errno.ENOENT
    assert not isinstance(refusal.value, SandboxFailed)


async def test_what_is_no_program_says_so(bare, tmp_path):
    """A file that may not be executed, and one without a format."""
    text = tmp_path / "text"
    text.write_text("echo hello\n")
    with pytest.raises(SpawnFailed, match=r"not executable: .*text .permission denied"):
        await start(bare, behind(command(str(text))))
    text.chmod(0o755)
    with pytest.raises(SpawnFailed, match="not a program"):
        await start(bare, behind(command(str(text))))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("/usr/bin/false",), "/usr/bin/false ended with 1"),
        (("/bin/sh", "-c", "echo no permissions >&2; exit 3"), "no permissions"),
        (("/bin/sh", "-c", "kill -9 $$"), "/bin/sh ended with -9"),
        (("/bin/sh", "-c", "exit 0"), "/bin/sh ended with 0"),
        (("/no/such/wrapper",), "FileNotFoundError"),
    ],
)
async def test_a_wrapper_that_fails_is_no_command(bare, words, reason):
    """It is the sandbox that could not be set up, and nothing ran; its words are no output."""
    with pytest.raises(SandboxFailed, match="could not be set up") as refusal:
        await start(bare, wrapped_by(script("echo ran > /dev/stderr"), *words))
    assert reason in str(refusal.value)
    assert str(refusal.value).endswith("; sh was not run")


async def test_a_wrapper_that_is_killed_later(bare):
    """The command goes with it, and nobody claims an exit code that was never seen."""
    running = await start(bare, behind(script("echo up; exec sleep 1000")))
    await running.output.shows(b"up")
    inside = running.process.descendants()
    os.kill(running.process.pid, signal.SIGKILL)
    ending = await running.ended()
    assert ending.signal == signal.SIGKILL
    await running.all_gone()
    assert not [pid for pid in inside if is_running(pid)]


async def test_a_terminal(bare):
    """It is the command's own: job control, its size, and its keys."""
    env = behind(command("bash", "--norc", "-i", env={"PATH": "/usr/bin:/bin", "PS1": "> "}, **TTY))
    running = await start(bare, env)
    await running.output.shows(b"> ")
    running.process.write(b"stty size; tty; sleep 1000\n")
    await running.output.shows(b"24 80")
    await eventually(lambda: running.process.foreground_program() == "sleep")
    running.process.write(b"\x03")
    await eventually(lambda: running.process.foreground_program() == "bash")
    running.process.write(b"echo status $?\n")
    await running.output.shows(b"status 130")
    running.process.write(b"exit 9\n")
    assert (await running.ended()).code == 9
    assert b"no job control" not in running.output.data


async def test_signals_reach_the_command_and_not_what_is_around_it(bare):
    """The group's signals are heard by the command; the programs around it outlive them."""
    text = "trap 'echo got it; exit 5' TERM; echo up; while :; do sleep 0.01; done"
    running = await start(bare, behind(script(text)))
    await running.output.shows(b"up")
    running.process.signal(signal.SIGTERM)
    assert (await running.ended()).code == 5
    assert b"got it" in running.output.data


async def test_a_command_is_born_with_no_signal_ignored(bare):
    """Though those around it ignore all."""
    output = await run(bare, behind(command("cat", "/proc/self/status")))
    status = dict(line.split(":\t", 1) for line in output.data.decode().splitlines())
    libc_own = 0b11 << 31  # 32 and 33: whoever started the tests may ignore them, and Python can't
    assert int(status["SigIgn"], 16) & ~libc_own == 0
    assert int(status["SigBlk"], 16) == 0


async def test_input_limits_and_environment(bare):
    """What a command is given without a wrapper it is given behind one."""
    env = script("read x; echo $x; ulimit -n; env", **OPEN, env={"PATH": "/usr/bin:/bin", "A": "1"})
    running = await start(bare, behind(replace(env, limits=(Rlimit(7, 99, 99),))))
    running.process.write(b"typed\n")
    await running.ended()
    said = running.output.data.split()
    assert said[:2] == [b"typed", b"99"]
    assert {bytes(one) for one in said[2:] if not one.startswith(b"PWD=")} == {
        b"PATH=/usr/bin:/bin",
        b"A=1",
    }


async def test_nothing_of_ours_is_open_in_it(bare):
    """Its own three, and the listing."""
    output = await run(bare, behind(command("ls", "/proc/self/fd")))
    assert output.data.split() == [b"0", b"1", b"2", b"3"]


async def test_attached_bytes_are_found(bare):
    """Under the number that was asked for, behind the wrapper too."""
    env = behind(script("cat <&9"))
    attached = {**(env.attached or {}), 9: b"from us"}
    assert (await run(bare, replace(env, attached=attached))).data == b"from us"


async def test_the_tree_is_ended_with_its_escapees(bare):
    """The wrapper's end is the end of its namespace."""
    running = await start(bare, behind(script("setsid sleep 1000 & echo $!; exec sleep 1000")))
    await running.output.shows(b"\n")
    escaped = outside(int(running.output.data))
    assert await running.process.end_tree(0.0) == ()
    assert not is_running(escaped)
    await running.all_gone()


async def test_a_command_is_found_behind_its_wrapper(bare):
    """Its program's name is its own, and a signal for it alone reaches it."""
    running = await start(bare, behind(command("sleep", "1000")))
    assert isinstance(running.process, BareProcess)
    child = running.process._child
    assert isinstance(child, Wrapped)
    pid = child.command()
    assert pid is not None
    assert tree.name(pid) == "sleep"
    child.send_signal(signal.SIGTERM)
    assert (await running.ended()).signal == signal.SIGTERM
    assert child.command() is None


async def test_a_directory_that_is_another_inside(bare, tmp_path):
    """What the wrapper shows at its path has to be what was opened."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    words = ("/bin/sh", "-c", f'cd {tmp_path}/two; exec "$0" "$@"')
    env = wrapped_by(command("true", cwd=tmp_path / "one"), *words)
    with pytest.raises(SpawnFailed, match="workdir: the directory was replaced"):
        await start(bare, env)


async def test_failures_leave_nothing(bare):
    """No descriptor and no process, whoever failed."""
    await run(bare, behind(command("true")))
    before = len(open_descriptors())
    for _ in range(5):
        for env in (wrapped_by(command("true"), "/usr/bin/false"), behind(command("no-such"))):
            with pytest.raises(SpawnFailed):
                await bare.spawn(env, Output())
        await run(bare, behind(command("true")))
    await eventually(lambda: len(open_descriptors()) <= before)


async def test_a_tree_signal(bare):
    """Everybody whom a walk finds gets it, outside of the group too."""
    loop = "while :; do sleep 0.01; done"
    text = f"setsid sh -c \"trap 'echo heard' USR1; echo up; {loop}\" & trap '' USR1; {loop}"
    running = await start(bare, behind(script(text)))
    await running.output.shows(b"up")
    running.process.signal(signal.SIGUSR1, Whom.TREE)
    await running.output.shows(b"heard")
    assert await running.process.end_tree(0.0) == ()


async def test_a_temporary_file_can_be_written_and_the_rest_not(bare, tmp_path):
    """It does confine."""
    text = f"echo x > {tmp_path}/new && echo wrote; echo x > /etc/new || echo refused"
    output = await run(bare, behind(script(text)))
    assert output.data.split()[0] == b"wrote"
    assert b"refused" in output.data
    assert Path(tmp_path / "new").read_text() == "x\n"
