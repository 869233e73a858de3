"""Is a command whole, or does it leave a quote, a heredoc or a block open?

The grammar answers in microseconds, and when it sees nothing wrong that is enough. It does not
know every corner of every shell, so a doubt is settled by the shell itself with `-n` (read, do
not run): that costs a process, but only where the grammar doubted.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from fairlead.model.params import Shell

SCRIPT_DESCRIPTOR = 9  # where the shell finds the script that it is to check
_WARNS = "here-document"  # bash accepts an open one with a warning; typed, it would wait for it


def looks_complete(script: str) -> bool:
    """True if the grammar for bash finds nothing missing or wrong."""
    try:
        data = script.encode()
    except UnicodeEncodeError:
        return False
    root = _parser().parse(data).root_node
    return not root.has_error and not _open_heredoc(script)


def check_argv(shell: Shell, descriptor: int) -> tuple[str, ...]:
    """The shell, told to read a script from a descriptor and not to run it."""
    return (shell.path, "-n", f"/dev/fd/{descriptor}")


def problem_in(code: int, output: bytes) -> str | None:
    """What the shell had to say about the script, without the name it read it under."""
    text = output.decode("utf-8", "replace").strip()
    if code == 0 and _WARNS not in text:
        return None
    first = text.splitlines()[0] if text else f"not valid shell syntax (exit code {code})"
    return "incomplete or invalid: " + first.rpartition("/dev/fd/")[2].partition(": ")[2] or first


def _open_heredoc(script: str) -> bool:
    """The grammar takes the end of the text for the end of a heredoc: worth asking the shell."""
    return "<<" in script


@cache
def _parser() -> Any:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
