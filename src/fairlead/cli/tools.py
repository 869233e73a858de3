"""`fairlead tools`: the tools' JSON schemas, for those who register them by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fairlead.cli.flags import Flag, Syntax
from fairlead.model.errors import BadRequest
from fairlead.tools.export import FORMATS, export
from fairlead.tools.families import specs_of

SYNTAX = Syntax(
    usage="fairlead tools [--format F] [--tools FAMILY]",
    about="Prints the tools' JSON schemas.",
    flags=(
        Flag("format", f"one of {', '.join(FORMATS)} (default: mcp)", "F"),
        Flag("tools", "codex, openclaw or all (default)", "FAMILY"),
    ),
)


def main(arguments: Sequence[str]) -> int:
    line = SYNTAX.parse(arguments)
    if line.words:
        raise BadRequest(f"tools: unexpected {line.words[0]!r}")
    form = line.get("format") or "mcp"
    if form not in FORMATS:
        raise BadRequest(f"--format: expected one of {', '.join(FORMATS)}, got {form!r}")
    specs = specs_of(line.get("tools") or "all")
    print(json.dumps(export(specs, form), indent=2, ensure_ascii=False))
    return 0
