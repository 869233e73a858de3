"""`kill_session`: a signal by any of its names."""

from __future__ import annotations

import signal

import pytest

from fairlead.tools.kill_session import Args, parse
from tests.tools.refusals import refusal


def test_defaults() -> None:
    """Without a signal the whole tree is to be ended."""
    assert parse({"session_id": "4711"}) == Args(session_id=4711, signal=None, reason=None)


@pytest.mark.parametrize(
    ("untrusted", "number"),
    [("TERM", 15), ("SIGTERM", 15), ("sigint", 2), (9, 9), ("9", 9), (10.0, 10)],
)
def test_signals(untrusted: object, number: int) -> None:
    """Names in either case, with or without SIG, and numbers."""
    assert parse({"session_id": 1, "signal": untrusted}).signal == number


def test_a_real_time_signal() -> None:
    """A signal without a name of its own is taken by number."""
    assert parse({"session_id": 1, "signal": signal.SIGRTMIN + 1}).signal == signal.SIGRTMIN + 1


@pytest.mark.parametrize(
    ("untrusted", "shown"),
    [("BOGUS", '"BOGUS"'), (0, "0"), (-9, "-9"), (99, "99"), ("", '""'), ("SIG_IGN", '"SIG_IGN"')],
)
def test_no_such_signal(untrusted: object, shown: str) -> None:
    """What is not a signal is refused; 0 is none either."""
    assert refusal(parse, {"session_id": 1, "signal": untrusted}) == (
        "kill_session.signal: expected the name or number of a signal, as in TERM or 15, "
        f"got {shown}"
    )


def test_the_reason_is_kept() -> None:
    """Why it was ended travels with the call."""
    assert parse({"session_id": 1, "reason": "stuck"}).reason == "stuck"
