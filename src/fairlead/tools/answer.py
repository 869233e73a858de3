"""From what came of a call to what the agent is told: text, facts, and whether it succeeded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fairlead.model.frozen import replace
from fairlead.model.output import ExecOutput, Status, StreamOutput
from fairlead.model.shown import escaped
from fairlead.tools.model import ToolOutput
from fairlead.tools.structured import structured
from fairlead.tools.text import Shaped, invalid_bytes, shape

LONGEST_REFUSAL = 4096  # characters

Format = Callable[[ExecOutput, Shaped], str]


def answer(
    output: ExecOutput,
    max_tokens: int,
    text: Format,
    *,
    rendered: bool = False,
    total_lines: int | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> ToolOutput:
    """The answer of a tool that ran something. `total_lines`: where more is known of it than can
    be counted in what is left."""
    shaped = (
        shape_rendered(output.output, max_tokens) if rendered else shape(output.output, max_tokens)
    )
    if total_lines is not None:
        shaped = replace(shaped, total_lines=total_lines)
    return ToolOutput(
        content=text(output, shaped),
        success=output.status in (Status.COMPLETED, Status.RUNNING),
        structured={**structured(output, shaped), **more},
    )


def refusal(status: Status, text: str, kind: str) -> ToolOutput:
    """The answer to a call that did not run. What it quotes was checked by nobody."""
    cut = text if len(text) <= LONGEST_REFUSAL else f"{text[:LONGEST_REFUSAL]}… (cut)"
    message = escaped(cut, keep="\n\t")
    return ToolOutput(
        content=message,
        success=False,
        structured={
            "status": str(status),
            "output": message,
            "error": {"kind": kind, "message": message},
        },
    )


def facts(content: str, data: Mapping[str, Any], *, success: bool = True) -> ToolOutput:
    """The answer of a tool that only looked."""
    return ToolOutput(content=content, success=success, structured=data)


def shape_rendered(stream: StreamOutput, max_tokens: int) -> Shaped:
    """A stretch of output as a terminal would show it, within `max_tokens`."""
    from fairlead.session.rendered import render

    if not stream.omitted:  # then head and tail are neighbours, maybe in the midst of a sequence
        stream = StreamOutput(head=stream.kept)
    shown = replace(stream, head=render(stream.head).encode(), tail=render(stream.tail).encode())
    # Rendering made U+FFFD of what is not UTF-8: only the bytes themselves still tell how many.
    return replace(shape(shown, max_tokens), replaced_bytes=invalid_bytes(stream))
