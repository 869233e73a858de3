"""The tools as methods with typed arguments, for programs that call them by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict, Unpack

from fairlead.tools.model import ToolOutput


class _Calls(Protocol):
    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> ToolOutput: ...


class Permissions(TypedDict, total=False):
    """What a call may ask for beyond the policy, and why."""

    sandbox_permissions: Literal["use_default", "with_additional_permissions", "require_escalated"]
    additional_permissions: Mapping[str, Any]
    justification: str
    prefix_rule: Sequence[str]


class Reading(TypedDict, total=False):
    """What of an output is read, and how."""

    offset_line: int
    limit_lines: int
    tail_lines: int
    grep: str
    literal: bool
    ignore_case: bool
    context: int
    offset_bytes: int
    limit_bytes: int
    rendered: bool
    max_output_tokens: int


Directory = str | os.PathLike[str] | None


def _given(**arguments: Any) -> dict[str, Any]:
    """What was said; an argument that is None was not."""
    said = {name: value for name, value in arguments.items() if value is not None}
    return {name: os.fspath(v) if isinstance(v, os.PathLike) else v for name, v in said.items()}


class TypedCalls:
    """One method per tool. Each is `call` with the tool's name; see docs/protocol.md."""

    async def shell(
        self: _Calls,
        command: Sequence[str],
        *,
        workdir: Directory = None,
        timeout_ms: int | None = None,
        **asked: Unpack[Permissions],
    ) -> ToolOutput:
        """Run a program with these arguments and wait for it."""
        given = _given(command=list(command), workdir=workdir, timeout_ms=timeout_ms, **asked)
        return await self.call("shell", given)

    async def shell_command(
        self: _Calls,
        command: str,
        *,
        workdir: Directory = None,
        login: bool | None = None,
        timeout_ms: int | None = None,
        **asked: Unpack[Permissions],
    ) -> ToolOutput:
        """Run a script in the session's shell and wait for it."""
        given = _given(command=command, workdir=workdir, login=login, timeout_ms=timeout_ms)
        return await self.call("shell_command", given | _given(**asked))

    async def exec_command(
        self: _Calls,
        cmd: str | Sequence[str],
        *,
        workdir: Directory = None,
        env: Mapping[str, str] | None = None,
        shell: str | None = None,
        login: bool | None = None,
        tty: bool | None = None,
        stdin: Literal["null", "open"] | None = None,
        yield_time_ms: int | None = None,
        max_output_tokens: int | None = None,
        rendered: bool | None = None,
        rows: int | None = None,
        cols: int | None = None,
        **asked: Unpack[Permissions],
    ) -> ToolOutput:
        """Start a command as a session and wait a while for it."""
        given = _given(
            cmd=cmd if isinstance(cmd, str) else list(cmd),
            workdir=workdir,
            env=None if env is None else dict(env),
            shell=shell,
            login=login,
            tty=tty,
            stdin=stdin,
            yield_time_ms=yield_time_ms,
            max_output_tokens=max_output_tokens,
            rendered=rendered,
            rows=rows,
            cols=cols,
            **asked,
        )
        return await self.call("exec_command", given)

    async def write_stdin(
        self: _Calls,
        session_id: int,
        chars: str = "",
        *,
        eof: bool | None = None,
        yield_time_ms: int | None = None,
        max_output_tokens: int | None = None,
    ) -> ToolOutput:
        """Type into a session, or with no characters look at what it wrote."""
        given = _given(
            session_id=session_id,
            chars=chars,
            eof=eof,
            yield_time_ms=yield_time_ms,
            max_output_tokens=max_output_tokens,
        )
        return await self.call("write_stdin", given)

    async def run_in_session(
        self: _Calls,
        command: str,
        *,
        session_id: int | None = None,
        timeout_ms: int | None = None,
        stdin: Literal["null", "open"] | None = None,
        shell: str | None = None,
        max_output_tokens: int | None = None,
    ) -> ToolOutput:
        """Run a command in a live shell that keeps its directory and variables."""
        given = _given(
            command=command,
            session_id=session_id,
            timeout_ms=timeout_ms,
            stdin=stdin,
            shell=shell,
            max_output_tokens=max_output_tokens,
        )
        return await self.call("run_in_session", given)

    async def apply_patch(self: _Calls, patch: str) -> ToolOutput:
        """Apply a patch, whole or not at all."""
        return await self.call("apply_patch", {"input": patch})

    async def wait_for(
        self: _Calls,
        session_id: int,
        *,
        exit: bool | None = None,
        pattern: str | None = None,
        quiet_ms: int | None = None,
        bytes: int | None = None,
        port: int | None = None,
        timeout_ms: int | None = None,
        max_output_tokens: int | None = None,
    ) -> ToolOutput:
        """Wait for the first of these to happen in a session."""
        given = _given(
            session_id=session_id,
            exit=exit,
            pattern=pattern,
            quiet_ms=quiet_ms,
            bytes=bytes,
            port=port,
            timeout_ms=timeout_ms,
            max_output_tokens=max_output_tokens,
        )
        return await self.call("wait_for", given)

    async def read_output(
        self: _Calls,
        session_id: int | None = None,
        *,
        chunk_id: str | None = None,
        **how: Unpack[Reading],
    ) -> ToolOutput:
        """Page, tail or search all that a session wrote, or one past call."""
        given = _given(session_id=session_id, chunk_id=chunk_id, **how)
        return await self.call("read_output", given)

    async def list_sessions(self: _Calls, *, include_exited: bool | None = None) -> ToolOutput:
        """Every session, living and remembered."""
        return await self.call("list_sessions", _given(include_exited=include_exited))

    async def kill_session(
        self: _Calls,
        session_id: int,
        *,
        signal: str | int | None = None,
        reason: str | None = None,
    ) -> ToolOutput:
        """End a session with everything it started, or send it a signal."""
        given = _given(session_id=session_id, signal=signal, reason=reason)
        return await self.call("kill_session", given)

    async def resize(self: _Calls, session_id: int, *, rows: int, cols: int) -> ToolOutput:
        """Change the size of a session's terminal."""
        return await self.call("resize", {"session_id": session_id, "rows": rows, "cols": cols})
