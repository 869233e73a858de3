"""What one call hands back of a session."""

from __future__ import annotations

import time

from fairlead.model.output import ExecOutput
from fairlead.session.session import Session

QUIET = 0.05  # seconds without output before the kernel is asked whether it waits for input
AGAIN = 0.25


async def collect(
    session: Session, yield_time: float | None, began: float, *, polls: bool = False
) -> ExecOutput:
    """Wait for the end, at most `yield_time` seconds from now, and take the output that is new.
    A session that waits for input will do nothing more until it gets some, so that ends the wait
    as well; but who only `polls` and has nothing to read yet waits on, or it would poll again
    at once. `began` is when the call did: what happened since then, a person's approval
    included, is not the command's time to answer."""
    since = time.monotonic()
    deadline = None if yield_time is None else since + yield_time
    waiting = False
    while not waiting and not await session.wait_done(_next_look(session, since, deadline)):
        news = not polls or session.log.size > session.cursor
        waiting = news and waits_for_input(session)
        if deadline is not None and time.monotonic() >= deadline:
            break
    return take(session, began, waiting=waiting or (polls and waits_for_input(session)))


def _next_look(session: Session, since: float, deadline: float | None) -> float | None:
    """Seconds until the next look at whether it waits for input: only once it has been quiet, and
    has had time to take the input that it was given just now."""
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    if not session.takes_input:
        return left
    quiet = time.monotonic() - max(session.last_output, since)
    look = QUIET - quiet if quiet < QUIET else AGAIN
    return look if left is None else min(left, look)


def take(session: Session, began: float, *, waiting: bool = False) -> ExecOutput:
    """The output that is new, and the ending if there is one."""
    start = session.cursor
    output = session.take_unread()
    return ExecOutput(
        session_id=session.id,
        chunk_id=session.remember_chunk(start, session.cursor),
        output=output,
        wall_time=time.monotonic() - began,
        ending=None if session.running else session.ending,
        output_held_open=session.held_open,
        waiting_for_input=waiting,
        warnings=(session.log.problem,) if session.log.problem else (),
        denials=session.take_denials(),
    )


def waits_for_input(session: Session) -> bool:
    """The kernel shows it blocked in a read of what we would write."""
    return session.process is not None and session.process.waiting_for_input()
