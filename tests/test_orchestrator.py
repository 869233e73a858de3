"""The plot from end to end: judged, granted, planned, started; or refused, and nothing runs."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

import fairlead
from fairlead.model.access import ApprovalPolicy, SandboxPolicy
from fairlead.model.env import ExecEnv
from fairlead.model.errors import SandboxFailed
from fairlead.model.event import Event
from fairlead.model.process import OutputSink
from fairlead.spawn.local import LocalSpawner
from fairlead.spawn.local_process import LocalProcess
from fairlead.testing import FakeProcess, FakeSpawner
from tests.policy.test_judge import ROWS, RUNS
from tests.session.house import is_running
from tests.spawn.running import launcher_path

CONFINED = (SandboxPolicy.READ_ONLY, SandboxPolicy.WORKSPACE_WRITE)


def refusal(approval: ApprovalPolicy, sandbox: SandboxPolicy, verdict: str) -> str | None:
    """The text that a refused call gets; None for one that runs."""
    if verdict == "forbidden":
        return (
            f"approval policy is {approval}; reject command — you cannot ask for escalated "
            f"permissions if the approval policy is {approval}"
        )
    if verdict != RUNS:
        where = f"approval policy ({approval} × {sandbox})"
        return f"approval required ({verdict}; {where}), and nobody is there to give it"
    return None


@pytest.mark.parametrize(("approval", "sandbox", "escalates", "verdict"), ROWS)
async def test_every_row_of_the_policy_table(
    approval: ApprovalPolicy, sandbox: SandboxPolicy, escalates: bool, verdict: str
) -> None:
    """Each combination runs, or is refused with its exact text and nothing is spawned."""
    spawner, events = FakeSpawner(), list[Event]()
    options = fairlead.Options(preset="full-access", approval=approval, sandbox=sandbox)
    wish = "require_escalated" if escalates else "use_default"
    async with fairlead.Engine(options, spawner=spawner) as engine:
        engine.subscribe(events.append)
        for tool, argument in (("shell", {"command": ["a"]}), ("exec_command", {"cmd": "a b"})):
            done = await engine.call(tool, {**argument, "sandbox_permissions": wish})
            text = refusal(approval, sandbox, verdict)
            if text is None:
                assert done.success
                assert done.structured["approval"] == {
                    "requirement": "skip",
                    "decision": "skip",
                    "because": f"approval policy ({approval} × {sandbox})",
                }
                confined = sandbox in CONFINED
                assert (done.structured["sandbox"]["type"] != "none") == confined
                assert [(env.confinement is not None) for env in spawner.spawned[-1:]] == [confined]
            else:
                assert not done.success
                assert done.content == text
                assert done.structured["status"] == "rejected"
                assert (spawner.spawned, events, engine.sessions()) == ([], [], [])


async def test_a_refused_live_shell_is_not_started() -> None:
    """run_in_session goes the same way: nothing runs that the policies do not allow."""
    spawner = FakeSpawner()
    options = fairlead.Options(approval=ApprovalPolicy.UNLESS_TRUSTED)
    row = "approval policy (unless-trusted × workspace-write)"
    async with fairlead.Engine(options, spawner=spawner) as engine:
        for command in ("echo hi", "echo 'open quote"):
            done = await engine.call("run_in_session", {"command": command, "shell": "bash"})
            assert done.content == (
                f"approval required (no rule says that this command is trusted; {row}), and nobody "
                "is there to give it"
            )
        assert spawner.spawned == []


async def test_a_cancelled_call_takes_its_tree_with_it(tmp_path: Path) -> None:
    """Cancelling ends every process and returns when they are gone, also if cancelled again."""
    for again in (False, True):
        pids = tmp_path / f"pids-{again}"
        pids.touch()
        script = (
            "trap '' TERM; setsid bash -c 'trap \"\" TERM; sleep 300; sleep 300' & "
            f"echo $$ $! > {pids}; sleep 301; sleep 301; sleep 301"
        )
        async with fairlead.Engine() as engine:
            call = asyncio.create_task(
                engine.call("shell", {"command": ["bash", "-c", script], "timeout_ms": 600_000})
            )
            while not (pids.read_text().endswith("\n") and engine.sessions()):
                await asyncio.sleep(0.01)
            (running,) = engine.sessions()
            process = engine.session(running["session_id"]).process
            assert process is not None
            found = process.descendants()
            assert len(found) >= 2
            call.cancel()
            if again:
                await asyncio.sleep(0.1)
                call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert [pid for pid in found if is_running(pid)] == []
            (session,) = engine.sessions()
            assert session["state"] == "exited"
            assert "ended by the call was cancelled" in session["ended"]


async def test_a_call_cancelled_while_its_command_starts_leaves_nothing() -> None:
    """At whatever moment of the start: conftest finds what would be left."""
    async with fairlead.Engine() as engine:
        for turns in range(12):
            call = asyncio.create_task(engine.call("shell", {"command": ["sleep", "300"]}))
            for _ in range(turns):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait((call,))
            assert call.cancelled()
            assert all(one["state"] == "exited" for one in engine.sessions())


async def test_a_backgrounded_session_outlives_its_call() -> None:
    """Once the call returned, the session lives by design."""
    async with fairlead.Engine() as engine:
        cmd = {"cmd": ["sleep", "300"], "yield_time_ms": 250}
        call = asyncio.create_task(engine.call("exec_command", cmd))
        done = await call
        call.cancel()
        assert done.structured["status"] == "running"
        assert engine.session(done.structured["session_id"]).running


async def test_a_person_is_waited_for_without_costing_the_command_its_time() -> None:
    """The wait for an approval does not use up the yield time."""
    from dataclasses import replace

    from fairlead.assemble import assemble
    from fairlead.model.params import ExecParams
    from fairlead.model.requirement import Grant, NeedsApproval

    class Slow:
        async def review(self, params: ExecParams, question: NeedsApproval) -> Grant:
            await asyncio.sleep(0.5)
            return Grant(requirement=question, decision="approved", because="a person")

    async def play(process: FakeProcess) -> int:
        await asyncio.sleep(0.2)
        process.say("done")
        return 0

    options = fairlead.Options(approval=ApprovalPolicy.UNLESS_TRUSTED)
    parts = assemble(options, FakeSpawner(play))
    orchestrator = parts.toolbox.orchestrator
    orchestrator._reviewer = Slow()
    params = ExecParams(call_id="1", tool="shell", argv=("a",), cwd=Path("/"))
    output = await orchestrator.run(replace(params, call_id="2"), 0.4)
    assert output.output.kept == b"done"
    assert output.facts["approval"] == {
        "requirement": "needsapproval",
        "decision": "approved",
        "because": "a person",
    }
    await parts.spawner.close()


@pytest.mark.parametrize("which", [1, 2, 3])
async def test_what_went_away_meanwhile_is_planned_anew(tmp_path: Path, which: int) -> None:
    """A path that vanished between the look and the start costs no call, whichever start it is: of
    the command, or before it (a login shell, a look at the syntax), or after it (a new shell)."""

    class Unlucky(LocalSpawner):
        """One start fails as if a path of the plan were gone."""

        ahead = which

        async def spawn(self, env: ExecEnv, sink: OutputSink) -> LocalProcess:
            self.ahead -= 1
            if self.ahead == 0:
                raise SandboxFailed("gone", step="mounts", errno=errno.ENOENT)
            return await super().spawn(env, sink)

    spawner = Unlucky(launcher_path())
    options = fairlead.Options(cwd=tmp_path, shell="bash")
    async with fairlead.Engine(options, spawner=spawner) as engine:
        assert (await engine.exec_command("echo login")).structured["output"] == "login\n"
        spawner.ahead = which
        doubtful = "case a in a) ;;& esac; exit 7"  # the grammar asks the shell about it
        ended = await engine.run_in_session(doubtful)
        assert ended.structured.get("exit_code") == 7, ended.content
        assert (await engine.run_in_session("echo on")).structured["output"] == "on\n"
        assert spawner.ahead <= 0  # it came to that
