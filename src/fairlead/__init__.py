"""Fairlead, the terminal for AI agents."""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` for it costs a third of Python's start
if TYPE_CHECKING:
    from typing import Any

    from fairlead.config.options import Options
    from fairlead.engine import Engine
    from fairlead.sync import SyncEngine

__version__ = "0.1.0"

__all__ = ("Engine", "Options", "SyncEngine", "__version__")

_HOMES = {
    "Engine": "fairlead.engine",
    "Options": "fairlead.config.options",
    "SyncEngine": "fairlead.sync",
}


def __getattr__(name: str) -> Any:
    """Loaded when first used, so that `import fairlead` costs next to nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'fairlead' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
