"""THE PLOT. A request is judged, granted, planned, started, and its output collected.

Every front end comes through here; there is no second path. Each line of `start` is a stage that
you can open: policy/ says what the rules demand, approval/ gets the yes, login.py and sandbox/
make the command what it will be, word for word, and spawn/ (behind starting.py) runs it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from fairlead.approval.settle import Reviewer, settle
from fairlead.login import Preparer
from fairlead.model.access import ApprovalPolicy, SandboxReport
from fairlead.model.env import ExecEnv
from fairlead.model.errors import Rejected, SandboxFailed
from fairlead.model.frozen import dataclass, replace
from fairlead.model.output import Ending, ExecOutput, Status
from fairlead.model.params import ExecParams, SandboxPermissions, Shell, Stdin
from fairlead.model.requirement import Grant, NeedsApproval, RuleRef
from fairlead.policy.judge import judge
from fairlead.protecting import Protector
from fairlead.sandbox.confiner import Confiner
from fairlead.sandbox.denial import denials_in, is_evidence
from fairlead.sandbox.plan import must_be_writable, plan
from fairlead.session.collect import collect
from fairlead.session.session import Session
from fairlead.session.stay import in_spite_of_cancelling
from fairlead.shells.complete import SCRIPT_DESCRIPTOR, check_argv, problem_in
from fairlead.starting import SessionStarter

T = TypeVar("T")


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
        return {"sandbox": _shown(self.env.sandbox), "approval": self.grant.facts}


def _shown(report: SandboxReport) -> dict[str, object]:
    return {"type": str(report.type), "tier": report.tier, "missing": list(report.missing)}


class ToolOrchestrator:
    """Carries out requests."""

    def __init__(
        self,
        *,
        approval: ApprovalPolicy,
        auto_allow_sandboxed: bool,
        confiner: Confiner,
        reviewer: Reviewer,
        preparer: Preparer,
        starter: SessionStarter,
        protector: Protector,
    ) -> None:
        self._approval = approval
        self._auto_allow_sandboxed = auto_allow_sandboxed
        self._confiner = confiner
        self._reviewer = reviewer
        self._preparer = preparer
        self._starter = starter
        self._protector = protector

    async def run(self, params: ExecParams, yield_time: float | None) -> ExecOutput:
        """Start it and wait for its end, at most `yield_time` seconds. What the sandbox denied may
        be tried once more without it, if the approval policy asks and somebody says yes."""
        output = await self._attempt(params, yield_time)
        if output.facts.get("denials") and self._offers_retry(params, output):
            try:
                await self._reviewer.review(params, NeedsApproval(_RETRY, _RETRY_REASON))
            except Rejected:
                return output
            outside = replace(params, sandbox_permissions=SandboxPermissions.REQUIRE_ESCALATED)
            return await self._attempt(outside, yield_time, granted=_RETRIED)
        return output

    async def start(self, params: ExecParams, granted: Grant | None = None) -> Run:
        """Judge, grant, plan, start."""
        grant = granted or await self.permit(params)
        begin = partial(self._starter.start, params)
        env, (session, warnings) = await self._planned(params, grant, begin)
        return Run(session=session, env=env, grant=grant, warnings=warnings)

    async def _planned(
        self, params: ExecParams, grant: Grant, begin: Callable[[ExecEnv], Awaitable[T]]
    ) -> tuple[ExecEnv, T]:
        """Begin it under a plan. A machine that is not what it was taken for gets another plan,
        which may be a refusal. Where files come and go all the time, the next one may be late, too.
        """
        for _ in range(_PLANS - 1):
            try:
                env = await self.plan(params, grant)
                return env, await begin(env)
            except SandboxFailed as error:
                if not self._confiner.learn(error):
                    raise
        env = await self.plan(params, grant)
        return env, await begin(env)

    async def _attempt(
        self, params: ExecParams, yield_time: float | None, granted: Grant | None = None
    ) -> ExecOutput:
        """One start and its output. A caller that is cancelled takes the process tree with it."""
        began = time.monotonic()
        run = await self.start(params, granted)
        facts = run.facts  # made now, while the command runs
        try:
            with run.session.in_call():
                output = await collect(run.session, yield_time, began)
        except asyncio.CancelledError:
            await in_spite_of_cancelling(run.session.end(by="the call was cancelled"))
            raise
        facts |= self.denials(run.env, output)
        return replace(output, facts=facts, warnings=(*run.warnings, *output.warnings))

    def denials(self, env: ExecEnv, output: ExecOutput) -> dict[str, object]:
        """What the sandbox denied, as facts of a result."""
        found = (*output.denials, *denials_in(env, output))
        if not found:
            return {}
        failed = output.status is Status.FAILED
        denied = failed and any(map(is_evidence, found)) and not _was_ended(output)
        told: dict[str, object] = {"denials": [one.facts for one in dict.fromkeys(found)]}
        return {**told, "status": Status.DENIED} if denied else told

    def _offers_retry(self, params: ExecParams, output: ExecOutput) -> bool:
        wished = params.sandbox_permissions is SandboxPermissions.REQUIRE_ESCALATED
        failed = output.status is Status.FAILED  # what was moved aside may not have hurt it
        return failed and self._approval in _ASK_AFTER_DENIAL and not wished

    def settle(self) -> None:
        """A command has ended in a session that goes on: see what it made."""
        self._protector.settle()

    def explained(self, session: Session, cwd: str | None, output: ExecOutput) -> ExecOutput:
        """The same for a command that ended in a session, with what stood around it and what that
        denied. `cwd` is where the session's shell is."""
        env = session.env
        if env is None:
            return output
        here = replace(env, cwd=Path(cwd)) if cwd else env
        facts = {**output.facts, "sandbox": _shown(env.sandbox), **self.denials(here, output)}
        return replace(output, facts=facts)

    async def restart(self, session: Session, params: ExecParams) -> None:
        """Another process for a session whose own has ended, on the same way."""
        begin = partial(self._starter.restart, session, params)
        await self._planned(params, await self.permit(params), begin)

    async def syntax_problem(self, shell: Shell, script: str, request: ExecParams) -> str | None:
        """What the shell itself says against a script, without running it."""
        argv = check_argv(shell, SCRIPT_DESCRIPTOR)
        params = replace(
            request, argv=argv, script=None, tty=False, stdin=Stdin.NULL, login=False, timeout=10.0
        )
        script_bytes = script.encode("utf-8", "surrogateescape")

        async def check(env: ExecEnv) -> tuple[Ending, bytes]:
            env = replace(env, attached={**(env.attached or {}), SCRIPT_DESCRIPTOR: script_bytes})
            return await self._starter.run_hidden(params, env)

        _, (ending, output) = await self._planned(params, await self.permit(params), check)
        return problem_in(ending.code, output)

    def login_prelude(self, shell: Shell) -> str:
        """What the login shell's start-up defined, for a shell that already runs."""
        return self._preparer.prelude(shell)

    async def permit(self, params: ExecParams) -> Grant:
        """A grant, or `Rejected`. May wait for a person."""
        requirement = judge(
            params,
            self._approval,
            self._confiner.settings.policy,
            auto_allow_sandboxed=self._auto_allow_sandboxed,
        )
        return await settle(params, requirement, self._reviewer)

    async def plan(self, params: ExecParams, grant: Grant) -> ExecEnv:
        """What will be spawned, word for word."""
        prepared = await self._preparer.prepare(params, grant)
        self._protector.look()
        return plan(params, grant, self._confiner, prepared)

    def write_check(self) -> Callable[[str], None] | None:
        """What the engine itself changes for an agent has the same bounds: raises `Rejected` for a
        canonical path beyond them. None where nothing is."""
        settings = self._confiner.settings
        if not settings.confines:
            return None
        return partial(must_be_writable, self._confiner.access(), settings.policy)


_PLANS = 4
_RETRY_REASON = "command failed; retry without sandbox?"
_RETRY = RuleRef("sandbox", text="something was denied")
_RETRIED = Grant(
    requirement=NeedsApproval(_RETRY, _RETRY_REASON), decision="approved", because=str(_RETRY)
)
_ASK_AFTER_DENIAL = (
    ApprovalPolicy.ON_FAILURE,
    ApprovalPolicy.UNLESS_TRUSTED,
    ApprovalPolicy.GRANULAR,
)


def _was_ended(output: ExecOutput) -> bool:
    return output.ending is not None and (
        output.ending.timed_out or output.ending.killed_by is not None
    )
