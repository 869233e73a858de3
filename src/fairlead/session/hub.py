"""Who hears of what happens. Subscribers are called on the event loop and must not block."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from fairlead.model.event import Ended, Event, Started
from fairlead.session.follow import Follower, stream_deltas
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
                one.listener(event)

    def wanted(self, call_id: str) -> bool:
        return any(one.call_id in (None, call_id) for one in self._subscriptions)

    def announce(self, session: Session, pid: int) -> None:
        """A process runs: one `Started` now, its output as it comes, one `Ended` at the end."""
        follower: Follower | None = None
        if self.wanted(session.params.call_id):
            self.emit(_started(session, pid))
            follower = stream_deltas(session, self.emit)

        def finished() -> None:
            unsent = 0
            if follower is not None:
                for event in follower.advance():
                    self.emit(event)
                unsent = follower.unsent
            self.emit(_ended(session, unsent))

        session.on_finish(finished)


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


def _ended(session: Session, unsent: int) -> Ended:
    assert session.ending is not None
    return Ended(
        call_id=session.params.call_id,
        session_id=session.id,
        ending=session.ending,
        wall_time=session.wall_time,
        total_bytes=session.log.size,
        unsent=unsent,
    )
