"""Which spawner this machine gets."""

from __future__ import annotations

import os

from fairlead.model.process import Spawner
from fairlead.spawn import launcher
from fairlead.spawn.zygotes import Judge


def local_spawner(judge: Judge | None = None) -> Spawner:
    """With the launcher; where there is none, the path that is pure Python. `judge` answers what
    the system call filter asks."""
    found = launcher.find()
    if found is None:
        from fairlead.spawn.bare import BareSpawner

        return BareSpawner(launcher.why_missing())
    from fairlead.spawn.local import LocalSpawner

    return LocalSpawner(os.fspath(found), judge)
