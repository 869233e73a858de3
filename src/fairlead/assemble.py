"""From options to a ready engine. The one place where real parts are chosen."""

from __future__ import annotations

import os

from fairlead.approval.nobody import Nobody
from fairlead.config.options import Options
from fairlead.confining import call_denied, confiner_for
from fairlead.live import LiveShells
from fairlead.login import Preparer
from fairlead.model.frozen import dataclass
from fairlead.model.output import Ending
from fairlead.model.params import ExecParams
from fairlead.model.process import Spawner
from fairlead.model.requirement import Grant
from fairlead.orchestrator import ToolOrchestrator
from fairlead.protecting import Protector
from fairlead.sandbox.confiner import Confiner
from fairlead.sandbox.plan import Prepared, plan
from fairlead.session.budget import MemoryBudget
from fairlead.session.hub import EventHub
from fairlead.session.store import SessionStore
from fairlead.shells.detect import named, session_detected
from fairlead.spawn.choose import local_spawner
from fairlead.starting import LogLimits, SessionStarter
from fairlead.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an engine is made of."""

    spawner: Spawner
    toolbox: Toolbox
    protector: Protector


def assemble(options: Options, spawner: Spawner | None = None) -> Parts:
    """The parts of one engine. `spawner` replaces the one for this machine."""
    spawner = spawner or local_spawner(call_denied)
    store = SessionStore(options.capacity)
    hub = EventHub()
    limits = LogLimits(
        max_bytes=options.log_bytes,
        budget=MemoryBudget(options.memory_bytes),
        directory=options.log_directory,
    )
    confiner = confiner_for(options)
    protector = Protector(confiner.state_directory, confiner.look_again)
    starter = SessionStarter(spawner, store, hub, limits, protector)
    orchestrator = ToolOrchestrator(
        approval=options.approval_policy,
        auto_allow_sandboxed=options.auto_allow_sandboxed,
        confiner=confiner,
        reviewer=Nobody(),
        preparer=_preparer(options, starter, confiner),
        starter=starter,
        protector=protector,
    )
    toolbox = Toolbox(
        orchestrator=orchestrator,
        store=store,
        hub=hub,
        live=LiveShells(orchestrator),
        cwd=options.cwd,
        shell=named(options.shell) if options.shell else session_detected().shell,
        allow_login=options.allow_login,
    )
    return Parts(spawner=spawner, toolbox=toolbox, protector=protector)


def _preparer(options: Options, starter: SessionStarter, confiner: Confiner) -> Preparer:
    async def capture(params: ExecParams, grant: Grant, prepared: Prepared) -> tuple[Ending, bytes]:
        """A login shell's start-up runs under the same plan as the command that wanted it."""
        env = plan(params, grant, confiner, prepared)
        return await starter.run_hidden(params, env)

    return Preparer(options.environment, os.environ, capture, options.login_seconds)
