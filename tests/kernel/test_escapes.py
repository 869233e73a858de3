"""Ways out of the first tier that take more than one program: neighbours, other mounts, what
stays behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead import Engine, Options
from fairlead.model.access import SandboxPolicy
from tests.kernel.people import REPOSITORY
from tests.kernel.probes.arena import GROUNDS

SECONDS = 100


@pytest.fixture
def ground() -> Iterator[Path]:
    """Not below /tmp, which commands may write."""
    with tempfile.TemporaryDirectory(prefix="fairlead-escapes-", dir=GROUNDS) as top:
        (Path(top) / "work").mkdir()
        yield Path(top)


def options(ground: Path) -> Options:
    return Options(
        cwd=ground / "work", sandbox=SandboxPolicy.WORKSPACE_WRITE, deny_read=(f"{ground}/secret",)
    )


HOSTILE = """
import os, resource, signal
others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
attempts = [lambda pid: os.kill(pid, signal.SIGKILL), lambda pid: os.kill(pid, signal.SIGSTOP)]
attempts += [lambda pid: os.killpg(pid, signal.SIGKILL) if pid > 1 else os.kill(1, 9)]
attempts += [lambda pid: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)]
attempts += [lambda pid: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0))]
attempts += [lambda pid: resource.prlimit(pid, resource.RLIMIT_NPROC, (0, 0))]
attempts += [lambda pid: open(f"/proc/{pid}/mem", "r+b").close()]
done = 0
os.kill(-1, signal.SIGKILL)  # says that it worked when it reached nobody
for pid in others:
    for attempt in attempts:
        try: attempt(pid); done += 1
        except OSError: pass
print(len(others) > 2, done)
"""


async def test_a_command_can_do_nothing_to_its_neighbours(ground: Path) -> None:
    """It sees them, and the guards of both, and the first process; it can't signal, limit or open
    any of them, and the next command begins as ever."""
    async with Engine(options(ground)) as engine:
        neighbour = await engine.call(
            "exec_command", {"cmd": "echo ready; read x; exit 5", "stdin": "open"}
        )
        session = neighbour.structured["session_id"]
        hostile = await engine.call("shell", {"command": ["python3", "-c", HOSTILE]})
        assert hostile.structured["output"] == "True 0\n"
        ended = await engine.call(
            "write_stdin", {"session_id": session, "chars": "go\n", "yield_time_ms": 30000}
        )
        after = await engine.call("shell", {"command": ["true"]})
    assert ended.structured["exit_code"] == 5
    assert after.structured["exit_code"] == 0


OTHER_PLACES = """
mkdir -p {top}/secret {top}/elsewhere {top}/outside
echo hidden >{top}/secret/key
mount --bind {top} {top}/elsewhere
mount --bind {top}/secret {top}/outside
exec {python} -m fairlead call --deny-read {top}/secret --cwd {top}/work shell '{arguments}'
"""


def test_a_secret_is_hidden_wherever_its_file_system_is_mounted(ground: Path) -> None:
    """A second mount of the directory around it, or of itself, is no way to it."""
    places = ("secret", "elsewhere/secret", "outside")
    script = "; ".join(f"cat {ground}/{place}/key" for place in places)
    said = among_own_mounts(OTHER_PLACES, ground, f"{script}; echo tried")
    assert "tried" in said
    assert said.count("Permission denied") == len(places)
    assert "hidden" not in said.replace("hidden from", "")


CHROOT = """
mkdir -p {top}/work/chroot/proc {top}/work/chroot/sys {top}/work/chroot/dev
mount --rbind /proc {top}/work/chroot/proc
mount --rbind /sys {top}/work/chroot/sys
mount --rbind /dev {top}/work/chroot/dev
exec {python} -m fairlead call --cwd {top}/work shell '{arguments}'
"""


def test_the_kernels_files_are_closed_in_a_workspace_too(ground: Path) -> None:
    """A tree to change into has them mounted: to root, what the host's /proc and /sys have to say
    would be writable there, and its processes would be seen."""
    script = "cd chroot; ls proc sys dev; echo tried"
    said = among_own_mounts(CHROOT, ground, script)
    assert "tried" in said
    assert said.count("Permission denied") == 3


RUN = """
mount -t tmpfs none /run
mkdir -p /run/systemd/resolve {top}/generation
echo nameserver >/run/systemd/resolve/resolv.conf
echo linked >{top}/generation/file
ln -s {top}/generation /run/current-system
{python} -c 'if True:
    import socket, subprocess, sys
    daemon = socket.socket(socket.AF_UNIX)
    daemon.bind("/run/systemd/resolve/io.systemd.Resolve")
    daemon.listen()
    subprocess.run(sys.argv[1:])
' {python} -m fairlead call --cwd {top}/work shell '{arguments}'
"""


def test_of_run_only_harmless_files_are_kept(ground: Path) -> None:
    """What the resolver wrote can be read, and its socket, by which names could be asked for with
    the network off, can't be reached. A link is one inside, too."""
    script = (
        "ls /run/systemd/resolve; cat /run/systemd/resolve/resolv.conf /run/current-system/file"
    )
    said = among_own_mounts(RUN, ground, script)
    assert "resolv.conf\\nnameserver\\nlinked\\n" in said
    assert "io.systemd" not in said


def among_own_mounts(text: str, ground: Path, script: str) -> str:
    """What comes of shell text in a mount namespace of its own; its `arguments` run the script
    confined."""
    arguments = json.dumps({"command": ["sh", "-c", script]})
    text = text.format(top=ground, python=sys.executable, arguments=arguments)
    own = ["--map-root-user"] if os.geteuid() != 0 else []
    done = subprocess.run(
        ["unshare", "--mount", *own, "sh", "-ec", text],
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'src'}"},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_guard_is_closed_to_its_command_without_landlock_too(ground: Path) -> None:
    """Both are of one user; what the guard holds is a socket to the engine."""
    look = "for n in mem environ maps; do cat /proc/$PPID/$n && echo open; done; echo tried"
    argv = [sys.executable, "-m", "tests.kernel.hardships", "no-landlock"]
    argv += [sys.executable, "-m", "fairlead", "sandbox", "--cwd", str(ground / "work")]
    done = subprocess.run(
        [*argv, "--", "sh", "-c", look],
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'src'}"},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout == "tried\n", done.stderr


async def test_no_mount_of_a_sandbox_is_seen_outside(ground: Path) -> None:
    """Not while it stands, and not after."""
    before = mounts()
    async with Engine(options(ground)) as engine:
        await engine.call("shell", {"command": ["true"]})
        assert mounts() <= before
    assert mounts() <= before


def mounts() -> set[str]:
    """But for those of containers, which other tests make at the same time."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line for line in lines if "/containers/" not in line}


async def test_a_named_pipe_outside_can_be_written(ground: Path) -> None:
    """What remains, as the threat model says: to the kernel this changes no file, so a read-only
    mount is no bar to it."""
    os.mkfifo(ground / "pipe")
    reader = os.open(ground / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        async with Engine(options(ground)) as engine:
            script = f"echo x >{ground}/pipe"
            await engine.call("shell", {"command": ["sh", "-c", script]})
        assert os.read(reader, 9) == b"x\n"
    finally:
        os.close(reader)
