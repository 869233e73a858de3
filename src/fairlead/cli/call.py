"""`fairlead call`: one tool call, or with `--stdin` many on one engine."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict
from typing import Any

from fairlead.cli.common import POLICY_FLAGS, options_from
from fairlead.cli.flags import Flag, Line, Syntax
from fairlead.cli.lines import MAX_LINE, numbered_lines
from fairlead.cli.main import BAD_INPUT, FAILED
from fairlead.engine import Engine
from fairlead.model.errors import BadRequest
from fairlead.model.event import Event
from fairlead.tools.model import ToolOutput
from fairlead.tools.untrusted_json import decoded, quoted

STDIN = 0

SYNTAX = Syntax(
    usage="fairlead call [FLAGS] TOOL 'JSON'   or   fairlead call [FLAGS] --stdin",
    about="Carries out one tool call and prints the text that a model would get.\n"
    "Exit code: 0 it worked, 1 the command failed or was refused, 2 bad input.",
    flags=(
        *POLICY_FLAGS,
        Flag("json", "print the full result as JSON"),
        Flag("events", "print the full result as JSON, and what happened, in order"),
        Flag("stdin", "read JSON lines {tool, arguments}, answer each with a line"),
    ),
)


def main(arguments: Sequence[str]) -> int:
    line = SYNTAX.parse(arguments)
    if line.on("stdin"):
        if line.words:
            raise BadRequest("--stdin takes no tool: each line names one")
        return _until_done(_many(line))
    if not 1 <= len(line.words) <= 2:
        raise BadRequest("expected TOOL and optionally its arguments as JSON; see --help")
    return _until_done(_one(line, line.words[0], line.words[1] if line.words[1:] else "{}"))


def _until_done(work: Coroutine[Any, Any, int]) -> int:
    """Run it; a signal cancels it, and what it started is ended before we leave."""
    caught: list[int] = []

    async def watched() -> int:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

        def stop(number: int) -> None:
            if not caught:  # asking again does not cut the ending short
                task.cancel()
            caught.append(number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup's wish holds
                loop.add_signal_handler(number, stop, number)
        try:
            return await task
        except asyncio.CancelledError:
            return 128 + caught[0] if caught else FAILED

    return asyncio.run(watched())


async def _one(line: Line, tool: str, arguments: str) -> int:
    events: list[Event] = []
    async with Engine(options_from(line)) as engine:
        output = await engine.call(tool, arguments, on_event=_listener(line, events))
        left = [one for one in engine.sessions() if one["state"] != "exited"]
    if line.on("json") or line.on("events"):
        print(_result(output, events if line.on("events") else None))
    else:
        sys.stdout.write(output.content if output.content.endswith("\n") else f"{output.content}\n")
    for session in left:
        number = session["session_id"]
        note = f"session {number} was ended with this call; use --stdin or mcp to keep sessions"
        print(f"fairlead: {note}", file=sys.stderr)
    return exit_code(output)


async def _many(line: Line) -> int:
    """One answer for each line, in order. A line that is no call is answered as well."""
    worst = 0
    async with Engine(options_from(line)) as engine:
        async for number, text in numbered_lines(STDIN):
            try:
                request = _request(text, number)
            except BadRequest as error:
                worst = BAD_INPUT
                print(json.dumps(_not_a_call(number, str(error))), flush=True)
                continue
            events: list[Event] = []
            output = await engine.call(
                request["tool"], request["arguments"], on_event=_listener(line, events)
            )
            more = {"id": request["id"]} if "id" in request else {}
            print(_result(output, events if line.on("events") else None, **more), flush=True)
    return worst


def _request(text: bytes | None, number: int) -> dict[str, Any]:
    """One line as a call. What is wrong with its arguments the tool says."""
    if text is None:
        raise BadRequest(f"line {number}: longer than {MAX_LINE >> 20} MiB")
    try:
        found = decoded(text.decode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise BadRequest(f"line {number}: not JSON: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("tool"), str):
        raise BadRequest(f'line {number}: expected {{"tool": …, "arguments": …}}')
    unknown = sorted(found.keys() - {"tool", "arguments", "id"})
    if unknown:
        allowed = "tool, arguments, id"
        raise BadRequest(f"line {number}: unknown field {quoted(unknown[0])}; allowed: {allowed}")
    arguments = found.get("arguments")
    if arguments is None:
        found["arguments"] = {}
    elif not isinstance(arguments, dict | str):
        found["arguments"] = json.dumps(arguments)  # a list or a number: for the tool to refuse
    return found


def _not_a_call(number: int, message: str) -> dict[str, Any]:
    error = {"kind": "bad_request", "message": message}
    structured = {"status": "failed", "output": message, "error": error}
    return {"line": number, "content": message, "success": False, "structured": structured}


def _result(output: ToolOutput, events: list[Event] | None, **more: Any) -> str:
    result: dict[str, Any] = {
        **more,
        "content": output.content,
        "success": output.success,
        "structured": dict(output.structured),
    }
    if events is not None:
        result["events"] = [_event(one) for one in events]
    return json.dumps(result, ensure_ascii=False)


def _event(event: Event) -> dict[str, Any]:
    found = {"event": type(event).__name__.lower(), **asdict(event)}
    if isinstance(found.get("data"), bytes):
        found["data"] = found["data"].decode("utf-8", "replace")
    return found


def _listener(line: Line, events: list[Event]) -> Callable[[Event], None] | None:
    return events.append if line.on("events") else None


def exit_code(output: ToolOutput) -> int:
    """0 it worked, 1 the command failed or was refused, 2 bad input."""
    if output.success:
        return 0
    error = output.structured.get("error", {})
    return BAD_INPUT if error.get("kind") == "bad_request" else FAILED
