"""The files that a live shell and we share."""

from __future__ import annotations

import os
from typing import cast

from fairlead.live.memory import SharedMemory
from fairlead.model.process import ProcessHandle


class Unconfined:
    """A shell that sees our own files."""

    def shared_directory(self) -> tuple[int, str] | None:
        return None


def test_a_file_made_huge_by_a_command_costs_us_nothing() -> None:
    """It is read up to a bound: its size is whatever a command says."""
    memory = SharedMemory()
    memory.meet(cast(ProcessHandle, Unconfined()))
    try:
        os.truncate(memory.place.state, 1 << 40)
        assert memory.take_state().cwd == ""
        assert os.stat(memory.place.state).st_size == 0
    finally:
        memory.close()
