"""Policy files: TOML with a table `[sandbox]`. A mistake is a refusal that names file and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from fairlead.model.access import ApprovalPolicy, Limits, Network, SandboxPolicy
from fairlead.model.container import Backend, ContainerEngine
from fairlead.model.errors import BadRequest
from fairlead.model.sandbox import DEVICES, EVERYTHING, MISSING

MOST_BYTES = 1 << 20
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+)\s*([KMGT]?)(?:i?B)?")


class _Wrong(Exception):
    """A value that a key can't have; the text says what is allowed."""


def read(path: Path) -> dict[str, Any]:
    """The options that a file sets. Raises `BadRequest`."""
    import tomllib

    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadRequest(f"--policy: {path}: {error.strerror or error}; nothing was run") from None
    if len(raw) > MOST_BYTES:
        raise BadRequest(f"--policy: {path}: larger than {MOST_BYTES >> 20} MiB; nothing was run")
    try:
        text = raw.decode()
        document = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadRequest(f"{path}: not a policy: {error}; nothing was run") from None
    return _Document(path, text).options(document)


class _Document:
    """A file that is being read, to say where a mistake is."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def options(self, document: Mapping[str, Any]) -> dict[str, Any]:
        self._known(document, ("approval", "sandbox"), "")
        found: dict[str, Any] = {}
        if "approval" in document:
            found["approval"] = self._value(
                "approval", document["approval"], _one_of(ApprovalPolicy)
            )
        table = document.get("sandbox", {})
        if not isinstance(table, dict):
            self._complain("sandbox", "expected a table [sandbox]")
        self._known(table, (*_SANDBOX, "limits"), "sandbox.")
        for key, value in table.items():
            if key == "limits":
                found["limits"] = self._limits(value)
            else:
                option, convert = _SANDBOX[key]
                found[option] = self._value(key, value, convert)
        return found

    def _limits(self, table: object) -> Limits:
        if not isinstance(table, dict):
            self._complain("limits", "expected a table [sandbox.limits]")
        assert isinstance(table, dict)
        self._known(table, tuple(_LIMITS), "sandbox.limits.")
        return Limits(
            **{key: self._value(key, value, _LIMITS[key]) for key, value in table.items()}
        )

    def _known(self, table: Mapping[str, Any], allowed: tuple[str, ...], prefix: str) -> None:
        for key in table:
            if key not in allowed:
                self._complain(key, f"unknown key {prefix}{key}; allowed: {', '.join(allowed)}")

    def _value(self, key: str, value: object, convert: Callable[[object], Any]) -> Any:
        try:
            return convert(value)
        except _Wrong as wrong:
            return self._complain(key, f"{key}: {wrong}, got {value!r}")

    def _complain(self, key: str, message: str) -> None:
        begins = re.compile(rf"\s*(\[?[\w.\"' ]*\.?)?[\"']?{re.escape(key)}[\"']?\s*[=\].]")
        line = next((n for n, text in enumerate(self._lines, 1) if begins.match(text)), 1)
        raise BadRequest(f"{self._path}:{line}: {message}; nothing was run")


def _one_of(kind: type[StrEnum]) -> Callable[[object], Any]:
    def convert(value: object) -> Any:
        if not isinstance(value, str) or value not in list(kind):
            raise _Wrong(f"expected one of {', '.join(kind)}")
        return kind(value)

    return convert


def _yes_or_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("expected true or false")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _Wrong("expected a text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise _Wrong("expected a list of strings")
    for one in value:
        if "\0" in one:
            raise _Wrong("expected strings without NUL bytes")
    return tuple(value)


def _words(known: Collection[str]) -> Callable[[object], tuple[str, ...]]:
    def convert(value: object) -> tuple[str, ...]:
        if not all(one in known for one in _texts(value)):
            raise _Wrong(f"expected a list of {', '.join(known)}")
        return _texts(value)

    return convert


def _paths(value: object) -> tuple[Path, ...]:
    paths = tuple(Path(one).expanduser() for one in _texts(value))
    if not all(path.is_absolute() for path in paths):
        raise _Wrong("expected absolute paths, or paths that begin with ~/")
    return paths


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 62:
        raise _Wrong("expected a whole number above 0")
    return value


def _bytes(value: object) -> int:
    if isinstance(value, str):
        found = _SIZE.fullmatch(value.strip())
        if found is None:
            raise _Wrong("expected a number of bytes, or a text like 512M")
        return _count(int(found[1]) * _UNITS[found[2]])
    return _count(value)


_SANDBOX: dict[str, tuple[str, Callable[[object], Any]]] = {
    "mode": ("sandbox", _one_of(SandboxPolicy)),
    "writable_roots": ("writable_roots", _paths),
    "exclude_tmpdir": ("exclude_tmpdir", _yes_or_no),
    "exclude_slash_tmp": ("exclude_slash_tmp", _yes_or_no),
    "private_tmp": ("private_tmp", _yes_or_no),
    "network": ("network", _one_of(Network)),
    "deny_read": ("deny_read", _texts),
    "allow_read": ("allow_read", _texts),
    "git_commit": ("git_commit", _yes_or_no),
    "devices": ("devices", _words(DEVICES)),
    "accept": ("accept", _words((*MISSING, EVERYTHING))),
    "backend": ("backend", _one_of(Backend)),
    "image": ("image", _text),
    "engine": ("engine", _one_of(ContainerEngine)),
}
_LIMITS: dict[str, Callable[[object], int]] = {
    "memory": _bytes,
    "processes": _count,
    "cpu_seconds": _count,
    "file_bytes": _bytes,
    "open_files": _count,
}
