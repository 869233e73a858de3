"""`fairlead sandbox` as a process: signals, streams, the network, and what stays behind.

What it prints and its exit codes are in `sandbox.txt`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.trees import TREE, all_gone, pidfds, ready_pipe
from tests.front_ends import PROGRAM, SECONDS, environment, started
from tests.programs import require
from tests.spawn.terminal import Terminal
from tests.test_imports import HEAVY, WEB

CONFINED = ("--sandbox", "workspace-write", "--")  # for the preset that `Terminal` gives
FORWARDED = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2]
CONNECT = "import socket; socket.create_connection(('127.0.0.1', int({port}))).close()"
SERVE_AND_CONNECT = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname()):
        server.accept()[0].close()
print("met")
"""


def sandbox(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`fairlead sandbox …` to its end."""
    argv = [*PROGRAM, "sandbox", *arguments]
    return subprocess.run(
        argv, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=SECONDS
    )


@pytest.mark.parametrize("signum", FORWARDED)
def test_a_signal_reaches_the_command(signum: signal.Signals) -> None:
    """What we are sent the confined command gets, and its own exit code comes back."""
    script = f"trap 'echo got; exit 5' {signum.name[3:]}; echo ready; while :; do sleep 0.05; done"
    with started("sandbox", "--", "bash", "-c", script) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        program.send_signal(signum)
        out, _ = program.communicate(timeout=SECONDS)
    assert (out, program.returncode) == (b"got\n", 5)


@pytest.mark.parametrize("flags", [[], ["-t"], ["--network", "full"]])
def test_a_killed_sandbox_leaves_nothing(flags: list[str], tmp_path: Path) -> None:
    """Even SIGKILL to `fairlead sandbox` ends the command and what left its group."""
    ready = ready_pipe(tmp_path)
    with started("sandbox", *flags, "--cwd", str(tmp_path), "--", "sh", "-c", TREE) as program:
        tree = pidfds(ready)
        program.kill()
        program.wait(SECONDS)
    assert all_gone(tree)


def test_the_streams_are_our_own(tmp_path: Path) -> None:
    """Not copies: a file that is our output is the command's output, at the same offset."""
    path = tmp_path / "out"
    with path.open("wb") as out:
        out.write(b"before\n")
        out.flush()
        argv = [*PROGRAM, "sandbox", "--", "sh", "-c", "echo between; ls /proc/$$/fd"]
        subprocess.run(argv, env=environment(), stdout=out, check=True, timeout=SECONDS)
        out.write(b"after\n")
    assert path.read_text() == "before\nbetween\n0\n1\n2\nafter\n"


def test_ctrl_c_ends_the_command_and_not_its_caller() -> None:
    """In a shared terminal the command is in the foreground group, and has the key's signal."""
    script = "trap 'echo got; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    terminal = Terminal([*CONFINED, "bash", "-c", script])
    try:
        terminal.shows(b"ready")
        terminal.types(b"\x03")
        terminal.shows(b"got")
        assert terminal.code() == 5
    finally:
        terminal.close()


@pytest.mark.parametrize("flags", [[], ["-t"]])
def test_an_interactive_shell_has_job_control(flags: list[str]) -> None:
    """A confined shell can stop a job, as it can anywhere else."""
    terminal = Terminal([*flags, *CONFINED, "bash", "--norc", "-i"])
    try:
        terminal.types(b"sh -c 'kill -STOP $$; echo went on'\n")
        terminal.shows(b"Stopped")
        terminal.types(b"fg; exit 3\n")
        assert terminal.code() == 3
    finally:
        terminal.close()


def test_limits_hold_for_all_processes_together(tmp_path: Path) -> None:
    """A command that starts too many is told so, and the group that counted them goes with it."""
    policy = tmp_path / "limits.toml"
    policy.write_text('[sandbox.limits]\nprocesses = 12\nmemory = "256M"\n')
    script = "for n in $(seq 40); do sleep 60 & done; echo all"
    with started("sandbox", "--policy", str(policy), "--", "sh", "-c", script) as program:
        out, _ = program.communicate(timeout=SECONDS)
    assert b"all" not in out
    assert program.returncode == 2
    assert list(Path("/sys/fs/cgroup").glob(f"**/fairlead-{program.pid}-*")) == []


def test_much_output_passes_through_whole() -> None:
    """Ten megabytes on their way from the command to our output are all there."""
    with started("sandbox", "--", "head", "-c", "10000000", "/dev/zero") as program:
        out, _ = program.communicate(timeout=SECONDS)
    assert len(out) == 10_000_000


def test_closed_streams_stay_closed() -> None:
    """A command gets no descriptor of ours instead of one that its caller has closed."""
    argv = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *PROGRAM, "sandbox", "--"]
    done = subprocess.run(
        [*argv, "sh", "-c", "cat; echo code $?"],
        env=environment(),
        stdout=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout.startswith(b"code ")


@contextmanager
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_network_is_off(tmp_path: Path) -> None:
    """Not even a server of this machine can be reached, unless the operator says so."""
    with listening() as port:
        connect = (sys.executable, "-c", CONNECT.format(port=port))
        refused = sandbox("--", *connect, cwd=tmp_path)
        allowed = sandbox("--network", "full", "--", *connect, cwd=tmp_path)
    assert refused.returncode == 1
    assert "refused" in refused.stderr
    assert (allowed.returncode, allowed.stderr) == (0, "")


def test_a_server_and_its_client_meet_inside(tmp_path: Path) -> None:
    """With the network off there is a loopback, and it is the command's own."""
    done = sandbox("--", sys.executable, "-c", SERVE_AND_CONNECT, cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("met\n", 0)


def test_no_process_outside_is_seen(tmp_path: Path) -> None:
    """The command sees itself and what guards it, and no number of ours."""
    script = "echo /proc/[0-9]*; kill -0 $0 2>/dev/null || echo none"
    done = sandbox("--", "sh", "-c", script, str(os.getpid()), cwd=tmp_path)
    seen, none = done.stdout.splitlines()
    assert len(seen.split()) <= 4
    assert none == "none"


def test_a_read_only_tree_is_as_it_was(tmp_path: Path) -> None:
    """Nothing of the sandbox itself is ever left in the workspace."""
    (tmp_path / "file").write_text("text")
    done = sandbox("--sandbox", "read-only", "--", "sh", "-c", "ls -a", cwd=tmp_path)
    assert done.stdout.split() == [".", "..", "file"]
    assert os.listdir(tmp_path) == ["file"]


def test_a_denied_name_can_not_play_with_the_terminal(tmp_path: Path) -> None:
    """The command chose it, line breaks and all."""
    require("git")
    script = "mkdir -p 'a\nb'; cd 'a\nb'; git init -q; echo x >.git/hooks/pre-commit"
    done = sandbox("--", "sh", "-c", script, cwd=tmp_path)
    said = rf"{tmp_path}/a\nb/.git/hooks/pre-commit: moved aside"
    assert said in done.stderr, done.stderr


def test_a_closed_directory_of_another_user_is_no_obstacle(tmp_path: Path) -> None:
    """Root can name a path there; a command can't reach it, and starts all the same."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        (place / "key").touch()
        if os.geteuid() == 0:
            os.chown(place, 4321, 4321)
        place.chmod(0o700)
        script = 'cat "$0"; echo code $?'
        hidden = str(place / "key")
        done = sandbox("--deny-read", hidden, "--", "sh", "-c", script, hidden, cwd=tmp_path)
        if os.geteuid() == 0:
            os.chown(place, 0, 0)
    assert (done.stdout, done.returncode) == ("code 1\n", 0)
    assert "Permission denied" in done.stderr


def test_an_unreadable_policy_runs_nothing(tmp_path: Path) -> None:
    """A file that is not there, a directory, and one that is not text: each one sentence."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, reason in (
        ("none", "No such file"),
        (".", "Is a directory"),
        ("binary", "not a policy"),
    ):
        done = sandbox("--policy", name, "--", "touch", "ran", cwd=tmp_path)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert reason in done.stderr
        assert "nothing was run" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_it_stays_light(tmp_path: Path) -> None:
    """From start to end it loads no asyncio, and nothing of MCP or the web."""
    argv = [sys.executable, "-X", "importtime", "-m", "fairlead", "sandbox", "--", "true"]
    done = subprocess.run(
        argv, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    rows = [line.rpartition("|")[2] for line in done.stderr.splitlines() if "|" in line]
    loaded = {row.strip().split(".")[0] for row in rows}
    assert "fairlead" in loaded
    assert loaded & (HEAVY | WEB | {"json", "subprocess", "logging", "tomllib"}) == set()
