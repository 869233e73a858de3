"""Making a request's argv and environment final: the environment policy and the login snapshot.

The start-up of a login shell can cost a hundred times what the command costs. It is paid once:
a capture runs like any other command, under the same plan, and what it learned is used by every
later login command until one of the start-up files changes.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from fairlead.model.frozen import dataclass
from fairlead.model.output import Ending
from fairlead.model.params import ExecParams, Shell, ShellKind
from fairlead.model.requirement import Grant
from fairlead.sandbox.plan import Prepared
from fairlead.shells import environment
from fairlead.shells.environment import Base, Environment, EnvironmentPolicy

# Whose change makes a snapshot stale. Files that these read are not followed.
_STARTUP_FILES = {
    ShellKind.BASH: (".bash_profile", ".bash_login", ".profile", ".bashrc"),
    ShellKind.ZSH: (".zshenv", ".zprofile", ".zshrc", ".zlogin"),
    ShellKind.SH: (".profile",),
}
_SYSTEM_FILES = (
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/environment",
    "/etc/zsh/zshenv",
    "/etc/zsh/zprofile",
)

_SYSTEM_FOLDER = "/etc/profile.d"

Capture = Callable[[ExecParams, Grant, Prepared], Awaitable[tuple[Ending, bytes]]]
Stamp = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What a login shell left behind, ready to be used. Without a snapshot it can't be carried
    over, and each login shell has to read its start-up files itself."""

    stamp: Stamp
    base: Base
    snapshot: object | None
    warnings: tuple[str, ...] = ()


class Preparer:
    """Prepares requests. Remembers one login per shell."""

    def __init__(
        self,
        policy: EnvironmentPolicy,
        inherited: Mapping[str, str],
        capture: Capture,
        timeout: float,
    ) -> None:
        self._policy = policy
        self._timeout = timeout
        self._base = environment.base(inherited, policy)
        self._capture = capture
        self._logins: dict[Shell, Login] = {}
        self._locks: dict[Shell, asyncio.Lock] = {}

    @property
    def base(self) -> Base:
        return self._base

    async def prepare(self, params: ExecParams, grant: Grant) -> Prepared:
        """The argv and environment that will be spawned."""
        login = await self._login(params, grant)
        if login is None:
            return _prepared(params.argv, self._environment(self._base, params))
        found = self._environment(login.base, params)
        if login.snapshot is None or params.script is None:
            return _prepared(params.argv, found, login.warnings)
        return _with_snapshot(params, login, found)

    def prelude(self, shell: Shell) -> str:
        """The functions, aliases and options of a login, for a shell that is already running."""
        login = self._logins.get(shell)
        return getattr(login.snapshot, "prelude", "") if login is not None else ""

    def _environment(self, base: Base, params: ExecParams) -> Environment:
        return environment.with_overrides(base, params.env, params.tty and params.screen)

    async def _login(self, params: ExecParams, grant: Grant) -> Login | None:
        if not params.login or params.shell is None:
            return None
        from fairlead.shells.snapshot import CAPTURED

        shell = params.shell
        if shell.kind not in CAPTURED:
            return None
        stamp = _stamp(shell, self._home(shell))
        async with self._locks.setdefault(shell, asyncio.Lock()):
            known = self._logins.get(shell)
            if known is None or known.stamp != stamp:
                known = await self._take(params, grant, shell, stamp)
                self._logins[shell] = known
        return known

    async def _take(self, params: ExecParams, grant: Grant, shell: Shell, stamp: Stamp) -> Login:
        from fairlead.shells import snapshot

        nonce = secrets.token_hex(16)
        request = ExecParams(
            call_id=params.call_id,
            agent=params.agent,
            tool="login-snapshot",
            argv=snapshot.capture_argv(shell, nonce),
            cwd=Path("/"),
            timeout=self._timeout,
        )
        prepared = Prepared(argv=request.argv, env=self._base.plain)
        ending, output = await self._capture(request, grant, prepared)
        found = snapshot.parse(shell.kind, output, nonce, _umask())
        if isinstance(found, snapshot.Unusable):
            told = (self._too_slow(shell),) if ending.timed_out else ()
            return Login(stamp=stamp, base=self._base, snapshot=None, warnings=told)
        kept = snapshot.filtered(found, self._policy)
        base = environment.after_login(self._base, kept.env)
        return Login(stamp=stamp, base=base, snapshot=kept, warnings=_told(kept))

    def _home(self, shell: Shell) -> str | None:
        """Where the shell's own start-up files are. No call can change it, only the operator."""
        variables = self._base.plain
        elsewhere = variables.get("ZDOTDIR") if shell.kind is ShellKind.ZSH else None
        return elsewhere or variables.get("HOME")

    def _too_slow(self, shell: Shell) -> str:
        return (
            f"the start-up files of {shell.path} did not end within {self._timeout:g} s; every "
            "login command reads them again (login: false leaves them out)"
        )


def _with_snapshot(params: ExecParams, login: Login, found: Environment) -> Prepared:
    from fairlead.shells.snapshot import Snapshot, apply

    assert params.shell is not None
    assert params.script is not None
    assert isinstance(login.snapshot, Snapshot)
    applied = apply(params.shell, login.snapshot, params.script)
    return Prepared(
        argv=applied.argv,
        env={**found.variables, **applied.env},
        attached=applied.attached,
        warnings=(*found.warnings, *login.warnings),
    )


def _prepared(
    argv: tuple[str, ...], found: Environment, warnings: tuple[str, ...] = ()
) -> Prepared:
    return Prepared(argv=argv, env=found.variables, warnings=(*found.warnings, *warnings))


def _told(snapshot: object) -> tuple[str, ...]:
    """What the profile exported and the policy keeps back, in one line."""
    dropped = getattr(snapshot, "dropped", ())
    if not dropped:
        return ()
    names = ", ".join(sorted(one.name for one in dropped))
    return (f"exported by the login shell and not passed on: {names}",)


def _umask() -> int:
    """Ours, read without setting it: another thread may be making a file."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022


def _stamp(shell: Shell, home: str | None) -> Stamp:
    """What the start-up files look like now."""
    names = [*_SYSTEM_FILES]
    if home is not None:
        names += [f"{home}/{name}" for name in _STARTUP_FILES.get(shell.kind, ())]
    with suppress(OSError):
        names += sorted(f"{_SYSTEM_FOLDER}/{name}" for name in os.listdir(_SYSTEM_FOLDER))
    found = []
    for name in names:
        with suppress(OSError):
            state = os.stat(name)
            found.append((name, state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(found)
