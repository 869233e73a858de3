"""A login shell's start-up is paid once, and carries everything that it would have given."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead.model.event import Event

PROFILE = """
echo run >> "$HOME/count"
greet() { echo "hello $1"; }
alias shout='echo LOUD'
shopt -s expand_aliases extglob
set -o noclobber
export FROM_PROFILE=profile API_TOKEN=secret LD_PRELOAD=
plain_variable=kept
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of its own, with a bash profile that counts how often it is read."""
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / ".bash_profile", PROFILE)
    return tmp_path


def write(path: Path, text: str) -> None:
    """A start-up file that differs from the one before also by its time."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    if before:
        os.utime(path, ns=(before + 10**9, before + 10**9))


def read_how_often(home: Path) -> int:
    count = home / "count"
    return len(count.read_text().splitlines()) if count.exists() else 0


def engine(**said: Any) -> fairlead.Engine:
    return fairlead.Engine(fairlead.Options(shell="bash", **said))


async def output(opened: fairlead.Engine, command: str, **more: Any) -> str:
    """What a login command writes."""
    done = await opened.call("shell_command", {"command": command, **more})
    assert done.structured["exit_code"] == 0, done.content
    return str(done.structured["output"])


async def test_the_first_login_command_pays_and_later_ones_do_not(home: Path) -> None:
    """The profile is read once for any number of commands, of either tool."""
    async with engine() as opened:
        for _ in range(5):
            assert await output(opened, "echo $FROM_PROFILE") == "profile\n"
        done = await opened.call("exec_command", {"cmd": "greet you"})
        assert done.structured["output"] == "hello you\n"
        assert read_how_often(home) == 1


async def test_a_command_without_login_reads_nothing(home: Path) -> None:
    """Neither the profile nor its snapshot."""
    async with engine() as opened:
        assert await output(opened, "echo [$FROM_PROFILE]", login=False) == "[]\n"
        assert read_how_often(home) == 0


async def test_login_can_be_switched_off_for_all(home: Path) -> None:
    """With `allow_login` off a login command is an ordinary one."""
    async with engine(allow_login=False) as opened:
        assert await output(opened, "echo [$FROM_PROFILE]", login=True) == "[]\n"
        assert read_how_often(home) == 0


async def test_a_command_finds_what_a_login_shell_would_have(home: Path) -> None:
    """Functions, aliases, options and variables, exactly as under -lc."""
    script = (
        "greet you\n"
        "shout it\n"
        "shopt extglob; set -o | grep noclobber; shopt login_shell\n"
        "echo $plain_variable $FROM_PROFILE; echo $0 $#\n"
    )
    plain = await asyncio.create_subprocess_exec(
        shutil.which("bash") or "bash",
        "-lc",
        script,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    expected, _ = await plain.communicate()
    (home / "count").unlink()
    async with engine() as opened:
        await output(opened, "true")
        assert await output(opened, script) == expected.decode()
        assert read_how_often(home) == 1


async def test_a_changed_start_up_file_is_read_again(home: Path) -> None:
    """Changed, added or removed: the next login command has the new state."""
    async with engine() as opened:
        assert await output(opened, "echo $FROM_PROFILE") == "profile\n"
        write(home / ".bash_profile", PROFILE.replace("=profile", "=changed"))
        assert await output(opened, "echo $FROM_PROFILE") == "changed\n"
        assert await output(opened, "echo $FROM_PROFILE") == "changed\n"
        assert read_how_often(home) == 2
        (home / ".bash_profile").unlink()
        write(home / ".profile", PROFILE.replace("=profile", "=other"))
        assert await output(opened, "echo $FROM_PROFILE") == "other\n"
        assert read_how_often(home) == 3


async def test_calls_at_the_same_time_share_one_capture(home: Path) -> None:
    """Eight first login commands at once: the profile is read once, and all have it."""
    write(home / ".bash_profile", PROFILE + "sleep 0.3\n")
    async with engine() as opened:
        calls = (output(opened, "echo $FROM_PROFILE") for _ in range(8))
        assert await asyncio.gather(*calls) == ["profile\n"] * 8
        assert read_how_often(home) == 1


async def test_a_cancelled_first_call_leaves_the_capture_to_the_next(home: Path) -> None:
    """Whoever waited takes the snapshot itself; nothing is left of the cancelled one."""
    write(home / ".bash_profile", PROFILE + 'while [ ! -e "$HOME/go" ]; do sleep 0.05; done\n')
    async with engine() as opened:
        first = asyncio.create_task(output(opened, "echo $FROM_PROFILE"))
        while read_how_often(home) == 0:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(output(opened, "echo $FROM_PROFILE"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait((first,))
        assert first.cancelled()
        (home / "go").touch()
        assert await second == "profile\n"
        assert read_how_often(home) == 2


async def test_a_profile_that_hangs_is_given_up(home: Path) -> None:
    """After its time the capture is ended and the command says so; it is not tried again."""
    write(home / ".bash_profile", 'echo run >> "$HOME/count"; [ -e "$HOME/go" ] || sleep 300\n')
    async with engine(login_seconds=0.5) as opened:
        began = time.monotonic()
        arguments = {"command": "echo out", "timeout_ms": 500}
        done = await opened.call("shell_command", arguments)
        assert time.monotonic() - began < 30
        assert done.structured["timed_out"] is True  # it read the profile itself, and hung
        (home / "go").touch()
        done = await opened.call("shell_command", {"command": "echo out"})
        assert done.structured["output"] == "out\n"
        (warning,) = (one for one in done.structured["warnings"] if "start-up" in one)
        assert "did not end within 0.5 s; every login command reads them again" in warning
        assert read_how_often(home) == 3


async def test_a_profile_that_prints_and_fails_does_no_harm(home: Path) -> None:
    """Its own output is in no command's output, and its last status is nobody's."""
    write(home / ".bash_profile", "echo noise; echo noise >&2; " + PROFILE + "false\n")
    async with engine() as opened:
        assert await output(opened, "echo $?; echo $FROM_PROFILE") == "0\nprofile\n"


async def test_secrets_of_the_profile_are_kept_back_and_named(home: Path) -> None:
    """What looks like a secret, or changes what programs are, does not reach the command."""
    async with engine() as opened:
        done = await opened.call(
            "shell_command", {"command": "echo [$API_TOKEN] [${LD_PRELOAD-unset}]"}
        )
        assert done.structured["output"] == "[] [unset]\n"
        told = "exported by the login shell and not passed on: "
        (warning,) = (one for one in done.structured["warnings"] if one.startswith(told))
        assert {"API_TOKEN", "LD_PRELOAD"} <= set(warning.removeprefix(told).split(", "))


async def test_what_a_call_sets_beats_the_profile(home: Path) -> None:
    """The call's own variables win over the start-up's, and last for that call only."""
    async with engine() as opened:
        cmd = {"cmd": "echo $FROM_PROFILE"}
        done = await opened.call("exec_command", {**cmd, "env": {"FROM_PROFILE": "call"}})
        assert done.structured["output"] == "call\n"
        done = await opened.call("exec_command", cmd)
        assert done.structured["output"] == "profile\n"


async def test_a_call_can_not_move_the_home_directory(home: Path, tmp_path: Path) -> None:
    """Else the snapshot would be of other files than those that the shell reads."""
    async with engine() as opened:
        cmd = {"cmd": "echo $HOME", "env": {"HOME": str(tmp_path / "other")}}
        done = await opened.call("exec_command", cmd)
        assert done.structured["output"] == f"{home}\n"


async def test_the_capture_is_no_event_and_no_session(home: Path) -> None:
    """An agent and a listener see their command and nothing else."""
    events: list[Event] = []
    async with engine() as opened:
        opened.subscribe(events.append)
        await output(opened, "echo hi")
        assert [type(event).__name__ for event in events] == ["Started", "Chunk", "Ended"]
        assert len(opened.sessions()) == 1


async def test_zsh_and_sh_pay_once_too(home: Path, require: Any) -> None:
    """Each shell has a snapshot of its own."""
    write(home / ".zprofile", 'echo run >> "$HOME/count"; export FROM_PROFILE=zsh\n')
    write(home / ".profile", 'echo run >> "$HOME/count"; export FROM_PROFILE=sh\n')
    require("zsh")
    async with engine() as opened:
        for shell in ("zsh", "sh", "zsh", "sh"):
            cmd = {"cmd": "echo $FROM_PROFILE", "shell": shell}
            done = await opened.call("exec_command", cmd)
            assert done.structured["output"] == f"{shell}\n"
        assert read_how_often(home) == 2
