"""`resize`: change the size of a session's terminal."""

from __future__ import annotations

from typing import Any

from fairlead.model.frozen import dataclass
from fairlead.model.params import Size
from fairlead.tools.answer import facts
from fairlead.tools.common import SESSION, terminal_size
from fairlead.tools.fields import Arguments
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.toolbox import Call

NAME = "resize"
TITLE = "Resize a terminal"
DESCRIPTION = "Changes the rows and columns of a session's terminal; programs in it are told."
ANNOTATIONS = Annotations(read_only=False, destructive=False, idempotent=True, open_world=False)
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "session_id": {"type": ["integer", "string"]},
        "rows": {"type": "integer"},
        "cols": {"type": "integer"},
    },
}

ARGUMENTS = Arguments(NAME, SESSION, *terminal_size(required=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """A checked call of `resize`."""

    session_id: int | str
    rows: int
    cols: int

    @property
    def size(self) -> Size:
        """The size asked for."""
        return Size(self.rows, self.cols)


def parse(untrusted: object) -> Args:
    """The checked call. Raises `BadRequest`."""
    return Args(**ARGUMENTS.parse(untrusted))


async def run(args: Args, call: Call) -> ToolOutput:
    """Set the size; the kernel tells the programs."""
    session = call.session(args.session_id)
    session.resize(args.size)
    return facts(
        f"session {session.id} is now {args.rows} rows by {args.cols} columns",
        {"session_id": session.id, "rows": args.rows, "cols": args.cols},
    )
