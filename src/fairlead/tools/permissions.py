"""What one call may ask for beyond the sandbox policy: directories, and the network."""

from __future__ import annotations

import os
from typing import Any

from fairlead.model.errors import BadRequest
from fairlead.model.params import ExtraPermissions, SandboxPermissions
from fairlead.tools.kinds import Kind, expected, flag, texts

MOST_PATHS = 16
_PATHS = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_PATHS}
_SCHEMA = {
    "type": "object",
    "properties": {
        "network": {
            "type": "object",
            "properties": {"enabled": {"type": "boolean"}},
            "additionalProperties": False,
        },
        "file_system": {
            "type": "object",
            "properties": {"read": _PATHS, "write": _PATHS},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}


def additional() -> Kind:
    """An object that names directories to read or write, and whether the network is wanted."""
    return Kind(_SCHEMA, _check)


def fold_additional(tool: str, values: dict[str, Any]) -> dict[str, Any]:
    """Extra permissions and the word that announces them come together or not at all."""
    extra: ExtraPermissions | None = values["additional_permissions"]
    announced = values["sandbox_permissions"] is SandboxPermissions.WITH_ADDITIONAL
    if announced and not extra:
        raise BadRequest(
            f"{tool}: sandbox_permissions is with_additional_permissions, but "
            "additional_permissions asks for nothing"
        )
    if extra and not announced:
        raise BadRequest(
            f"{tool}.additional_permissions: only with sandbox_permissions = "
            "with_additional_permissions"
        )
    return values


def _check(value: object, where: str) -> ExtraPermissions | None:
    table = _members(value, where, ("network", "file_system"))
    network = _members(table.get("network", {}), f"{where}.network", ("enabled",))
    files = _members(table.get("file_system", {}), f"{where}.file_system", ("read", "write"))
    extra = ExtraPermissions(
        read=_paths(files.get("read", ()), f"{where}.file_system.read"),
        write=_paths(files.get("write", ()), f"{where}.file_system.write"),
        network=flag().check(network.get("enabled", False), f"{where}.network.enabled"),
    )
    return extra if extra.any else None


def _members(value: object, where: str, allowed: tuple[str, ...]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise expected("an object", value, where)
    for name in value:
        if name not in allowed:
            raise BadRequest(f"{where}: unknown field {name!r}; allowed: {', '.join(allowed)}")
    return value


def _paths(value: object, where: str) -> tuple[str, ...]:
    paths: tuple[str, ...] = texts().check(value, where)
    if len(paths) > MOST_PATHS:
        raise BadRequest(f"{where}: more than {MOST_PATHS} paths")
    for number, path in enumerate(paths):
        if not os.path.isabs(path):
            raise BadRequest(f"{where}[{number}]: expected an absolute path, got {path!r}")
    return paths
