"""From what came of a call to what the agent is told: text, facts, and whether it succeeded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fairlead.model.output import ExecOutput, Status, StreamOutput
from fairlead.tools.model import ToolOutput
from fairlead.tools.structured import structured
from fairlead.tools.text import Shaped, shape

Format = Callable[[ExecOutput, Shaped], str]


def answer(
    output: ExecOutput,
    max_tokens: int,
    text: Format,
    *,
    rendered: bool = False,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> ToolOutput:
    """The answer of a tool that ran something."""
    shaped = shape(as_rendered(output.output) if rendered else output.output, max_tokens)
    return ToolOutput(
        content=text(output, shaped),
        success=output.status in (Status.COMPLETED, Status.RUNNING),
        structured={**structured(output, shaped), **more},
    )


def refusal(status: Status, message: str, kind: str) -> ToolOutput:
    """The answer to a call that did not run."""
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


def as_rendered(stream: StreamOutput) -> StreamOutput:
    """The same stretch as a terminal would show it."""
    from fairlead.session.rendered import render

    return replace(
        stream,
        head=render(stream.head).encode("utf-8", "surrogateescape"),
        tail=render(stream.tail).encode("utf-8", "surrogateescape"),
    )
