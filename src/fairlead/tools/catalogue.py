"""Every tool, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from fairlead.tools import (
    apply_patch,
    exec_command,
    kill_session,
    list_sessions,
    read_output,
    resize,
    run_in_session,
    shell,
    shell_command,
    wait_for,
    write_stdin,
)
from fairlead.tools.fields import Arguments
from fairlead.tools.model import Annotations, Family, ToolSpec


class ToolModule(Protocol):
    """What each module of a tool offers, beside its own `Args` and `parse`."""

    NAME: str
    TITLE: str
    DESCRIPTION: str
    ANNOTATIONS: Annotations
    ARGUMENTS: Arguments
    OUTPUT_SCHEMA: dict[str, Any]


MODULES: Mapping[Family, tuple[ToolModule, ...]] = {
    Family.FIRST: (shell, shell_command, exec_command, write_stdin, apply_patch),
    Family.COMPANION: (
        run_in_session,
        read_output,
        wait_for,
        list_sessions,
        kill_session,
        resize,
    ),
}

ALIASES = dict.fromkeys(shell.ALIASES, shell.NAME)


def canonical(name: str) -> str:
    """A tool's own name for any name that it is called by."""
    return ALIASES.get(name, name)


def specs(*families: Family) -> tuple[ToolSpec, ...]:
    """The tools of these families, or of all, as they are offered to a model."""
    chosen = families or tuple(MODULES)
    return tuple(_spec(module, family) for family in chosen for module in MODULES.get(family, ()))


def _spec(module: ToolModule, family: Family) -> ToolSpec:
    return ToolSpec(
        name=module.NAME,
        title=module.TITLE,
        description=module.DESCRIPTION,
        input_schema=module.ARGUMENTS.schema(),
        output_schema=module.OUTPUT_SCHEMA,
        annotations=module.ANNOTATIONS,
        family=family,
    )
