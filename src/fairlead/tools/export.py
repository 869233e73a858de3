"""The tools in the words of those who offer them to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairlead.model.errors import BadRequest
from fairlead.tools.model import ToolSpec
from fairlead.tools.untrusted_json import quoted


def export(specs: Iterable[ToolSpec], format: str) -> list[dict[str, Any]]:
    """The specs as `openai`, `openai-chat`, `anthropic` or `mcp` tools."""
    render = FORMATS.get(format)
    if render is None:
        raise BadRequest(f"format: {quoted(format)} is unknown; allowed: {', '.join(FORMATS)}")
    return [render(spec) for spec in specs]


def _openai(spec: ToolSpec) -> dict[str, Any]:
    return {"type": "function", **_openai_function(spec)}


def _openai_chat(spec: ToolSpec) -> dict[str, Any]:
    return {"type": "function", "function": _openai_function(spec)}


def _openai_function(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        # Strict mode would make every optional field required.
        "strict": False,
        "parameters": dict(spec.input_schema),
    }


def _anthropic(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": dict(spec.input_schema),
    }


def _mcp(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "inputSchema": dict(spec.input_schema),
        "outputSchema": dict(spec.output_schema),
        "annotations": {
            "title": spec.title,
            "readOnlyHint": spec.annotations.read_only,
            "destructiveHint": spec.annotations.destructive,
            "idempotentHint": spec.annotations.idempotent,
            "openWorldHint": spec.annotations.open_world,
        },
    }


FORMATS: dict[str, Callable[[ToolSpec], dict[str, Any]]] = {
    "openai": _openai,
    "openai-chat": _openai_chat,
    "anthropic": _anthropic,
    "mcp": _mcp,
}
