"""Values on their way into JSON: nothing an engine hands over may break the wire."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def plain_text(text: str) -> str:
    """Text that UTF-8 can carry. File names may hold lone surrogates, which it can't."""
    if text.isascii():
        return str(text)
    return text.encode("utf-8", "replace").decode("utf-8")


def plain(value: object) -> Any:
    """The same value made of what JSON knows."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {plain_text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return plain_text(str(value))
