"""Commands that end their shell: the code is theirs, and a fresh shell takes the place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fairlead import Engine
from tests.live.driving import KINDS, Live, alive, kill, pid_in, until, words_of, written


async def test_exit_gives_its_code_and_a_fresh_shell(live: Live, home: Path) -> None:
    """`exit 7` gives 7 and no word more; the next shell has the same session, directory and
    exported variables, and nothing else of the old one."""
    number = await live.id()
    await live.out("cd /tmp; export kept='a  b\nc'; lost=1; f() { :; }")
    answer = await live.run("echo before; exit 7")
    assert (answer.structured["exit_code"], answer.structured["output"]) == (7, "before\n")
    assert (answer.structured["session_id"], answer.structured["cwd"]) == (number, "/tmp")
    assert "warnings" not in answer.structured
    assert await live.out('echo "$PWD|$kept|${lost-}"; f 2>/dev/null || echo gone') == (
        "/tmp|a  b\nc|\ngone\n"
    )
    assert await live.id() == number


async def test_exit_again_and_again(live: Live) -> None:
    """Each fresh shell is one that can be ended in the same way."""
    for code in (1, 0, 255):
        assert await live.out(f"exit {code}", code) == ""


async def test_exit_in_a_subshell_ends_nothing(live: Live) -> None:
    """Only the subshell ends."""
    await live.out("x=1; (exit 3)", 3)
    assert await live.out('(echo sub; exit 4) || echo "$? $x"; y=$(exit 5) || echo $?') == (
        "sub\n4 1\n5\n"
    )


async def test_exit_deep_inside(live: Live) -> None:
    """From a function, a loop and a condition too."""
    assert await live.out("f() { for i in 1; do exit 9; done; }; f || :; echo no", 9) == ""


async def test_exit_without_a_number_gives_the_last_status(live: Live) -> None:
    """As the shell has it."""
    assert await live.out("(exit 6); exit", 6) == ""


async def test_errexit(live: Live) -> None:
    """`set -e; false` ends the shell with 1; the options of that shell end with it."""
    assert await live.out("echo a; set -e; false; echo b", 1) == "a\n"
    assert await live.out("false; echo usable") == "usable\n"


async def test_errexit_between_commands(live: Live) -> None:
    """With `set -e`, a status that ends nothing as the user wrote it ends nothing because of us."""
    await live.out("set -e; x=kept")
    await live.run("(exit 3) && :")
    assert await live.out("echo $x") == "kept\n"


@pytest.mark.parametrize("command", ["exec true", "exec sh -c 'exit 5'"])
async def test_exec(live: Live, command: str) -> None:
    """A shell that became another program ended with that; what it could not save is told."""
    number = await live.id()
    await live.out("cd /tmp")
    answer = await live.run(command)
    assert answer.structured["exit_code"] == (0 if "true" in command else 5)
    assert "fresh one" in answer.structured["warnings"][0]
    again = await live.run("echo $PWD")
    assert (again.structured["output"], again.structured["session_id"]) == ("/tmp\n", number)


async def test_a_shell_that_kills_itself(live: Live) -> None:
    """`kill -9 $$` gives 137, what it wrote before, and a fresh shell in the last directory."""
    await live.out("cd /tmp")
    answer = await live.run("echo before; kill -9 $$")
    assert (answer.structured["exit_code"], answer.structured["output"]) == (137, "before\n")
    assert await live.out("pwd") == "/tmp\n"


async def test_a_shell_that_hangs_up_on_itself(bash: Live) -> None:
    """bash runs its traps before it dies of the signal: what counts is that it did."""
    answer = await bash.run("true; kill -HUP $$")
    assert (answer.structured["exit_code"], answer.structured["output"]) == (129, "")
    assert await bash.out("echo usable") == "usable\n"


async def test_a_directory_with_too_long_a_name(bash: Live) -> None:
    """A path longer than the kernel takes can't be started in: the fresh shell is elsewhere."""
    deep = "for i in {1..25}; do mkdir -p $d && cd $d; done"
    await bash.out(f"d={'d' * 200}; {deep}; ((${{#PWD}} > 4096))")
    assert await bash.out("exit 3", 3) == ""
    assert await bash.out("echo usable") == "usable\n"


async def test_a_directory_that_is_gone(live: Live, home: Path) -> None:
    """The fresh shell begins where the first one did, and knows it."""
    await live.out("mkdir gone && cd gone && rmdir ../gone")
    assert (await live.run("exit 3")).structured["exit_code"] == 3
    answer = await live.run('echo "$PWD"; pwd -P')
    here = str(home.resolve())
    assert answer.structured["output"].split() == [here, here]
    assert answer.structured["cwd"] == here


@pytest.mark.parametrize(("said", "code"), [("300", 44), ("256", 0)])
async def test_a_code_is_a_byte(live: Live, said: str, code: int) -> None:
    """As whoever waits for the shell would see it."""
    assert (await live.run(f"exit {said}")).structured["exit_code"] == code
    assert (await live.run(f"f() {{ return {said}; }}; f")).structured["exit_code"] == code


async def test_return_at_the_top(live: Live) -> None:
    """`return 3` outside of a function is no end of the shell."""
    await live.out("x=kept")
    assert (await live.run("return 3")).structured["exit_code"] in (1, 2, 3)
    assert await live.out("echo $x") == "kept\n"


async def test_the_users_own_exit_trap(live: Live) -> None:
    """It runs, sees the status, and all that it writes is output."""
    await live.out("cd /tmp; export kept=1; trap 'echo bye $?; echo err >&2' EXIT")
    assert await live.out("echo before; exit 3", 3) == "before\nbye 3\nerr\n"
    assert await live.out("pwd") == "/tmp\n"
    if live.kind.program != "dash":  # it has no other place to save its state at
        assert await live.out("echo $kept") == "1\n"


async def test_exit_with_jobs(live: Live) -> None:
    """Background and stopped jobs don't keep a shell from exiting; they end with it, and the
    agent is told."""
    answer = await live.run("sleep 100 & echo $!; exit 7")
    pid = int(next(word for word in answer.structured["output"].split() if word.isdigit()))
    if live.kind.dialect == "zsh" and live.kind.started:  # zsh asks again first: its own rules
        answer = await live.run("exit 7")
    assert answer.structured["exit_code"] == 7
    assert not alive(pid)
    if live.kind == KINDS["zsh -f"]:  # it ends them itself, and says so
        assert "SIGHUPed" in answer.structured["output"]
    else:
        assert any("background" in text for text in answer.structured["warnings"])


async def test_the_fresh_shell_is_of_the_same_kind(engine: Engine) -> None:
    """The agent's own words started it, and start it anew."""
    live = await Live.open(engine, KINDS["bash --norc"])
    before = words_of(int(await live.out("echo $$")))
    await live.run("exit 1")
    assert words_of(int(await live.out("echo $$"))) == before == b"bash\0--norc\0"


async def test_the_shell_is_killed_meanwhile(live: Live, home: Path) -> None:
    """Somebody else's SIGKILL: the command is over, the next one finds a fresh shell."""
    note = home / "pid"
    running = asyncio.create_task(live.run(f"echo $$ > {note}; echo out; sleep 100"))
    await until(written(note))
    kill(pid_in(note))
    answer = await running
    assert (answer.structured["exit_code"], answer.structured["output"]) == (137, "out\n")
    assert await live.out("echo usable") == "usable\n"


async def test_the_session_is_killed_meanwhile(live: Live, home: Path) -> None:
    """kill_session means it: the command ends and no fresh shell comes."""
    note = home / "pid"
    number = await live.id()
    running = asyncio.create_task(live.run(f"echo $$ > {note}; sleep 100"))
    await until(written(note))
    await live.engine.call("kill_session", {"session_id": number, "reason": "enough"})
    answer = await running
    assert "enough" in answer.structured["killed_by"]
    assert not answer.success
    assert answer.structured["exit_code"] != 0
    again = await live.run("echo hi")
    if live.kind.started:
        assert "has ended" in again.content
    else:
        assert (again.structured["output"], again.structured["session_id"] == number) == (
            "hi\n",
            False,
        )


async def test_an_unsaved_shell_of_dash_says_so(engine: Engine) -> None:
    """dash can't save its state when the user's trap has the place of ours: that is told."""
    live = await Live.open(engine, KINDS["own dash"])
    await live.out("export kept=1; trap 'echo bye' EXIT")
    answer = await live.run("exit 2")
    assert answer.structured["exit_code"] == 2
    assert "fresh one" in answer.structured["warnings"][0]
