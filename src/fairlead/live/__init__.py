"""Commands in live shells: what `run_in_session` does.

A live shell is an ordinary session whose program is a shell at its prompt, ours or one that the
agent started. `shells.py` picks the shell for a command; `shell.py` drives it: the command is put
into memory of ours (`memory.py`), the shell is made to read it from there, and marks in its output
(`marks.py`) tell where the command's own output lies in the log. `stopping.py` ends what a command
started, and nothing that was there before (`family.py`).
"""

from __future__ import annotations

from fairlead.live.shells import LiveShells
from fairlead.live.task import LiveOutput, Task

__all__ = ["LiveOutput", "LiveShells", "Task"]
