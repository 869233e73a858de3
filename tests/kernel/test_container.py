"""Commands in containers that are real: what they see, what holds them, and how they end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead import Engine
from fairlead.config.options import Options
from fairlead.model.access import Limits, SandboxPolicy
from fairlead.model.container import Backend
from fairlead.spawn import tree
from fairlead.spawn.container_engine import ask
from fairlead.tools.model import ToolOutput
from tests.cli.trees import TREE, all_gone, pidfds, ready_pipe
from tests.containers import EXPECTED, containers, imported, podman
from tests.front_ends import PROGRAM, SECONDS, environment, started
from tests.spawn.running import eventually, is_running
from tests.spawn.terminal import Terminal

pytestmark = pytest.mark.xdist_group("containers")

WAIT_MS = 60_000
SECRET = "sesame"
LEFT = "setsid sleep 86400 & echo up; exec sleep 86400"  # a child that left the group


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    with imported() as name:
        yield name


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with a repository in it, and something that is nobody's business."""
    work = tmp_path / "work"
    (work / ".git/hooks").mkdir(parents=True)
    (work / ".git/config").write_text("[core]\n")
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (work / ".env").write_text(SECRET)
    (work / "keys").mkdir()
    (work / "keys/id").write_text(SECRET)
    (tmp_path / "outside").write_text(SECRET)
    return work


@asynccontextmanager
async def opened(work: Path, image: str, **more: Any) -> AsyncIterator[Engine]:
    given = {"deny_read": (".env", "keys"), **more}
    async with Engine(Options(cwd=work, backend=Backend.CONTAINER, image=image, **given)) as engine:
        yield engine


@pytest.fixture
async def engine(work: Path, image: str) -> AsyncIterator[Engine]:
    async with opened(work, image) as found:
        yield found


async def bash(engine: Engine, script: str, **more: Any) -> dict[str, Any]:
    arguments = {"command": ["bash", "-c", script], "timeout_ms": WAIT_MS}
    return dict((await engine.call("shell", arguments, **more)).structured)


async def begin(engine: Engine, script: str, **more: Any) -> int:
    """A session that has said its first word."""
    given = {"cmd": ["bash", "-c", script], "yield_time_ms": 0, **more}
    answer = await engine.call("exec_command", given)
    number = answer.structured["session_id"]
    assert isinstance(number, int)
    if "up" not in answer.structured["output"]:
        await wait(engine, number, pattern="up")
    return number


async def wait(engine: Engine, number: int, **condition: Any) -> ToolOutput:
    given = {"session_id": number, "timeout_ms": WAIT_MS, **condition}
    return await engine.call("wait_for", given)


def processes(engine: Engine, number: int) -> list[int]:
    process = engine.session(number).process
    assert process is not None
    return process.descendants()


async def how_many(engine: Engine, number: int, count: int) -> list[int]:
    await eventually(lambda: len(processes(engine, number)) == count)
    return processes(engine, number)


def running_in(program: int, ready: Path) -> tuple[int, int, list[int]]:
    """Once `TREE` runs in the container of a program: its first process, its monitor, and handles
    of all processes inside."""
    for one in pidfds(ready):
        os.close(one)
    (name,) = containers(program)
    said = podman("inspect", name, "--format", "{{.State.Pid}} {{.State.ConmonPid}}")
    first, monitor = map(int, said.split())
    inside = [first, *tree.descendants(first)]
    assert len(inside) >= 3  # the first process, and the two of the tree
    return first, monitor, [os.pidfd_open(pid) for pid in inside]


# --- one container ---------------------------------------------------------------------------


async def test_commands_of_an_agent_share_one_container(engine: Engine) -> None:
    """Made for the first command and there for the second; another agent has another one. It goes
    with its agent, and all go with the engine."""
    show = "readlink /proc/self/ns/mnt /proc/self/ns/pid /proc/self/ns/net"
    first, second = [(await bash(engine, show))["output"] for _ in range(2)]
    assert first == second
    assert len(containers()) == 1
    assert (await bash(engine, show, agent="other"))["output"] != first
    assert len(containers()) == 2
    await engine.end_agent("other")
    await eventually(lambda: len(containers()) == 1)
    await engine.close()
    assert containers() == []


async def test_a_changed_policy_is_another_container(engine: Engine, work: Path) -> None:
    """What is to be hidden is covered also where it is new; what runs stays where it is."""
    number = await begin(engine, "echo up; read x; echo still here", stdin="open")
    (work / "keys").rename(work / "gone")
    (work / "keys").mkdir()
    (work / "keys/new").write_text(SECRET)
    found = await bash(engine, "cat keys/new")
    assert found["exit_code"] == 1
    assert SECRET not in found["output"]
    assert len(containers()) == 2
    await engine.call("write_stdin", {"session_id": number, "chars": "\n"})
    await wait(engine, number, exit=True)
    await eventually(lambda: len(containers()) == 1)


async def test_a_path_that_is_exchanged_is_a_refusal(
    engine: Engine, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at it and the start: nothing runs, and no container stays."""

    def exchange_and_ask(argv: tuple[str, ...]) -> str:
        if argv[1] == "run":
            work.rename(work.parent / f"old-{len(os.listdir(work.parent))}")
            work.mkdir()
        return ask(argv)

    monkeypatch.setattr("fairlead.spawn.container.ask", exchange_and_ask)
    found = await engine.call("shell", {"command": ["touch", "ran"]})
    assert f"{work} was replaced while it was made. The command was not run" in found.content
    assert list(work.parent.rglob("ran")) == []
    await eventually(lambda: containers() == [])


@pytest.mark.parametrize(
    "killed", ["engine", "first process", pytest.param("monitor", marks=pytest.mark.slow)]
)
async def test_whoever_dies_nobody_stays(image: str, work: Path, killed: str) -> None:
    """An engine that is killed takes its container and every process inside along. So does the
    first process inside; and what a container's monitor leaves behind, the next engine removes."""
    ready = ready_pipe(work)
    call = json.dumps({"command": ["sh", "-c", TREE], "timeout_ms": 3_600_000})
    flags = ["--backend", "container", "--image", image, "--cwd", str(work)]
    with started("call", "shell", call, *flags) as program:
        first, monitor, pids = running_in(program.pid, ready)
        if killed == "first process":
            os.kill(first, signal.SIGKILL)
            out, _ = program.communicate(timeout=SECONDS)
            assert b'"exit_code":137' in out
        else:
            if killed == "monitor":
                os.kill(monitor, signal.SIGKILL)
            program.kill()
            program.wait()
    assert all_gone(pids)
    if killed == "monitor":
        sweep = "import sys; from fairlead.spawn.container import sweep; sweep(sys.argv[1])"
        subprocess.run(
            [PROGRAM[0], "-c", sweep, "/usr/bin/podman"],
            env=environment(),
            check=True,
            timeout=SECONDS,
        )
        assert containers(program.pid) == []
    await eventually(lambda: containers(program.pid) == [])


# --- what is seen ----------------------------------------------------------------------------


async def test_what_is_seen_and_written(engine: Engine, work: Path) -> None:
    """The workspace at its own path, the image for the rest, and nothing else of the machine."""
    found = await bash(engine, "pwd; echo made > made; echo x > /tmp/x; echo x > ~/x; ls -a ..")
    assert found["output"].split() == [str(work), ".", "..", "work"]
    assert found["sandbox"] == {"type": "container", "tier": "container", "missing": []}
    made = os.stat(work / "made")
    assert (made.st_uid, made.st_gid) == (os.getuid(), os.getgid())
    assert not os.path.exists("/tmp/x")
    image_files = await bash(engine, "cd /usr/bin && ls | head -n 1; cat /proc/sys/kernel/hostname")
    assert image_files["output"].split() == ["bash", "fairlead"]


async def test_the_environment_is_the_images_and_ours(engine: Engine) -> None:
    """What the host says of itself is left out, what a call says is heard."""
    args = {"cmd": ["env"], "env": {"MINE": "1"}, "login": False}
    answer = await engine.call("exec_command", args)
    lines = answer.structured["output"].split("\n")
    assert {f"PATH={EXPECTED}", "FROM_IMAGE=yes", "MINE=1", "FAIRLEAD=1"} <= set(lines)
    args["env"] = {"PATH": "/nowhere:/usr/bin"}
    answer = await engine.call("exec_command", args)
    assert "PATH=/nowhere:/usr/bin" in answer.structured["output"].split("\n")


REFUSED = (
    "touch /x",
    "touch /usr/bin/x",
    "touch /etc/x",
    "echo x > /run/.fairlead/launcher",
    "touch /run/.fairlead/meet/x",
    "touch .git/hooks/pre-commit",
    "echo x >> .git/config",
    "mv .git elsewhere",
    "mv .git/hooks .git/elsewhere",
    "rm -r .git/hooks",
    "[[ $(cat .env) ]]",
    "mv .env elsewhere",
    "ls keys/id",
    "cat keys/id",
    "chmod 700 keys",
    "touch keys/more",
    "cat ../outside",
    "cat /proc/1/root/etc/passwd",
    "kill -9 1",
    "mkdir /tmp/m && mount -t tmpfs none /tmp/m",
    "unshare -r true",
    "chmod u+s /tmp && mknod /tmp/null c 1 3",
    "echo > /dev/tcp/192.0.2.1/80",
    "echo x > /proc/sys/kernel/hostname",
    "echo 1 > /sys/fs/cgroup/cgroup.procs",
    "echo b > /proc/sysrq-trigger",
)


async def test_what_is_refused(engine: Engine, work: Path) -> None:
    """None of it works, nothing is given away, and the workspace stays as it is."""
    before = sorted(map(str, work.rglob("*")))
    got_through = []
    for attempt in REFUSED:
        found = await bash(engine, attempt)
        assert found["exit_code"] != 127, found  # that would prove nothing
        if found["exit_code"] == 0 or SECRET in found["output"]:
            got_through.append(attempt)
    assert got_through == []
    assert sorted(map(str, work.rglob("*"))) == before
    assert (work / ".env").read_text() == SECRET
    assert (work / ".git/config").read_text() == "[core]\n"


async def test_the_network_is_a_loopback(engine: Engine) -> None:
    """With the network off there is one interface, which is up."""
    found = await bash(engine, "tail -n +3 /proc/net/dev")
    assert [line.split(":")[0].strip() for line in found["output"].splitlines()] == ["lo"]
    assert "127.0.0.1" in (await bash(engine, "cat /proc/net/fib_trie"))["output"]


async def test_read_only_is_read_only(work: Path, image: str) -> None:
    """The workspace is seen, and can't be written."""
    async with opened(work, image, sandbox=SandboxPolicy.READ_ONLY) as engine:
        found = await bash(engine, "cat .git/HEAD; cat .env; touch x")
        assert "refs/heads" in found["output"]
        assert SECRET not in found["output"]
        assert "Read-only file system" in found["output"]
        assert found["status"] == "denied"
        assert {"what": "write", "path": f"{work}/x"}.items() <= found["denials"][-1].items()


async def test_a_filtered_call_is_a_fact(engine: Engine) -> None:
    """The filter asks us from inside, too; also before we have heard that the command runs."""
    for _ in range(20):
        found = await bash(engine, "unshare -r true")
        denied = [one for one in found.get("denials", ()) if one["by"] == "seccomp"]
        assert [one["syscall"] for one in denied] == ["unshare(new namespace)"]


# --- how they run and end --------------------------------------------------------------------


async def test_exit_codes_and_signals(engine: Engine) -> None:
    """As exact as anywhere."""
    for script, code, number in (
        ("exit 7", 7, None),
        ("kill -9 $$", 137, "SIGKILL"),
        ("kill -SEGV $$", 139, "SIGSEGV"),
        ("exit 139", 139, None),
    ):
        found = await bash(engine, script)
        assert (found["exit_code"], found.get("signal")) == (code, number)
    missing = await engine.call("shell", {"command": ["no-such-program"]})
    assert "command not found: no-such-program" in missing.content


async def test_a_terminal(engine: Engine) -> None:
    """Of the container's own, with a size, job control and keys that are signals."""
    script = "trap 'echo got; exit 3' INT; tty; stty size; echo up; while :; do sleep 0.01; done"
    number = await begin(engine, script, tty=True)
    await engine.call("write_stdin", {"session_id": number, "chars": "\x03"})
    ended = (await wait(engine, number, exit=True)).structured
    assert ended["exit_code"] == 3
    text = (await engine.call("read_output", {"session_id": number})).content
    assert re.search(r"/dev/pts/\d+\s+24 80\s+up\s", text)
    assert "got" in text


async def test_input_on_a_pipe(engine: Engine) -> None:
    """It arrives, and its end does."""
    number = await begin(engine, "echo up; cat; echo over", stdin="open")
    await engine.call("write_stdin", {"session_id": number, "chars": "typed", "eof": True})
    ended = await wait(engine, number, exit=True)
    assert ended.structured["exit_code"] == 0
    text = (await engine.call("read_output", {"session_id": number})).content
    assert "typedover" in text


async def test_a_signal_reaches_the_process_inside(engine: Engine) -> None:
    """Not some client of the engine's."""
    loop = "while :; do sleep 0.01; done"
    number = await begin(engine, f"trap 'echo heard; exit 5' USR1; echo up; {loop}")
    await engine.call("kill_session", {"session_id": number, "signal": "USR1"})
    assert (await wait(engine, number, exit=True)).structured["exit_code"] == 5


async def test_ending_one_ends_its_tree_and_no_neighbour(engine: Engine) -> None:
    """What left the group goes too, and what is next to it in the container stays."""
    neighbour = await begin(engine, LEFT)
    theirs = await how_many(engine, neighbour, 2)
    for _ in range(10):
        number = await begin(engine, LEFT)
        mine = await how_many(engine, number, 2)
        assert tree.number_inside(mine[0]) != mine[0]
        await engine.call("kill_session", {"session_id": number})
        assert not any(map(is_running, mine))
    assert processes(engine, neighbour) == theirs


async def test_a_timeout_ends_the_tree(engine: Engine, work: Path) -> None:
    """With 124, and nobody stays."""
    script = {"command": ["bash", "-c", "setsid sleep 86400 & sleep 86400"], "timeout_ms": 300}
    found = (await engine.call("shell", script)).structured
    assert (found["exit_code"], found["timed_out"]) == (124, True)
    left = await bash(engine, "cat /proc/[0-9]*/comm")
    assert "sleep" not in left["output"].split()


async def test_run_in_session(engine: Engine) -> None:
    """A live shell inside, its state, and its exit codes."""
    for command, output, code in (
        ("cd /usr/bin && X=7", "", 0),
        ("echo $X $PWD; (exit 9)", "7 /usr/bin\n", 9),
    ):
        found = await engine.call("run_in_session", {"command": command, "timeout_ms": WAIT_MS})
        assert (found.structured["output"], found.structured["exit_code"]) == (output, code)


async def test_many_at_once(engine: Engine) -> None:
    """The first of them make the container, and one is enough."""
    found = await asyncio.gather(*(bash(engine, f"echo {n}; exit {n % 5}") for n in range(20)))
    assert [(one["output"], one["exit_code"]) for one in found] == [
        (f"{n}\n", n % 5) for n in range(20)
    ]
    assert len(containers()) == 1


async def test_a_cancelled_start_leaves_nothing(work: Path, image: str) -> None:
    """Also while the container is being made."""
    async with opened(work, image) as engine:
        call = asyncio.ensure_future(bash(engine, "sleep 86400"))
        await asyncio.sleep(0.05)
        call.cancel()
        await asyncio.wait([call])
    assert containers() == []


async def test_limits_hold(work: Path, image: str) -> None:
    """Memory and processes are counted for all together, files for each. Who has no control groups
    to give is refused: podman would go on without."""
    limits = Limits(memory=64 << 20, processes=20, open_files=50, file_bytes=1 << 20)
    async with opened(work, image, limits=limits) as engine:
        if os.geteuid() and not Path("/sys/fs/cgroup/cgroup.controllers").exists():
            refused = await engine.call("shell", {"command": ["true"]})
            assert "or accept less: --accept shared-limits" in refused.content
            return
        hungry = await bash(engine, "tail /dev/zero")
        assert (hungry["exit_code"], hungry["signal"], hungry["oom"]) == (137, "SIGKILL", True)
        assert (await bash(engine, "ulimit -n"))["output"] == "50\n"
        big = await bash(engine, "head -c 2000000 /dev/zero > big")
        assert big["exit_code"] != 0, big
        assert (work / "big").stat().st_size == 1 << 20
        fork = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 60 & done"
        many = await engine.call("shell", {"command": ["sh", "-c", fork]})
        assert "Cannot fork" in many.structured["output"]


# --- the command line ------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["run", "sandbox"])
@pytest.mark.parametrize("flags", [(), ("-t",)])
def test_in_this_terminal(word: str, flags: tuple[str, ...], image: str, work: Path) -> None:
    """`fairlead run` and `sandbox` in a container of their own, which is gone when they return."""
    line = (word, *flags, "--cwd", str(work), "--backend", "container", "--image", image, "--")
    with started(*line, "bash", "-c", "read x; echo $x $FROM_IMAGE; exit 7") as program:
        out, _ = program.communicate(b"typed\n", timeout=SECONDS)
    assert out.split()[-2:] == [b"typed", b"yes"]
    assert program.returncode == 7
    assert containers(program.pid) == []


def test_a_signal_to_run_reaches_the_command(image: str, work: Path) -> None:
    """And its own exit code comes back."""
    line = ("run", "--cwd", str(work), "--backend", "container", "--image", image, "--")
    script = "trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    with started(*line, "bash", "-c", script) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        program.terminate()
        out, _ = program.communicate(timeout=SECONDS)
    assert (out, program.returncode) == (b"got\n", 5)


def test_ctrl_c_in_a_terminal_that_is_shared(image: str, work: Path) -> None:
    """The kernel sends it to us alone: the command's group is in no terminal of ours."""
    line = ("run", "--cwd", str(work), "--backend", "container", "--image", image, "--")
    script = "trap 'exit 5' INT; echo ready; while :; do sleep 0.05; done"
    terminal = Terminal((*line, "bash", "-c", script), program=PROGRAM)
    try:
        terminal.shows(b"ready")
        terminal.types(b"\x03")
        assert terminal.code() == 5
    finally:
        terminal.close()


def test_a_killed_run_leaves_nothing(image: str, work: Path) -> None:
    """Neither a process nor a container."""
    ready = ready_pipe(work)
    line = ("run", "--cwd", str(work), "--backend", "container", "--image", image, "--")
    with started(*line, "sh", "-c", TREE) as program:
        _, _, pids = running_in(program.pid, ready)
        program.kill()
        program.wait(SECONDS)
    assert all_gone(pids)


def test_a_directory_that_would_hand_over_the_machine(image: str) -> None:
    """Is no workspace: one sentence, a remedy, and nothing has run."""
    line = ["run", "--cwd", "/etc", "--backend", "container", "--image", image, "--", "true"]
    done = subprocess.run(
        [*PROGRAM, *line], env=environment(), capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 125
    assert "/etc can't be shown to a container" in done.stderr
    assert "was not run. Choose" in done.stderr


def test_a_missing_image(work: Path) -> None:
    """Is never fetched."""
    line = ["run", "--cwd", str(work), "--backend", "container", "--image", "no-such", "--", "true"]
    done = subprocess.run(
        [*PROGRAM, *line],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 125
    assert "the image no-such is not on this machine, and images are never fetched" in done.stderr
