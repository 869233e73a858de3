"""How commands run, in words for the agent: what they may touch, and what is refused."""

from __future__ import annotations

from fairlead.config.options import Options
from fairlead.model.access import Network, SandboxPolicy

_OPEN = (
    "Commands run as the user who started Fairlead: nothing confines them and nobody is asked, "
    "so take care with what can't be undone."
)
_LOOPBACK = "reach nothing on the network but what you started on loopback"
_REFUSED = "What would need more is refused: nobody is there to allow it."


def surroundings(options: Options) -> str:
    """What an agent should know before its first command."""
    match options.sandbox_policy:
        case SandboxPolicy.DANGER_FULL_ACCESS:
            return _OPEN
        case SandboxPolicy.EXTERNAL:
            return f"{_OPEN} Something around Fairlead may confine them."
        case SandboxPolicy.READ_ONLY:
            writes = "write nothing"
        case SandboxPolicy.WORKSPACE_WRITE:
            writes = f"write {_places(options)}"
    network = "reach the network" if options.network is Network.FULL else _LOOPBACK
    may = f"they may read most files, {writes}, and {network}"
    return f"Commands run in a sandbox: {may}. {_REFUSED}"


def _places(options: Options) -> str:
    roots = [str(one) for one in (options.cwd, *options.writable_roots)]
    temporary = options.exclude_tmpdir and options.exclude_slash_tmp
    return f"below {', '.join(roots)}" + ("" if temporary else " and in temporary directories")
