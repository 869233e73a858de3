"""One session in a few facts, for lists."""

from __future__ import annotations

import time
from typing import Any

from fairlead.session.endings import describe
from fairlead.session.session import Session


def summary(session: Session) -> dict[str, Any]:
    """What a list says of a session. Absent facts are absent keys."""
    process, ending = session.process, session.ending
    found: dict[str, Any] = {
        "session_id": session.id,
        "state": _state(session),
        "command": session.params.shown,
        "cwd": str(session.params.cwd),
        "tty": session.params.tty,
        "started_at": round(session.started_at, 3),
        "age_seconds": round(time.time() - session.started_at, 1),
        "total_bytes": session.log.size,
    }
    if session.running and process is not None:
        found["pid"] = process.inner_pid
        if process.pid != found["pid"]:
            found["host_pid"] = process.pid
        found["waiting_for_input"] = process.waiting_for_input()
    elif ending is not None:
        found |= {"exit_code": ending.code, "ended": describe(ending)}
        if session.tree_alive:
            found["descendants_alive"] = True
    return found


def _state(session: Session) -> str:
    if session.running:
        return "running"
    return "exited, children alive" if session.tree_alive else "exited"
