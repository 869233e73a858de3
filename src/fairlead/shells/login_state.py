"""What a login shell's start-up left behind, as values."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.model.frozen import dataclass, field
from fairlead.model.params import ShellKind
from fairlead.shells.environment import Dropped

MAX_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state to give to a shell that skips its start-up files.

    The texts are shell commands, in this order; all are empty where the start-up did no more
    than export variables.
    """

    kind: ShellKind
    env: Mapping[str, str]
    options: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)  # not exported: name, command
    aliases: str = ""  # switched off until `finish`: the functions have theirs expanded already
    functions: str = ""  # late: they may bear the names of what is used above
    finish: str = ""  # last: errexit and the like, so that nothing of ours stumbles
    dropped: tuple[Dropped, ...] = ()

    @property
    def prelude(self) -> str:
        """The commands that bring back everything but the environment, or nothing."""
        variables = "".join(self.variables.values())
        return self.options + variables + self.aliases + self.functions + self.finish


@dataclass(frozen=True, slots=True)
class Unusable:
    """There is no snapshot, and why: keep to `-lc`."""

    why: str
