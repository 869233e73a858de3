"""What a child looks like from outside, wherever it runs: here, in a container, on a node.

A spawner starts what an `ExecEnv` says and pushes bytes into a sink. Callers hold only these
protocols, so that a second implementation fits without changing them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from fairlead.model.access import Denial
from fairlead.model.env import ExecEnv
from fairlead.model.output import Ending
from fairlead.model.params import Size


class Whom(StrEnum):
    """Who gets a signal."""

    GROUP = "group"  # the command's process group; with a terminal its foreground group
    TREE = "tree"  # every descendant, however it forked


class OutputSink(Protocol):
    """Where a process's output goes. `feed` may be called from the reader thread, one call at a
    time; the others only on the event loop, once each."""

    def feed(self, data: memoryview) -> None: ...

    def exited(self, ending: Ending, held_open: bool) -> None:
        """The command is gone and all that it wrote itself has been fed. With `held_open`, a
        descendant keeps the output open: what it writes still comes."""

    def tree_gone(self) -> None:
        """The last descendant is gone."""

    def denied(self, denial: Denial) -> None:
        """The sandbox did not let it do something: a fact, from the mechanism."""


class ProcessHandle(Protocol):
    """What one may do to a process."""

    @property
    def pid(self) -> int:
        """The command's number on this machine."""

    @property
    def inner_pid(self) -> int:
        """The command's number as it knows it itself, and those that it runs among."""

    def write(self, data: bytes) -> None:
        """Give it input; what it does not take at once is kept and follows in order.
        Raises `BadRequest` if its input is closed, or if too much is kept already."""

    def close_stdin(self) -> None:
        """End of input. On a terminal, the end-of-file character."""

    def resize(self, size: Size) -> None: ...

    def signal(self, signum: int, whom: Whom = Whom.GROUP) -> None: ...

    async def end_tree(self, grace: float) -> tuple[int, ...]:
        """Ask, wait `grace` seconds, insist. Returns when all are gone, or those who stayed, by
        the numbers that the command knew."""

    def awaited(self, yes: bool) -> None:
        """Somebody waits for this one: read it first."""

    def descendants(self) -> list[int]:
        """Every process of the tree that still lives, the command itself included."""

    def foreground_program(self) -> str | None:
        """The name of the program that owns the terminal now, or of the command itself."""

    def listens_on(self, port: int) -> bool:
        """A process of the tree accepts TCP connections on this port."""

    def translates_newlines(self) -> bool:
        """Its terminal writes CR LF where a program writes LF."""

    def waiting_for_input(self) -> bool:
        """The kernel shows it blocked in a read of its terminal or pipe."""

    def shared_directory(self) -> tuple[int, str] | None:
        """Where we can put files for it: a descriptor, which the caller closes, and the path that
        the command knows. None if it sees the same files as we do. Raises `OSError`."""


class SpawnedProcess(ProcessHandle, Protocol):
    """A handle whose end can be awaited."""

    async def wait(self) -> Ending: ...


class Spawner(Protocol):
    """Starts processes. `close` ends every one that it started."""

    async def spawn(self, env: ExecEnv, sink: OutputSink) -> SpawnedProcess: ...

    def release(self, agent: str) -> None:
        """This agent is gone, and with it what was kept for its next command."""

    async def close(self) -> None: ...
