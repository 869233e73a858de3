"""Read-eval-print loops, typed into as a person would."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fairlead import Engine
from tests.interactive.driving import Terminal

PYTHON = [sys.executable, "-q", "-X", "utf8"]


async def test_python_evaluates_what_is_typed(engine: Engine) -> None:
    """A definition of several lines is read whole and works afterwards."""
    python = await Terminal.start(engine, PYTHON)
    await python.until(">>> ")
    await python.type("def double(x):\n    return x * 2\n\n")
    await python.until(r"\.\.\. \r\n>>> ")
    await python.type("double(21)\n")
    assert await python.until(r">>> ") == "double(21)\r\n42\r\n>>> "


async def test_python_shows_an_exception_and_goes_on(engine: Engine) -> None:
    """An error in what was typed is output, not an end."""
    python = await Terminal.start(engine, PYTHON)
    await python.type("1 / 0\n")
    await python.until(r"ZeroDivisionError: division by zero\r\n>>> ")
    await python.type("6 * 7\n")
    await python.until(r"\r\n42\r\n>>> ")


async def test_python_leaves_with_the_code_that_was_typed(engine: Engine) -> None:
    """`exit(3)` ends the session with 3, and the call that typed it says so."""
    python = await Terminal.start(engine, PYTHON)
    await python.type("exit(3)\n")
    ended = await python.end()
    assert ended.structured["exit_code"] == 3
    assert "session_id" not in ended.structured
    assert "Process exited with code 3\n" in ended.content


async def test_python_is_interrupted(engine: Engine) -> None:
    """Ctrl-C stops a loop, and the prompt comes back."""
    python = await Terminal.start(engine, PYTHON)
    await python.type("print('looping')\nwhile True: pass\n\n", yield_time_ms=250)
    await python.until(r"\nlooping\r\n[^\n]*while True: pass\r\n[^\n]*\r\n")
    await python.type("\x03")
    await python.until(r"KeyboardInterrupt\r\n>>> ")


async def test_a_prompt_is_known_by_the_kernel(engine: Engine) -> None:
    """The answer at a prompt says that the program waits for input, and does not wait longer."""
    python = await Terminal.start(engine, PYTHON)
    answer = await python.type("print('once')\n")
    assert answer.structured["waiting_for_input"] is True
    assert answer.structured["wall_time_seconds"] < 25  # of the 30 that it might take


async def test_node(engine: Engine, require: Callable[[str], str]) -> None:
    """Node's event loop counts as waiting for input too; its prompt works and `.exit` ends it."""
    env = {"NODE_REPL_HISTORY": "", "HOME": "."}
    node = await Terminal.start(engine, [require("node")], env=env)
    await node.until("> ")
    assert await node.wants_input()
    await node.type("[1, 2, 3].map(x => x * 2)\n")
    await node.until(r"\[ 2, 4, 6 \]\r\n> ")
    await node.type("throw new Error('oh no')\n")
    await node.until(r"Uncaught Error: oh no\r\n[\s\S]*> ")
    await node.type("process.exit(7)\n")
    assert (await node.end()).structured["exit_code"] == 7
