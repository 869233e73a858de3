"""The compiled filter in the kernel: denied calls get their errno, programs notice nothing."""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from fairlead.model.access import Network
from fairlead.model.confine import ConfineStep, NoNewPrivileges, Seccomp
from fairlead.sandbox.seccomp import compile_filter, denial_of
from fairlead.sandbox.syscalls import NUMBERS
from tests.kernel.confined import Ran, run, run_python
from tests.programs import require
from tests.sandbox.test_seccomp import CHOSEN, IN_MEMORY, OFFLINE, WHOLE

MACHINE = platform.machine()
HERE = NUMBERS[MACHINE]

NONSENSE = (2**64 - 1,) * 6  # a call that is let through by mistake comes to nothing with these


def filtered(
    *, notify: bool, own_network: bool = True, memfd_exec: bool = True
) -> list[ConfineStep]:
    program = compile_filter(
        MACHINE, Network.OFF, notify=notify, own_network=own_network, memfd_exec=memfd_exec
    )
    return [NoNewPrivileges(), Seccomp(program, listener=notify)]


Row = tuple[str, tuple[int, ...], tuple[int, bool, str] | None]


def denied(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row[2] is not None and row[0] in HERE]


def outcomes(rows: list[Row], *, notify: bool, **said: bool) -> tuple[list[str], Ran]:
    """What each call came to, made one after the other by one program under the filter."""
    calls = [[HERE[name], *(one % 2**64 for one in arguments)] for name, arguments, _ in rows]
    code = f"""
import json
made = []
for number, *arguments in {calls}:
    made.append(call(number, *(ctypes.c_ulong(one) for one in (arguments + [0] * 6)[:6])))
print(json.dumps(made))
"""
    ran = run_python(filtered(notify=notify, **said), code, denial_of)
    assert ran.status == 0, ran.output
    return json.loads(ran.output), ran


EVERY_DENIED: list[Row] = [
    *((name, NONSENSE, (code, told, "")) for name, code, told in WHOLE if name in HERE),
    *denied(CHOSEN),
]


@pytest.mark.parametrize("notify", [False, True], ids=["errno", "asked"])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (EVERY_DENIED, {}),
        (denied(OFFLINE), {"own_network": False}),
        (denied(IN_MEMORY), {"memfd_exec": False}),
    ],
    ids=["always", "offline", "memory"],
)
def test_each_denied_call_gets_its_errno(
    rows: list[Row], said: dict[str, bool], notify: bool
) -> None:
    """From the kernel at once, or from us if we are asked: to the program it is the same. And we
    are asked exactly about what a person is to hear of."""
    made, ran = outcomes(rows, notify=notify, **said)
    wanted = [os.strerror(row[2][0]) for row in rows if row[2] is not None]
    found = [os.strerror(code_of(name)) for name in made]
    named = [row[0] for row in rows]
    assert dict(zip(named, found, strict=True)) == dict(zip(named, wanted, strict=True))
    assert found == wanted
    told = [row for row in rows if row[2] is not None and row[2][1]]
    assert [one[0].partition("(")[0] for one in ran.asked] == [row[0] for row in told if notify]


def code_of(name: str) -> int:
    assert name != "ok", "the call was made"
    return int(getattr(errno, name))


def test_what_is_not_denied_reaches_the_kernel() -> None:
    """Its answer, whatever it is, is not the filter's."""
    harmless = [
        row for row in CHOSEN if row[2] is None and row[0] in ("socket", "personality", "unshare")
    ]
    made, ran = outcomes(harmless, notify=True)
    assert ran.asked == []
    # What a kernel was built without it has none of: that is its own word, and one of these.
    assert set(made) <= {"ok", "EAFNOSUPPORT", "EPROTONOSUPPORT", "EACCES"}
    assert made.count("ok") >= len(made) - 3


@pytest.mark.skipif(MACHINE != "x86_64", reason="x32 and i386 are ways into an x86-64 kernel")
def test_x32_numbers_do_not_exist() -> None:
    """getpid by its x32 number, mount by its: no such call."""
    ran = run_python(filtered(notify=True), "print(call(0x40000000 | 39), call(0x40000000 | 165))")
    assert ran.output.split() == ["ENOSYS", "ENOSYS"]


INT_80 = r"""
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid of i386); int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print("before", flush=True)
print(ctypes.CFUNCTYPE(ctypes.c_int)(address)())
"""


@pytest.mark.skipif(MACHINE != "x86_64", reason="x32 and i386 are ways into an x86-64 kernel")
def test_an_i386_call_ends_the_process() -> None:
    """Without the filter it is made; with it nothing comes after."""
    free = run_python([], f"import mmap\n{INT_80}")
    if free.status != 0:
        pytest.skip("this kernel has no i386 calls: there is no such way in")
    caught = run_python(filtered(notify=True), f"import mmap\n{INT_80}", denial_of)
    assert caught.output == "before\n"
    assert caught.status in (-31, 128 + 31)  # SIGSYS


def test_the_filter_can_not_be_taken_off() -> None:
    """A program's own filter comes on top; children and what they execute stay under ours."""
    code = f"""
print(attempt(os.mkdir, "/proc/nowhere") != "EPERM")
child = subprocess.run([sys.executable, "-c", '''
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall({HERE["ptrace"]}, 0, 0, 0, 0)
print(errno.errorcode[ctypes.get_errno()])
'''], capture_output=True, text=True)
print(child.stdout.strip())
"""
    assert run_python(filtered(notify=False), code).output.split() == ["True", "EPERM"]


def test_a_thread_is_filtered_too() -> None:
    """Each one, also those that were started later."""
    code = f"""
found = []
threads = [threading.Thread(target=lambda: found.append(call({HERE["ptrace"]}))) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
print(*found)
"""
    ran = run_python(filtered(notify=True), code, denial_of)
    assert ran.output.split() == ["EPERM"] * 8
    assert ran.asked == [("ptrace", 1, "system call")] * 8


ORDINARY = {
    "threads": ("python3", "-c", "from concurrent.futures import ThreadPoolExecutor as T\n"
                "print(sum(T(16).map(abs, range(-500, 0))))", "125250"),
    "processes": ("python3", "-c", "import multiprocessing as m\n"
                  "print(sum(m.get_context('fork').Pool(4).map(abs, range(-500, 0))))", "125250"),
    "event loop": ("python3", "-c", "import asyncio\nasync def f():\n p = await "
                   "asyncio.create_subprocess_exec('echo', 'hi')\n print(await p.wait())\n"
                   "asyncio.run(f())", "hi\n0"),
    "loopback": ("python3", "-c", "import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
                 "c = socket.create_connection(s.getsockname())\ns.accept()[0].send(b'x')\n"
                 "print(c.recv(1))", "b'x'"),
    "terminal": ("python3", "-c", "import os, pty\nm, s = pty.openpty()\n"
                 "print(os.isatty(s))", "True"),
    "names": ("python3", "-c", "import socket\nprint(socket.getaddrinfo('127.0.0.1', 80)[0][4])",
              "('127.0.0.1', 80)"),
    "bash": ("bash", "-c", "set -o pipefail; echo $(seq 3 | sort -r | tr -d '\\n') & wait", "321"),
    "job control": ("bash", "-mc", "sleep 9 & kill %1; wait %1; echo $?", "143"),
    "git": ("bash", "-c", "git init -q r && cd r && git -c user.name=a -c user.email=a@b.c commit "
            "-qm x --allow-empty && git log --format=%s", "x"),
    "strace's absence": ("bash", "-c", "uname -s; id -u >/dev/null; ls /proc/self/fd >/dev/null",
                         "Linux"),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_programs_notice_nothing(name: str, tmp_path: Path) -> None:
    """They say under the filter what they say without, and nobody is asked about anything."""
    *argv, said = ORDINARY[name]
    require("git")
    program = require(argv[0])
    free = subprocess.run(
        [program, *argv[1:]], cwd=fresh(tmp_path, "free"), capture_output=True, text=True
    )
    ran = run(
        filtered(notify=True), (program, *argv[1:]), denial_of, cwd=fresh(tmp_path, "filtered")
    )
    assert said in free.stdout, free.stderr
    assert said in ran.output
    assert ran.status == 0
    assert ran.asked == []


def fresh(place: Path, name: str) -> Path:
    (place / name).mkdir()
    return place / name


def test_a_compiler_notices_nothing(tmp_path: Path) -> None:
    """It compiles, links, and what it made runs."""
    (tmp_path / "x.c").write_text('#include <stdio.h>\nint main(void){puts("made");}\n')
    argv = (require("bash"), "-c", f"{require('cc')} x.c -o x && ./x")
    ran = run(filtered(notify=True), argv, denial_of, cwd=tmp_path)
    assert (ran.status, ran.output, ran.asked) == (0, "made\n", [])
