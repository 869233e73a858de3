"""What a contender offers: operations that prepare something to be done over and over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager

# Does it once; facts beside the time, or a time of its own under "ns", come back.
Once = Callable[[], Awaitable[Mapping[str, float] | None]]
Operation = Callable[..., AbstractAsyncContextManager[Once]]


class Lacking(Exception):
    """This contender cannot do that; the text says why."""
