"""Applying a patch, as a tool of its own or where a command turned out to be one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlead.model.errors import BadRequest, ExecError
from fairlead.model.frozen import dataclass, field, replace
from fairlead.model.output import Ending, ExecOutput, StreamOutput
from fairlead.model.params import ExecParams
from fairlead.session.stay import wait_in_spite_of_cancelling
from fairlead.tools.toolbox import Call

PROGRAM = "apply_patch"


@dataclass(frozen=True, slots=True)
class Applied:
    """What a patch changed, or why it changed nothing."""

    text: str
    files: tuple[tuple[str, str], ...] = ()  # (A, M or D, path)
    error: ExecError | None = None
    approval: dict[str, Any] = field(default_factory=dict)


async def apply(call: Call, params: ExecParams, body: str, directory: Path) -> Applied:
    """Read, verify, get the grant, commit. Nothing is changed unless everything can be."""
    from fairlead.patch.commit import CommitFailed, commit, verify
    from fairlead.patch.grammar import parse

    try:
        patch = parse(body)
        check = call.box.orchestrator.write_check()
        verified = await asyncio.to_thread(verify, patch, directory, None, check)
        asked = _as_asked(params, body, directory, verified.paths)
        grant = await call.box.orchestrator.permit(asked)
        # A thread that writes files can't be stopped half-way, so a cancelled caller stays.
        writing = asyncio.create_task(asyncio.to_thread(commit, verified))
        summary = await wait_in_spite_of_cancelling(writing)
    except (BadRequest, CommitFailed) as error:
        return Applied(str(error), error=error)
    changed = tuple((one.letter, one.shown) for one in verified.changes)
    return Applied(summary.text, changed, approval=grant.facts)


def _as_asked(
    params: ExecParams, body: str, directory: Path, files: tuple[Path, ...]
) -> ExecParams:
    """The request that is judged: the patch, whatever command it came in, and what it touches."""
    return replace(
        params,
        argv=(PROGRAM, body),
        cwd=directory,
        script=None,
        shell=None,
        login=False,
        files=files,
    )


def intercepted(argv: Sequence[str]) -> tuple[str, str | None] | None:
    """(patch, directory) if a command is nothing but a call of apply_patch."""
    from fairlead.patch.intercept import find

    found = find(argv)
    return None if found is None else (found.body, found.workdir)


async def instead_of_running(call: Call, params: ExecParams) -> ExecOutput | None:
    """If the command is a patch, apply it and answer as the command would have."""
    found = intercepted(params.argv)
    if found is None:
        return None
    body, workdir = found
    began = time.monotonic()
    directory = params.cwd / Path(workdir) if workdir else params.cwd
    applied = await apply(call, params, body, directory)
    return ExecOutput(
        session_id=0,
        chunk_id="",
        output=StreamOutput(head=applied.text.encode("utf-8", "surrogateescape")),
        wall_time=time.monotonic() - began,
        ending=Ending(code=0 if applied.error is None else 1),
        facts={"approval": applied.approval} if applied.approval else {},
    )
