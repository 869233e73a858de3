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
CONTINUED = "incomplete: it ends in a backslash, which asks for another line"
OPEN_HEREDOC = "incomplete: a here-document is not closed"


def looks_complete(script: str) -> bool:
    """True if the grammar for bash finds nothing missing or wrong."""
    try:
        data = script.encode()
    except UnicodeEncodeError:
        return False
    return not _parser().parse(data).root_node.has_error


def ends_in_backslash(script: str) -> bool:
    """True if its last character asks for another line. Shells take the end of the text for that
    line, each in its own way, and bash then loses the first character of what comes next."""
    return (len(script) - len(script.rstrip("\\"))) % 2 == 1


def check_argv(shell: Shell, descriptor: int) -> tuple[str, ...]:
    """The shell, told to read a script from a descriptor and not to run it."""
    return (shell.path, "-n", f"/dev/fd/{descriptor}")


def problem_in(code: int, output: bytes) -> str | None:
    """What the shell had to say about the script, without the name it read it under."""
    if code == 0:
        return None
    lines = output.decode("utf-8", "replace").strip().splitlines()
    said = lines[0] if lines else f"not valid shell syntax (exit code {code})"
    _, found, rest = said.rpartition("/dev/fd/")
    told = rest.partition(":")[2].strip() if found else said
    return f"incomplete or invalid: {told or said}"


def swallowed(script: str) -> str | None:
    """The script with a syntax error after it, where an open heredoc would swallow that: shells
    take the end of the text for the heredoc's end. None if there can't be one."""
    return f"{script}\n)\n" if "<<" in script else None


@cache
def _parser() -> Any:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
