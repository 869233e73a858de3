"""The second tier in the kernel: what it denies, what it can't, and that it says so."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.model.access import Access, Network
from fairlead.model.frozen import replace
from fairlead.sandbox import landlock, seccomp
from fairlead.sandbox.host import assumed
from tests.kernel import ground as on
from tests.kernel.confined import Ran, run_python

HOST = replace(assumed(launcher=True), notify=False)
ABI = HOST.landlock_abi

# Attempts that Landlock has no word for, and the word of `tiers.MISSING` that says so.
OPEN = {
    "change what is protected": "protected-names",
    "add to what is protected": "protected-names",
    "change a protected file": "protected-names",
    "move what is protected": "protected-names",
    "move a protected file": "protected-names",
    "replace a protected file": "protected-names",
    "remove a protected file": "protected-names",
    "move what is above it": "protected-names",
    "read a secret in the root": "deny-read",
    "read a secret file in the root": "deny-read",
    "remove a secret file in the root": "deny-read",
    "move a secret in the root": "deny-read",
    "read a secret": "deny-read",
    "read a secret file": "deny-read",
    "list secrets": "hidden-names",
    "change mode outside": "metadata",
    "change times outside": "metadata",
    "change attributes outside": "metadata",
}


def missing(access: Access) -> tuple[str, ...]:
    return landlock.tier_steps(access, ABI)[1]


def ran_under(access: Access, code: str, cwd: Path, abi: int = ABI, *, each: bool = False) -> Ran:
    """Landlock alone, so that no denial is another wall's."""
    host = replace(HOST, landlock_abi=abi)
    while True:
        made = landlock.confinement(access, landlock.tier_steps(access, abi)[0], b"", host, "a")
        steps = made.setup[:-1]  # without the filter
        ran = run_python((*steps, *made.each) if each else steps, code, cwd=cwd)
        # What stood beside the way to something hidden is gone by now: others use /tmp, too.
        if ran.failed is None or ran.failed.errno != errno.ENOENT:
            assert ran.failed is None
            return ran


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    return on.make(tmp_path / "ground")


def test_what_gets_through_is_what_is_named_as_missing(ground: Path) -> None:
    """Each attempt that should be denied and is not belongs to a word that the report has."""
    access = on.access(ground)
    found = on.outcomes(ran_under(access, on.code(ground), ground).output)
    wrong = on.wrong(found)
    assert set(wrong) <= set(OPEN)
    assert {OPEN[name] for name in wrong} <= set(missing(access))


def test_without_carve_outs_secrets_are_kept(ground: Path) -> None:
    """What is hidden outside of the roots can't be read, nor anything outside be changed."""
    access = on.access(
        ground, [("work", on.WRITE), ("home/.ssh", on.HIDE), ("home/.netrc", on.HIDE)]
    )
    found = on.outcomes(ran_under(access, on.code(ground), ground).output)
    for name in ("read a secret", "read a secret file", "write outside", "make outside"):
        assert found[name] == "EACCES"
    assert "deny-read" not in missing(access)
    assert found["read outside"] == found["list outside"] == "ok"


MOVES = """
for source, target in (("work/file", "other/file"), ("other/file", "work/stolen"),
                       ("work/file", "work/sub/file")):
    print(attempt(os.rename, source, target), attempt(os.link, source, target + "2"))
print(attempt(os.truncate, "other/file", 0), attempt(os.remove, "other/file"))
print(attempt(os.symlink, "/etc/passwd", "other/link"), attempt(os.mkfifo, "other/fifo"))
print(attempt(os.mknod, "work/null", 0o20666, os.makedev(1, 3)))
"""


def test_nothing_moves_across_the_border(ground: Path) -> None:
    """Neither in nor out, by rename or by link; within the root all of it works."""
    (ground / "work/sub").mkdir()
    said = ran_under(on.access(ground, [("work", on.WRITE)]), MOVES, ground).output.splitlines()
    crossing = {"EACCES EACCES", "EXDEV EXDEV", "EACCES EXDEV", "EXDEV EACCES"}
    assert set(said[:2]) <= crossing
    assert said[2] == "ok ENOENT"
    assert said[3:] == ["EACCES EACCES", "EACCES EACCES", "EACCES"]


TCP = """
def connect(port):
    socket.create_connection(("127.0.0.1", port), timeout=30).close()
print(attempt(connect, int({port})), attempt(socket.create_server, ("127.0.0.1", 0)))
"""


@pytest.mark.skipif(ABI < 4, reason="TCP is known to Landlock since Linux 6.7")
@pytest.mark.parametrize(
    ("network", "said"), [(Network.OFF, "EACCES EACCES"), (Network.FULL, "ok ok")], ids=str
)
def test_tcp(ground: Path, network: Network, said: str) -> None:
    """No port can be connected to or bound with the network off; all with it full."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = TCP.format(port=server.getsockname()[1])
        access = on.access(ground, [("work", on.WRITE)], network=network)
        assert ran_under(access, code, ground).output.strip() == said


SCOPES = """
listener = socket.socket(socket.AF_UNIX)
def connect():
    listener.connect("\\0" + {name!r})
print(attempt(connect), attempt(os.kill, {pid}, 0), attempt(os.kill, os.getpid(), 0))
child = subprocess.Popen(["sleep", "60"])
print(attempt(child.kill), child.wait())
"""


@pytest.mark.skipif(ABI < 6, reason="Landlock has scopes since Linux 6.12")
def test_scopes(ground: Path) -> None:
    """Abstract sockets and processes outside are out of reach; one's own children are not."""
    name = f"fairlead-test-{os.getpid()}"
    outside = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with socket.socket(socket.AF_UNIX) as server, outside:
        server.bind(f"\0{name}")
        server.listen()
        code = SCOPES.format(name=name, pid=outside.pid)
        said = ran_under(on.access(ground, [("work", on.WRITE)]), code, ground).output
        outside.communicate(b"\n")
    assert said.split() == ["EPERM", "EPERM", "ok", "ok", "-9"]


USABLE = """
import json, pty, tempfile, multiprocessing
def opened(path, flags):
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"
lock = multiprocessing.Lock()
print(json.dumps({
    "null": opened("/dev/null", os.O_RDWR),
    "random": opened("/dev/urandom", os.O_RDONLY),
    "terminal": os.isatty(pty.openpty()[1]),
    "list": "usr" in os.listdir("/"),
    "home": isinstance(os.listdir(os.path.expanduser("~")), list),
    "execute": subprocess.run(["sh", "-c", "echo x >file2; cat file2"], capture_output=True).stdout.decode(),
    "disks": [name for name in ("sda", "vda", "mem", "kmsg", "loop-control", "fuse")
              if os.path.exists("/dev/" + name) and opened("/dev/" + name, os.O_RDONLY) == "ok"],
}))
"""  # noqa: E501


def test_ordinary_things_work(ground: Path) -> None:
    """Programs run, directories are listed, terminals and shared memory are there; disks are
    not."""
    ran = ran_under(on.access(ground, [("work", on.WRITE)]), USABLE, ground / "work")
    assert json.loads(ran.output) == {
        "null": "ok",
        "random": "ok",
        "terminal": True,
        "list": True,
        "home": True,
        "execute": "x\n",
        "disks": [],
    }


def test_the_whole_tier_runs_a_command(ground: Path) -> None:
    """With the filter, which then keeps every internet socket away, and a domain for each."""
    access = on.access(ground, [("work", on.WRITE)])
    steps, _ = landlock.tier_steps(access, ABI)
    program = seccomp.compile_filter(HOST.machine, Network.OFF, notify=False, own_network=False)
    made = landlock.confinement(access, steps, program, HOST, "a")
    code = "print(attempt(socket.socket), attempt(socket.socket, socket.AF_UNIX))"
    assert run_python((*made.setup, *made.each), code).output.split() == ["EAFNOSUPPORT", "ok"]


@pytest.mark.parametrize("abi", range(1, ABI + 1))
def test_the_plan_of_an_older_kernel_is_carried_out(abi: int, ground: Path) -> None:
    """Each ABI's plan is one that the kernel takes: no rule has a right that it does not handle."""
    access = on.access(ground, private_tmp=True)
    ran = ran_under(access, "print(attempt(os.mkdir, '/etc/x'))", ground, abi, each=True)
    assert ran.output.strip() == "EACCES"
