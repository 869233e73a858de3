"""What `fairlead run` and `fairlead sandbox` share: from words to a command in this terminal."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairlead.cli.flags import Line
from fairlead.cli.main import complain
from fairlead.config.options import Options
from fairlead.model.env import ExecEnv
from fairlead.model.errors import BadRequest, Rejected, SandboxFailed, SpawnFailed
from fairlead.model.frozen import replace
from fairlead.model.params import ExecParams
from fairlead.model.requirement import Grant
from fairlead.model.shown import escaped
from fairlead.sandbox.none import Unconfined
from fairlead.sandbox.plan import Prepared, plan
from fairlead.shells import argv as derive
from fairlead.shells.detect import session_shell
from fairlead.shells.environment import base

if TYPE_CHECKING:
    from fairlead.sandbox.confiner import Confiner

REFUSED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127


def params_from(line: Line, options: Options, *, tool: str) -> ExecParams:
    """ARGV, or `-c SCRIPT` for the user's own shell. Raises `BadRequest`."""
    script = line.get("command")
    if script is not None and line.words:
        raise BadRequest("give either ARGV or -c 'SCRIPT', not both")
    if script is None and not line.words:
        raise BadRequest("nothing to run: give ARGV after --, or -c 'SCRIPT'")
    words = line.words if script is None else derive(session_shell(), script, False)
    if not words[0]:
        raise BadRequest("ARGV: the command must not be empty")
    return ExecParams(
        call_id=tool,
        tool=tool,
        argv=tuple(words),
        script=script,
        cwd=options.cwd,
        tty=line.on("tty"),
    )


def answered(work: Callable[[], int]) -> int:
    """Its exit code. What kept it from running is one line, and a code that says so."""
    try:
        return work()
    except (Rejected, SandboxFailed) as error:
        return complain(str(error), REFUSED)
    except SpawnFailed as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
        return complain(str(error), NOT_FOUND if missing else NOT_EXECUTABLE)


def run_planned(params: ExecParams, grant: Grant, options: Options) -> int:
    """Plan and run it. A machine that turns out to offer less gets another plan, or a refusal."""
    own = base(os.environ, options.environment).own
    prepared = Prepared(argv=params.argv, env={**own, "FAIRLEAD": "1"})
    if not options.sandbox_settings.confines:  # and what would confine need not be loaded
        return _run(plan(params, grant, Unconfined(options.sandbox_settings), prepared))
    from fairlead.confining import confiner_for

    confiner = confiner_for(options, answers=False)
    env = plan(params, grant, confiner, prepared)
    try:
        return _watched(env, confiner)
    except SandboxFailed as error:
        if not confiner.learn(error):
            raise
    return _watched(plan(params, grant, confiner, prepared), confiner)


def _watched(env: ExecEnv, confiner: Confiner) -> int:
    """With a watch over the names that must not appear, where the sandbox needs one."""
    if env.access is None or not env.access.writable:
        return _run(env)
    from fairlead.cli.watching import at_once
    from fairlead.protect.aside import recover
    from fairlead.protect.guard import Protection

    recover(confiner.state_directory)
    with Protection(env.access, confiner.state_directory) as protection:
        with at_once(protection) as seen:
            code = _run(env)
        for denial in dict.fromkeys((*seen, *protection.settle())):
            where = escaped(denial.path or "")  # the command chose the name
            complain(f"denied: {denial.what} {where}: {denial.by}", code)
    return code


def _run(env: ExecEnv) -> int:
    from fairlead.spawn import launcher

    found = launcher.find()
    if found is None:
        from fairlead.spawn.bare import run_in_foreground

        return run_in_foreground(env, tty=env.tty)
    from fairlead.spawn import foreground

    start = foreground.run_in_terminal if env.tty else foreground.run
    with _limited(env) as env:
        return start(os.fspath(found), env)


@contextmanager
def _limited(env: ExecEnv) -> Iterator[ExecEnv]:
    """In a control group of its own, where all of its processes together are limited."""
    confinement = env.confinement
    if confinement is None or (confinement.memory is None and confinement.processes is None):
        yield env
        return
    from fairlead.spawn import cgroup

    group = cgroup.make(confinement.memory, confinement.processes)
    assert group is not None
    try:
        setup = (*group.joins, *confinement.setup)
        yield replace(env, confinement=replace(confinement, setup=setup))
    finally:
        group.remove()
