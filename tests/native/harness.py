"""One launcher, driven over its socket as the engine drives it."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from fairlead.spawn import plan

NATIVE = Path(__file__).parents[2] / "native"
SOURCES = sorted(
    str(file) for file in NATIVE.glob("*.c") if file.name not in {"fuzz_plan.c", "check_abi.c"}
)
PLAIN = (f"@{NATIVE / 'flags'}",)
SANITIZED = (
    *("-std=c11", "-g", "-O1", "-DFL_HOSTED"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)
PATIENCE = 20.0
R = TypeVar("R", plan.Failed, plan.Started, plan.Exited, plan.Gone)
ENVIRONMENT = (b"PATH=/usr/local/bin:/usr/bin:/bin", b"LANG=C.UTF-8")


def compile_c(target: Path, *arguments: str) -> Path:
    """Compile with the system's compiler. The tests of native code are nothing without one."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler, "no C compiler: install gcc (Debian: apt-get install gcc libc6-dev)"
    subprocess.run([compiler, *arguments, "-o", str(target)], check=True)
    return target


def command(
    *argv: str | bytes,
    env: Sequence[bytes] = ENVIRONMENT,
    executable: str | bytes | None = None,
) -> list[plan.Step]:
    """The steps that end in running `argv`."""
    arguments = tuple(map(os.fsencode, argv))
    path = arguments[0] if executable is None else os.fsencode(executable)
    return [plan.Argv(arguments), plan.Environment(tuple(env)), plan.Exec(path)]


def python(code: str) -> list[plan.Step]:
    """The steps that end in running Python code, started as lightly as it goes."""
    return command(sys.executable, "-ISc", code)


def guarded(*steps: plan.Step | Sequence[plan.Step]) -> list[plan.Step]:
    """The steps under a guard, as the engine orders them."""
    flat = [one for step in steps for one in (step if isinstance(step, Sequence) else [step])]
    return [plan.Guard(own_session=True), plan.Session(), plan.ParentDeathSignal(9), *flat]


class Launch:
    """A running launcher: its process, its socket, and what it said so far."""

    def __init__(
        self,
        binary: Path,
        steps: Sequence[plan.Step] | bytes,
        *,
        keep: Sequence[int] = (),
        apart: bool = False,
        send: Sequence[int] = (),
        wrapper: Sequence[str] = (),
    ) -> None:
        encoded = steps if isinstance(steps, bytes) else plan.encode(steps)
        self.control, theirs = socket.socketpair()
        self.number = theirs.fileno()  # of the control socket, in the launcher
        source = memory(encoded) if apart else theirs.fileno()
        if not apart:
            socket.send_fds(self.control, [encoded], send)
        arguments = (*wrapper, str(binary), "exec", str(source), str(theirs.fileno()))
        self.process = subprocess.Popen(
            arguments, pass_fds=(*keep, source, theirs.fileno()), restore_signals=False
        )
        theirs.close()
        if apart:
            os.close(source)
        self._arrived = bytearray()
        self.reports: list[plan.Report] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.control.close()
        self.process.wait(PATIENCE)

    @property
    def pid(self) -> int:
        """The command's, once it has started."""
        return self.await_report(plan.Started).pid

    def tell(self, data: bytes) -> None:
        self.control.sendall(data)

    def await_report(self, kind: type[R]) -> R:
        """The report of this kind, said already or soon."""
        while True:
            for report in self.reports:
                if isinstance(report, kind):
                    return report
            assert self.listen(), f"no {kind.__name__} but {self.reports}"

    def listen(self, seconds: float = PATIENCE) -> bool:
        """Take in what comes within this time. False at the end of the stream, or of the time."""
        readable, _, _ = select.select([self.control], [], [], seconds)
        if not readable:
            return False
        try:
            data = self.control.recv(4096)
        except ConnectionResetError:
            return False
        self._arrived += data
        self.reports += plan.parse_reports(self._arrived)
        return bool(data)

    def finish(self) -> list[plan.Report]:
        """Everything that it said until it ended."""
        while self.listen():
            pass
        self.process.wait(PATIENCE)
        assert not self._arrived, "half a report"
        return self.reports


def run(binary: Path, steps: Sequence[plan.Step] | bytes, **options: object) -> list[plan.Report]:
    """What the launcher says about a plan, from start to end."""
    with Launch(binary, steps, **options) as launch:  # type: ignore[arg-type]
        return launch.finish()


def output(binary: Path, steps: Sequence[plan.Step], *, keep: Sequence[int] = ()) -> str:
    """What a command under a guard writes, given as steps that follow the descriptors'."""
    reader, writer = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    wiring = plan.Descriptors(((null, 0), (writer, 1), (writer, 2)))
    with Launch(binary, guarded(wiring, list(steps)), keep=(*keep, null, writer)) as launch:
        os.close(writer)
        os.close(null)
        with os.fdopen(reader) as stream:
            text = stream.read()
        launch.finish()
    return text


def memory(content: bytes) -> int:
    fd = os.memfd_create("plan")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def alive(pid: int) -> bool:
    """Whether it runs: a zombie does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text[text.rindex(")") + 2] not in "ZX"


def name(pid: int) -> str:
    """The command name, as the kernel knows it; empty once it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def until_dead(pid: int) -> bool:
    """Waits for an end; False if it does not come."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], PATIENCE)[0])
    finally:
        os.close(pidfd)


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Asks again and again, for facts that the kernel does not announce."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True
