"""The same access by our launcher's mounts and by `bwrap`: the same answers to every attempt."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from fairlead.model.access import Access, Network
from fairlead.model.frozen import replace
from fairlead.model.sandbox import Host
from fairlead.sandbox import bubblewrap, namespaces, seccomp
from fairlead.sandbox.host import assumed
from fairlead.sandbox.system import system
from tests.kernel import ground as on
from tests.kernel.confined import INTERPRETER, PRELUDE, Ran, run_python
from tests.programs import require

HOST = replace(assumed(launcher=True), notify=False)


def by_namespaces(access: Access, code: str, cwd: Path) -> Ran:
    program = seccomp.compile_filter(HOST.machine, access.network, notify=False)
    made = namespaces.render(access, HOST, system(), agent="a", filter_program=program)
    ran = run_python((*made.setup, *made.each), f"os.chdir({os.fspath(cwd)!r})\n{code}")
    assert ran.failed is None
    return ran


def by_bubblewrap(access: Access, code: str, cwd: Path, filter_file: Path) -> Ran:
    host: Host = replace(HOST, launcher=False, bubblewrap=require("bwrap"))
    program = seccomp.compile_filter(host.machine, access.network, notify=False)
    wrapper = bubblewrap.render(access, host, system(), program)
    ((number, attached),) = wrapper.attached
    filter_file.write_bytes(attached)
    opened = f'exec {number}<"$0"; exec "$@"'  # a shell's redirection, for a number so high
    argv = (*wrapper.argv, "--chdir", str(cwd), "--", INTERPRETER, "-c", f"{PRELUDE}\n{code}")
    done = subprocess.run(
        [require("bash"), "-c", opened, filter_file, *argv], capture_output=True, text=True
    )
    return Ran(done.returncode, done.stdout + done.stderr)


def each_way(access: Access, place: Path, code: str, cwd: Path) -> tuple[Ran, Ran]:
    """The same program by both, one after the other."""
    return by_namespaces(access, code, cwd), by_bubblewrap(access, code, cwd, place / "filter")


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    return on.make(tmp_path / "ground")


def test_namespaces_do_what_is_wanted(ground: Path) -> None:
    """Each attempt comes to what it should, and nothing outside has changed."""
    before = on.state(ground)
    found = on.outcomes(by_namespaces(on.access(ground), on.code(ground), ground).output)
    assert on.wrong(found) == []
    assert on.state(ground) == before


def test_bubblewrap_does_what_is_wanted(ground: Path, tmp_path: Path) -> None:
    """Each attempt comes to what it should, and nothing outside has changed."""
    before = on.state(ground)
    ran = by_bubblewrap(on.access(ground), on.code(ground), ground, tmp_path / "filter")
    assert on.wrong(on.outcomes(ran.output)) == []
    assert on.state(ground) == before


SURROUNDINGS = f"""
def opened(path, flags=os.O_RDONLY):
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"
def terminal():
    import pty
    master, slave = pty.openpty()
    return os.ttyname(slave).startswith("/dev/pts/")
def status(name):
    with open("/proc/self/status") as file:
        return next(line.split()[1] for line in file if line.startswith(name))
print({{
    "pid": os.getpid() < 10,
    "capabilities": [status(name) for name in ("CapEff", "CapPrm", "CapBnd")],
    "no new privileges": status("NoNewPrivs"),
    "filtered": status("Seccomp"),
    "uid": (os.getuid(), os.getgid()),
    "run": sorted(os.listdir("/run")),
    "run is closed": attempt(os.mkdir, "/run/x"),
    "dev is closed": attempt(os.mkdir, "/dev/x"),
    "shared memory": attempt(os.mkdir, "/dev/shm/x"),
    "null": opened("/dev/null", os.O_RDWR),
    "zero": opened("/dev/zero"),
    "tty is there": os.path.exists("/dev/tty"),
    "kmsg": os.path.exists("/dev/kmsg"),
    "mem": os.path.exists("/dev/mem"),
    "terminal": terminal(),
    "sysctl": opened("/proc/sys/kernel/hostname", os.O_WRONLY),
    "sysrq": opened("/proc/sysrq-trigger", os.O_WRONLY),
    "kcore": opened("/proc/kcore") != "ok",
    "firmware": [attempt(os.listdir, "/sys/firmware")],
    "bpf files": os.path.exists("/sys/fs/bpf") and attempt(os.listdir, "/sys/fs/bpf"),
    "only ours are in view": len([name for name in os.listdir("/proc") if name.isdigit()]) < 6,
    "loopback": socket.create_server(("127.0.0.1", 0)).getsockname()[1] > 0,
    "mount": call(165 if os.uname().machine == "x86_64" else 40, 0, 0, 0, 0, 0),
    "tmp": attempt(os.mkdir, "/tmp/fairlead-{os.getpid()}"),
}})
"""


@pytest.mark.parametrize(
    "said",
    [{}, {"network": Network.FULL}, {"private_tmp": True}],
    ids=["usual", "network", "private"],
)
def test_what_surrounds_a_command_is_the_same(
    ground: Path, tmp_path: Path, said: dict[str, Any]
) -> None:
    """Processes, devices, kernel files, capabilities, network: by both the same."""
    access = on.access(ground, **said)
    ours, theirs = each_way(access, tmp_path, SURROUNDINGS, ground)
    assert (ours.status, theirs.status) == (0, 0), ours.output + theirs.output
    assert ours.output == theirs.output
    assert "'capabilities': ['0000000000000000', '0000000000000000'" in ours.output
    assert ("'tmp': 'ok'" in ours.output) is ("private_tmp" in said)
    assert not os.path.exists(f"/tmp/fairlead-{os.getpid()}")


def test_a_root_below_a_private_tmp_is_where_it_was(tmp_path: Path) -> None:
    """With its files, which can be written; all else of /tmp is gone."""
    with TemporaryDirectory(dir="/tmp", prefix="fairlead-test-") as name:
        top = on.make(Path(name))
        access = on.access(top, [("work", on.WRITE)], private_tmp=True)
        show = "print(open('file').read(), attempt(os.truncate, 'file', 12), os.listdir('/tmp'))"
        for ran in each_way(access, tmp_path, show, top / "work"):
            assert ran.output.endswith(f" ok ['{top.name}']\n")
        assert (top / "work/file").read_text() == "content of w"


def test_many_carve_outs(tmp_path: Path) -> None:
    """A workspace with more repositories in it than a launcher holds mount trees at a time."""
    names = [f"work/r{n}" for n in range(40)]
    for name in names:
        (tmp_path / name / ".git/hooks").mkdir(parents=True)
    rules = [
        ("work", on.WRITE),
        *((name, on.WRITE) for name in names),
        *((f"{name}/.git", on.WRITE) for name in names),
        *((f"{name}/.git/hooks", on.READ) for name in names),
    ]
    access = on.access(Path(os.path.realpath(tmp_path)), rules)
    code = """
for n in range(40):
    hooks = f"work/r{n}/.git/hooks"
    print(attempt(os.mkdir, hooks + "/x"), attempt(os.rename, hooks, "work/h"),
          attempt(os.rename, f"work/r{n}", "work/r"), attempt(os.mkdir, f"work/r{n}/.git/x"))
"""
    ours, theirs = each_way(access, tmp_path, code, tmp_path)
    assert ours.output.splitlines() == ["EROFS EXDEV EBUSY ok"] * 40
    assert theirs.output.splitlines() == ["EROFS EXDEV EBUSY EEXIST"] * 40


LINKS = """
for name in ("work/link", "work/nowhere"):
    print(os.readlink(name), attempt(os.remove, name), attempt(os.rename, name, "work/moved"),
          attempt(os.rename, "work/file", name), attempt(os.symlink, "x", name))
print(sorted(os.listdir("work/link")))
"""


def test_a_protected_link_leads_where_it_led(ground: Path) -> None:
    """By our launcher: it can be followed, and neither removed nor moved nor replaced, wherever it
    leads. `bwrap` would follow it, so there it is missing, and said so."""
    (ground / "work/link").symlink_to("../other")
    (ground / "work/nowhere").symlink_to("no/where")
    rules = [("work", on.WRITE), ("work/link", on.READ), ("work/nowhere", on.READ)]
    access = on.access(ground, rules)
    said = by_namespaces(access, LINKS, ground).output.splitlines()
    assert said[:2] == [f"{target} EBUSY EBUSY EBUSY EEXIST" for target in ("../other", "no/where")]
    assert said[2] == "['file', 'sub']"
    assert "protected-names" in bubblewrap.missing(access, HOST)


def test_what_became_something_else_is_not_mounted(ground: Path, tmp_path: Path) -> None:
    """By our launcher the start fails where a path is another by now."""
    access = on.access(ground)
    (ground / "work/.git/hooks").rename(ground / "work/.git/hooks-before")
    (ground / "work/.git/hooks").mkdir()
    program = seccomp.compile_filter(HOST.machine, access.network, notify=False)
    made = namespaces.render(access, HOST, system(), agent="a", filter_program=program)
    ran = run_python(made.setup, "print('it ran')")
    assert ran.failed is not None
    assert "it ran" not in ran.output
