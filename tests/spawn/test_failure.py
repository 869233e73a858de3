"""What can't be started says why, and leaves nothing open."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.env import ExecEnv
from fairlead.model.errors import BadRequest, SpawnFailed
from tests.spawn.running import (
    OPEN,
    TTY,
    AnySpawner,
    Output,
    command,
    eventually,
    open_descriptors,
    run,
    start,
)


@pytest.fixture
async def strict(spawner: AnySpawner) -> AsyncIterator[AnySpawner]:
    """A spawner in use whose descriptors are counted at the end."""
    for _ in range(3):
        await run(spawner, command("true"))
    before = len(open_descriptors())
    yield spawner
    await eventually(lambda: len(open_descriptors()) <= before)


async def refused(spawner: AnySpawner, env: ExecEnv) -> SpawnFailed:
    with pytest.raises(SpawnFailed) as caught:
        await spawner.spawn(env, Output())
    return caught.value


tty = pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])


@tty
@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program"])
async def test_not_found(strict: AnySpawner, name: str, tty: bool) -> None:
    """A program that is not there, by name and by path."""
    error = await refused(strict, command(name, tty=tty))
    assert str(error) == f"command not found: {name}"
    assert (error.errno, error.step) == (errno.ENOENT, "executable")


async def test_a_name_can_not_break_its_line(strict: AnySpawner) -> None:
    """What we quote of it is escaped where it would begin a line, or turn the text around."""
    error = await refused(strict, command("./no\nsuch\u202e\x1b[2J"))
    assert str(error) == r"command not found: ./no\nsuch\u202e\x1b[2J"


@tty
async def test_not_executable(strict: AnySpawner, tmp_path: Path, tty: bool) -> None:
    """A file without the permission, a directory, and a path through a file."""
    plain = tmp_path / "plain"
    plain.touch()
    error = await refused(strict, command(str(plain), tty=tty))
    assert str(error) == f"not executable: {plain} (permission denied)"
    error = await refused(strict, command(str(tmp_path), tty=tty))
    assert str(error) == f"not executable: {tmp_path} (permission denied)"
    error = await refused(strict, command(f"{plain}/x", tty=tty))
    assert str(error) == f"command not found: {plain}/x (a part of its path is not a directory)"


@tty
async def test_no_known_format(strict: AnySpawner, tmp_path: Path, tty: bool) -> None:
    """Text without a #! line is no program, and no shell guesses what it may be."""
    text = tmp_path / "text"
    text.write_text("echo hello\n")
    text.chmod(0o755)
    error = await refused(strict, command(str(text), tty=tty))
    assert str(error) == f"not a program: {text} (no known format and no #! line)"


async def test_an_interpreter_that_is_missing(strict: AnySpawner, tmp_path: Path) -> None:
    """The kernel calls the script missing if its interpreter is."""
    text = tmp_path / "text"
    text.write_text("#!/no/such/interpreter\n")
    text.chmod(0o755)
    assert (await refused(strict, command(str(text)))).errno == errno.ENOENT


@tty
async def test_too_long_for_the_kernel(strict: AnySpawner, tty: bool) -> None:
    """One argument over 128 KiB is too long however much the limits allow."""
    error = await refused(strict, command("true", "x" * 200_000, tty=tty))
    assert str(error) == "arguments and environment are too long for the kernel: true"


async def test_nul_bytes_are_refused(strict: AnySpawner) -> None:
    """No process can have them in its arguments or environment."""
    with pytest.raises(BadRequest, match="argument 1 contains a NUL byte"):
        await strict.spawn(command("true", "a\0b"), Output())
    with pytest.raises(BadRequest, match="environment: A contains a NUL byte"):
        await strict.spawn(command("true", env={"A": "x\0"}), Output())


@tty
async def test_a_workdir_that_is_none(strict: AnySpawner, tmp_path: Path, tty: bool) -> None:
    """Missing, and not a directory: the caller's mistake, named as such."""
    with pytest.raises(BadRequest) as missing:
        await strict.spawn(command("true", cwd=tmp_path / "x", tty=tty), Output())
    assert str(missing.value) == f"workdir: no such directory: {tmp_path}/x"
    (tmp_path / "file").touch()
    with pytest.raises(BadRequest) as wrong:
        await strict.spawn(command("true", cwd=tmp_path / "file", tty=tty), Output())
    assert str(wrong.value) == f"workdir: not a directory: {tmp_path}/file"


UNREADABLE = """
import asyncio, os, sys
from pathlib import Path
from typing import Any
from tests.spawn.running import BareSpawner, LocalSpawner, Output, command, launcher_path
launcher, place = launcher_path(), Path(sys.argv[1])
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
async def main():
    for spawner in (LocalSpawner(launcher), BareSpawner("a test")):
        for cwd in (place, place / "below"):
            try:
                await spawner.spawn(command("true", cwd=cwd), Output())
            except Exception as error:
                print(error)
        await spawner.close()
asyncio.run(main())
"""


def test_a_workdir_that_is_not_ours_to_enter() -> None:
    """For an ordinary user: a directory that must not be entered, and one below it."""
    root = Path(__file__).parents[2]
    place = Path("/tmp") / f"fairlead-closed-{os.getpid()}"
    (place / "below").mkdir(parents=True)
    try:
        place.chmod(0o000)
        env = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
        argv = [sys.executable, "-c", UNREADABLE, str(place)]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    finally:
        place.chmod(0o700)
        (place / "below").rmdir()
        place.rmdir()
    closed = "could not start true: working directory: Permission denied"
    below = f"workdir: {place}/below: Permission denied"
    assert done.stdout.splitlines() == 2 * [closed, below], done.stderr


@pytest.mark.parametrize("fields", [OPEN, {"tty": True}], ids=["pipe", "tty"])
async def test_without_descriptors_nothing_starts_and_nothing_leaks(
    strict: AnySpawner, fields: dict[str, Any]
) -> None:
    """At the limit of open files the start fails as a start, and works again afterwards."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = lowest_free()
    texts = set()
    try:
        for room in range(12):
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + room, limits[1]))
            try:
                await (await strict.spawn(command("true", **fields), Output())).wait()
            except SpawnFailed as error:
                texts.add(str(error))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert texts
    assert all("Too many open files" in text for text in texts), texts
    assert (await run(strict, command("true"))).ending is not None


def lowest_free() -> int:
    fd = os.dup(0)
    os.close(fd)
    return fd


async def test_no_terminal_left(spawner: AnySpawner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel says "no space left on device"; we say what there is too little of."""

    def none_left() -> tuple[int, int]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "openpty", none_left)
    monkeypatch.setattr("fairlead.spawn.pty._opened_in", lambda _: none_left())
    with pytest.raises(SpawnFailed, match="could not start true: no terminal is left"):
        await start(spawner, command("true", **TTY))
