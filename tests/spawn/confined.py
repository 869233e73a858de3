"""The local spawner with a confinement around everything: what holds without must hold within."""

from __future__ import annotations

import os
import tempfile

from fairlead.model.access import Access, PathMode, PathRule
from fairlead.model.confine import Confinement, Identity
from fairlead.model.env import ExecEnv
from fairlead.model.frozen import replace
from fairlead.model.process import OutputSink
from fairlead.model.sandbox import Host
from fairlead.sandbox import namespaces, seccomp
from fairlead.sandbox.host import assumed
from fairlead.sandbox.system import system
from fairlead.spawn.local import LocalSpawner
from fairlead.spawn.local_process import LocalProcess
from tests.spawn.running import launcher_path


def writable(path: str) -> PathRule:
    found = os.stat(path)
    return PathRule(path, PathMode.WRITE, Identity(found.st_dev, found.st_ino), True, "a test")


def confinement(*paths: str, agent: str = "default") -> Confinement:
    """Namespaces, mounts, filter and all, with these directories writable."""
    host: Host = replace(assumed(launcher=True), notify=False)
    access = Access(rules=tuple(map(writable, paths or (os.path.realpath(tempfile.gettempdir()),))))
    program = seccomp.compile_filter(host.machine, access.network, notify=False)
    return namespaces.render(access, host, system(), agent=agent, filter_program=program)


class ConfiningSpawner(LocalSpawner):
    """Puts every command into one confinement."""

    def __init__(self) -> None:
        super().__init__(launcher_path())
        self.confinement = confinement()

    async def spawn(self, env: ExecEnv, sink: OutputSink) -> LocalProcess:
        return await super().spawn(replace(env, confinement=self.confinement), sink)
