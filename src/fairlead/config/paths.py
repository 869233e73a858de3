"""Where Fairlead keeps what is its own."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> str:
    """The user's home directory, of the passwd file rather than of a variable if that is empty."""
    found = os.environ.get("HOME")
    if found and os.path.isabs(found):
        return found
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


def state_directory() -> Path:
    """What outlives an engine: things moved aside, records. No command may see it."""
    base = os.environ.get("XDG_STATE_HOME")
    if base and os.path.isabs(base):
        return Path(base) / "fairlead"
    return Path(home()) / ".local" / "state" / "fairlead"
