"""Cutting bytes without cutting a character."""

from __future__ import annotations


def incomplete_tail(data: bytes) -> int:
    """How many bytes at the end are the start of a character that isn't whole yet (0 to 3)."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue  # a continuation: look further back for its start
        return back if back < _length(byte) else 0
    return 0


def incomplete_head(data: bytes) -> int:
    """How many bytes at the start are the end of a character that began before (0 to 3)."""
    for at, byte in enumerate(data[:3]):
        if byte & 0xC0 != 0x80:
            return at
    return min(3, len(data))


def cut(data: bytes, limit: int) -> int:
    """The largest length ≤ `limit` that does not split a character. Invalid bytes are cut hard."""
    if len(data) <= limit:
        return len(data)
    return limit - incomplete_tail(data[:limit]) or limit


def _length(first: int) -> int:
    if first >= 0xF0:
        return 4 if first < 0xF8 else 1
    if first >= 0xE0:
        return 3
    return 2 if first >= 0xC0 else 1
