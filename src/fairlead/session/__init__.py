"""Live sessions: their output, their watchers, waiting for them, and the store of all."""
