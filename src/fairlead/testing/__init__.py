"""What tests of programs that use Fairlead need: parts that act without touching the machine."""

from __future__ import annotations

from fairlead.testing.fake_spawner import FakeProcess, FakeSpawner

__all__ = ["FakeProcess", "FakeSpawner"]
