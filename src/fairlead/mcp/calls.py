"""The calls under way, so that a stop can end them while their clients can still be told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Calls:
    """Scopes of the running calls, each of which ends one call when cancelled."""

    def __init__(self) -> None:
        self._running: set[anyio.CancelScope] = set()

    @contextmanager
    def counted(self, scope: anyio.CancelScope) -> Iterator[None]:
        """Have `scope` cancelled by `end_all`, for as long as this lasts."""
        self._running.add(scope)
        try:
            yield
        finally:
            self._running.discard(scope)

    def end_all(self) -> None:
        """End every running call. Each still cleans up after itself and answers."""
        for scope in list(self._running):
            scope.cancel()
