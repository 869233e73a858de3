"""Names inside writable roots that must not change, and what appears under them anyway."""
