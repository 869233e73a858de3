"""How many sessions an agent may have, and how much of the ended ones is remembered."""

from __future__ import annotations

from fairlead.model.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Counts are per agent."""

    live: int = 64
    warn_at: int = 60
    protected: int = 8  # the last used ones are never evicted
    remembered: int = 256
    remembered_bytes: int = 1 << 30
