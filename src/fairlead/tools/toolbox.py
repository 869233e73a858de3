"""What the tools work with: one engine's parts, and the words they share."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path

from fairlead.live import LiveShells
from fairlead.model.errors import BadRequest, UnknownSession
from fairlead.model.frozen import dataclass, field, replace
from fairlead.model.output import ExecOutput
from fairlead.model.params import (
    ExecParams,
    ExtraPermissions,
    SandboxPermissions,
    Shell,
    Size,
    Stdin,
)
from fairlead.model.shown import in_a_line
from fairlead.orchestrator import ToolOrchestrator
from fairlead.session.hub import EventHub
from fairlead.session.session import Session
from fairlead.session.store import SessionStore

DEFAULT_SIZE = Size()


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """One engine, as its tools see it."""

    orchestrator: ToolOrchestrator
    store: SessionStore
    hub: EventHub
    live: LiveShells
    cwd: Path
    shell: Shell
    allow_login: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who calls, and under which id."""

    call_id: str
    agent: str
    tool: str
    box: Toolbox

    def session(self, session_id: int | str) -> Session:
        """This agent's session of that number. Another agent's does not exist for it."""
        if isinstance(session_id, str):
            raise BadRequest(f"unknown session_id {session_id!r}: sessions here have numbers")
        return self.box.store.get(self.agent, session_id)

    def told(self, output: ExecOutput) -> None:
        """The agent learns of this output. If it says that the command ended, the session needs
        no place any more and is only remembered."""
        if output.ending is not None:
            with suppress(UnknownSession):  # evicted and pushed out while it was being awaited
                self.box.store.retire(self.session(output.session_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a call may say about how its command runs, beside the command itself."""

    workdir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    tty: bool = False
    size: Size = DEFAULT_SIZE
    rendered: bool = False
    stdin: Stdin = Stdin.NULL
    timeout_ms: int | None = None
    sandbox_permissions: SandboxPermissions = SandboxPermissions.USE_DEFAULT
    additional_permissions: ExtraPermissions | None = None
    justification: str | None = None
    prefix_rule: tuple[str, ...] | None = None
    process_id: int | None = None

    @classmethod
    def of(cls, args: object) -> Wish:
        """Whatever a tool's checked arguments say about it, by the same names."""
        names = _shared_names(type(args))  # type: ignore[arg-type]  # mypy: classes aren't Hashable
        return cls(**{name: getattr(args, name) for name in names})


@cache
def _shared_names(kind: type) -> tuple[str, ...]:
    """The wishes that this kind of arguments can express."""
    return tuple(one.name for one in fields(Wish) if hasattr(kind, one.name))


def argv_request(call: Call, argv: tuple[str, ...], wish: Wish) -> ExecParams:
    """A request to execute these words as they are."""
    return _request(call, wish, argv)


def script_request(
    call: Call, script: str, wish: Wish, *, login: bool, shell: str | None = None
) -> ExecParams:
    """A request to run a script in the session's shell, or in the one that the call names."""
    from fairlead.shells import argv as derive
    from fairlead.shells.detect import named

    if login and not call.box.allow_login:
        login = False
    chosen = named(shell) if shell is not None else call.box.shell
    request = _request(call, wish, derive(chosen, script, login))
    return replace(request, script=script, shell=chosen, login=login)


def working_directory(call: Call, workdir: str | None) -> Path:
    """Relative ones start at the engine's own directory."""
    if workdir is None:
        return call.box.cwd
    try:
        return call.box.cwd / Path(workdir).expanduser()
    except RuntimeError:
        user = in_a_line(Path(workdir).parts[0])
        raise BadRequest(f"workdir: there is no user {user} with a home directory") from None


def _request(call: Call, wish: Wish, argv: tuple[str, ...]) -> ExecParams:
    return ExecParams(
        call_id=call.call_id,
        agent=call.agent,
        tool=call.tool,
        argv=argv,
        cwd=working_directory(call, wish.workdir),
        env=wish.env,
        tty=wish.tty,
        size=wish.size,
        screen=wish.rendered,
        stdin=Stdin.OPEN if wish.tty else wish.stdin,
        timeout=None if wish.timeout_ms is None else wish.timeout_ms / 1000,
        sandbox_permissions=wish.sandbox_permissions,
        extra=wish.additional_permissions,
        justification=wish.justification,
        prefix_rule=wish.prefix_rule,
        session_id=wish.process_id,
    )
