"""A process's streams as its parent holds them: output, input, and the terminal if it has one."""

from __future__ import annotations

from fairlead.model.errors import BadRequest
from fairlead.model.params import Size
from fairlead.model.process import OutputSink
from fairlead.spawn import pty, reading, tree
from fairlead.spawn.reactor import Reactor
from fairlead.spawn.start import Ends
from fairlead.spawn.stdin import InputStream
from fairlead.spawn.stream import OutputStream


class Streams:
    """What one may do with a process without knowing how it was started."""

    def __init__(self, ends: Ends, sink: OutputSink, reactor: Reactor, *, tty: bool) -> None:
        self.tty = tty
        self._input_file = ends.input_identity
        self._stdin = InputStream(ends.stdin) if ends.stdin >= 0 else None
        self.output = OutputStream(ends.output, sink, reactor)

    def write(self, data: bytes) -> None:
        if self._stdin is None:
            raise BadRequest(
                "stdin is closed for this session; rerun exec_command with tty=true, or with "
                'stdin="open", to keep it open'
            )
        if self.tty and len(data) > pty.LONGEST_LINE:
            self._refuse_long_line(data)
        self._stdin.write(data)

    def close_stdin(self) -> None:
        if self._stdin is None or self._stdin.closed:
            return
        if self.tty:
            self._stdin.write(pty.end_of_file(self._stdin.fd))
        else:
            self._stdin.end()

    def resize(self, size: Size) -> None:
        if not self.tty:
            raise BadRequest("the session has no terminal to resize; start it with tty=true")
        if self._terminal is not None:
            pty.resize(self._terminal, size)

    def awaited(self, yes: bool) -> None:
        self.output.awaited(yes)

    def foreground_group(self) -> int | None:
        """The process group that owns the terminal now."""
        if self._terminal is None:
            return None
        return pty.foreground_group(self._terminal)

    def translates_newlines(self) -> bool:
        """The terminal writes CR LF where a program writes LF."""
        return self._terminal is not None and pty.translates_newlines(self._terminal)

    def waiting_for_input(self, pids: list[int]) -> bool:
        """Does one of these wait for what we would write? With a terminal only its foreground."""
        if self._input_file is None:
            return False
        if self.tty:
            group = self.foreground_group()
            pids = tree.in_group(group, pids) if group else []
        editor = self._terminal is not None and not pty.is_line_mode(self._terminal)
        return reading.blocked_in_read(pids, self._input_file, line_editor=editor)

    def command_ended(self) -> None:
        """Nobody will read what is written from now on."""
        if self._stdin is not None and not self.tty:
            self._stdin.close()

    def tree_gone(self) -> None:
        """Nobody is left to write or to read: take what was written, and close."""
        self.output.finish()
        if self._stdin is not None:
            self._stdin.close()

    def release(self) -> None:
        """Close everything, whoever still holds the other ends."""
        self.output.close()
        if self._stdin is not None:
            self._stdin.close()

    def _refuse_long_line(self, data: bytes) -> None:
        """The kernel would drop the rest of such a line, and tell nobody."""
        if self._terminal is None or not pty.is_line_mode(self._terminal):
            return
        longest = max(map(len, pty.LINE_ENDS.split(data)))
        if longest > pty.LONGEST_LINE:
            raise BadRequest(
                f"nothing was written: a line of {longest} bytes is too long, a terminal takes "
                f'{pty.LONGEST_LINE} in line mode; write shorter lines, or use stdin="open" '
                "without a tty"
            )

    @property
    def _terminal(self) -> int | None:
        """The descriptor to ask the terminal by: the writer's, which only the loop ever closes."""
        if not self.tty or self._stdin is None or self._stdin.fd < 0:
            return None
        return self._stdin.fd
