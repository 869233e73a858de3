"""One count of bytes that all sessions share, so that thousands of them stay bounded together."""

from __future__ import annotations

import threading

DEFAULT_LIMIT = 64 << 20


class MemoryBudget:
    """Bytes that may be held in memory at one time, by everybody who takes from it."""

    __slots__ = ("_lock", "limit", "used")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self.used = 0
        self._lock = threading.Lock()

    def take(self, count: int) -> bool:
        """Reserve all of `count` bytes, or nothing and say False."""
        with self._lock:
            if self.used + count > self.limit:
                return False
            self.used += count
            return True

    def take_up_to(self, count: int) -> int:
        """Reserve as many of `count` bytes as there are, and say how many."""
        with self._lock:
            granted = max(0, min(count, self.limit - self.used))
            self.used += granted
            return granted

    def give(self, count: int) -> None:
        """Return bytes that were reserved."""
        with self._lock:
            self.used -= count


SHARED = MemoryBudget()
