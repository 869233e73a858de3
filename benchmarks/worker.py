"""The contender's end: serves batches of one operation, named by module, operation and JSON."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from typing import IO, Any

from benchmarks.operation import Lacking, Once, Operation


async def timed(once: Once) -> dict[str, float]:
    started = time.perf_counter_ns()
    facts = await once()
    return {"ns": time.perf_counter_ns() - started, **(facts or {})}


async def serve(once: Once, answers: IO[str]) -> None:
    """Answer every line of stdin, with the event loop free to run between the batches."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    _say(answers, {"ready": True})
    while line := await lines.readline():
        warm, count = map(int, line.split())
        for _ in range(warm):
            await once()
        _say(answers, [await timed(once) for _ in range(count)])


async def run(operation: Operation, arguments: Mapping[str, Any], answers: IO[str]) -> None:
    async with operation(**arguments) as once:
        await serve(once, answers)


def find(module: str, name: str) -> Operation | str:
    """The operation, or why this contender has none."""
    contender = importlib.import_module(f"benchmarks.contenders.{module}")
    operation: Operation | None = getattr(contender, name, None)
    return operation or contender.LACKS.get(name, "has no such operation")


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries that print must not speak in between
    module, name, arguments = sys.argv[1:4]
    operation = find(module, name)
    if isinstance(operation, str):
        _say(answers, {"missing": operation})
        return
    try:
        asyncio.run(run(operation, json.loads(arguments), answers))
    except ModuleNotFoundError as error:
        _say(answers, {"missing": f"not installed ({error.name})"})
    except Exception as error:
        traceback.print_exc()
        _say(answers, {"failed": _told(error), "missing": _told(error)})
    finally:
        answers.flush()
        os._exit(0)  # some peers leave threads behind that never end


def _told(error: Exception) -> str:
    if isinstance(error, Lacking):
        return str(error)
    return f"{type(error).__name__}: {error}".splitlines()[0][:160]


def _say(answers: IO[str], what: object) -> None:
    print(json.dumps(what), file=answers, flush=True)


if __name__ == "__main__":
    main()
