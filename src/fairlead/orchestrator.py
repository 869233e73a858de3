"""THE PLOT. A request is judged, granted, planned, started, and its output collected.

Every front end comes through here; there is no second path. Each line of `start` is a stage that
you can open: policy/ says what the rules demand, approval/ gets the yes, login.py and sandbox/
make the command what it will be, word for word, and spawn/ (behind starting.py) runs it.
"""

from __future__ import annotations

import asyncio
import time

from fairlead.approval.settle import Reviewer, settle
from fairlead.login import Preparer
from fairlead.model.access import ApprovalPolicy, SandboxPolicy
from fairlead.model.env import ExecEnv
from fairlead.model.frozen import dataclass, replace
from fairlead.model.output import ExecOutput
from fairlead.model.params import ExecParams, Shell, Stdin
from fairlead.model.requirement import Grant
from fairlead.policy.judge import judge
from fairlead.sandbox.plan import plan
from fairlead.session.collect import collect
from fairlead.session.session import Session
from fairlead.session.stay import in_spite_of_cancelling
from fairlead.shells.complete import SCRIPT_DESCRIPTOR, check_argv, problem_in
from fairlead.starting import SessionStarter


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A session that was started for a call, and what was decided on the way."""

    session: Session
    env: ExecEnv
    grant: Grant
    warnings: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, object]:
        """The decisions as the result reports them."""
        report = self.env.sandbox
        return {
            "sandbox": {
                "type": str(report.type),
                "tier": report.tier,
                "missing": list(report.missing),
            },
            "approval": self.grant.facts,
        }


class ToolOrchestrator:
    """Carries out requests."""

    def __init__(
        self,
        *,
        approval: ApprovalPolicy,
        sandbox: SandboxPolicy,
        reviewer: Reviewer,
        preparer: Preparer,
        starter: SessionStarter,
    ) -> None:
        self._approval = approval
        self._sandbox = sandbox
        self._reviewer = reviewer
        self._preparer = preparer
        self._starter = starter

    async def run(self, params: ExecParams, yield_time: float | None) -> ExecOutput:
        """Start it and wait for its end, at most `yield_time` seconds. A caller that is cancelled
        takes the whole process tree with it."""
        began = time.monotonic()
        run = await self.start(params)
        facts = run.facts  # made now, while the command runs
        try:
            with run.session.in_call():
                output = await collect(run.session, yield_time, began)
        except asyncio.CancelledError:
            await in_spite_of_cancelling(run.session.end(by="the call was cancelled"))
            raise
        return replace(output, facts=facts, warnings=(*run.warnings, *output.warnings))

    async def start(self, params: ExecParams) -> Run:
        """Judge, grant, plan, start."""
        grant = await self.permit(params)
        env = await self.plan(params, grant)
        session, warnings = await self._starter.start(params, env)
        return Run(session=session, env=env, grant=grant, warnings=warnings)

    async def restart(self, session: Session, params: ExecParams) -> None:
        """Another process for a session whose own has ended, on the same way."""
        env = await self.plan(params, await self.permit(params))
        await self._starter.restart(session, params, env)

    async def syntax_problem(self, shell: Shell, script: str, request: ExecParams) -> str | None:
        """What the shell itself says against a script, without running it."""
        argv = check_argv(shell, SCRIPT_DESCRIPTOR)
        params = replace(
            request, argv=argv, script=None, tty=False, stdin=Stdin.NULL, login=False, timeout=10.0
        )
        env = await self.plan(params, await self.permit(params))
        script_bytes = script.encode("utf-8", "surrogateescape")
        env = replace(env, attached={SCRIPT_DESCRIPTOR: script_bytes})
        ending, output = await self._starter.run_hidden(params, env)
        return problem_in(ending.code, output)

    def login_prelude(self, shell: Shell) -> str:
        """What the login shell's start-up defined, for a shell that already runs."""
        return self._preparer.prelude(shell)

    async def permit(self, params: ExecParams) -> Grant:
        """A grant, or `Rejected`. May wait for a person."""
        requirement = judge(params, self._approval, self._sandbox)
        return await settle(params, requirement, self._reviewer)

    async def plan(self, params: ExecParams, grant: Grant) -> ExecEnv:
        """What will be spawned, word for word."""
        prepared = await self._preparer.prepare(params, grant)
        return plan(params, grant, self._sandbox, prepared)
