"""Who hears of what happens. Subscribers are called on the event loop and must not block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from fairlead.model.event import Event, Started
from fairlead.session.follow import ended, stream_deltas
from fairlead.session.session import Session

Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True, eq=False)
class Subscription:
    """One listener, for one call or for all."""

    listener: Listener
    call_id: str | None


class EventHub:
    """Hands events to those who subscribed. Costs nothing while nobody did."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []

    def subscribe(self, listener: Listener, call_id: str | None = None) -> Callable[[], None]:
        """Hear events from now on. Returns the way to stop."""
        subscription = Subscription(listener, call_id)
        self._subscriptions.append(subscription)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._subscriptions.remove(subscription)

        return unsubscribe

    def emit(self, event: Event) -> None:
        for one in list(self._subscriptions):
            if one.call_id is None or one.call_id == event.call_id:
                _tell(one, event)

    def wanted(self, call_id: str) -> bool:
        return any(one.call_id in (None, call_id) for one in self._subscriptions)

    def announce(self, session: Session, pid: int) -> None:
        """A process runs: one `Started` now, its output as it comes, one `Ended` at the end."""
        finish: Callable[[int], int] | None = None
        if self.wanted(session.params.call_id):
            self.emit(_started(session, pid))
            finish = stream_deltas(session, self.emit)

        def finished() -> None:
            size = session.log.size  # a descendant may go on writing: this is where it ended
            self.emit(ended(session, size, finish(size) if finish is not None else 0))

        session.on_finish(finished)


def _tell(subscription: Subscription, event: Event) -> None:
    """A listener's mistake is its owner's, and never the end of a command or of its output."""
    try:
        subscription.listener(event)
    except Exception as error:
        message = f"a listener failed on {type(event).__name__}"
        context = {"message": message, "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)


def _started(session: Session, pid: int) -> Started:
    params = session.params
    return Started(
        call_id=params.call_id,
        session_id=session.id,
        agent=params.agent,
        argv=params.argv,
        cwd=str(params.cwd),
        pid=pid,
        tty=params.tty,
        at=session.started_at,
    )
