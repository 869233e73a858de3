"""Finds the subcommand and turns what goes wrong into one line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from fairlead.cli import streams
from fairlead.cli.flags import Help
from fairlead.model.errors import BadRequest, ExecError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

# name -> (module, what it does); looked up, so that `run` never loads what `mcp` needs.
COMMANDS = {
    "call": ("fairlead.cli.call", "one tool call, or many as JSON lines"),
    "run": ("fairlead.cli.run", "run a command in this terminal, under policy"),
    "sandbox": ("fairlead.cli.sandbox", "run a command confined, and nothing more"),
    "aside": ("fairlead.cli.aside", "what was moved out of the way, and putting it back"),
    "tools": ("fairlead.cli.tools", "the tools' JSON schemas"),
    "mcp": ("fairlead.cli.mcp", "an MCP server on stdin and stdout, or over HTTP"),
    "doctor": ("fairlead.cli.doctor", "what this machine offers and what is missing"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if arguments is None:
        streams.speak_utf8()
    words = list(sys.argv[1:] if arguments is None else arguments)
    streams.prepare()
    try:
        code = _told(words)
        streams.flush()
    except BrokenPipeError:  # whoever read our output has gone
        streams.abandon()
        return FAILED
    except OSError as error:  # a full disk, say
        streams.abandon()
        where = f": {error.filename}" if error.filename else ""
        return complain(f"{error.strerror or error}{where}", FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _told(words: list[str]) -> int:
    """Carry it out. What goes wrong is one line; a traceback is for whoever asks for it."""
    try:
        return _dispatch(words)
    except Help as help_text:
        print(help_text)
        return 0
    except BadRequest as error:
        return complain(str(error), BAD_INPUT)
    except ExecError as error:
        return complain(str(error), FAILED)
    except OSError:
        raise
    except Exception as error:
        from fairlead.cli.bug import described

        return complain(described(error), FAILED)


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        raise Help(_usage())
    if words[0] in ("-V", "--version"):
        from fairlead import __version__

        raise Help(f"fairlead {__version__}")
    found = COMMANDS.get(words[0])
    if found is None:
        raise BadRequest(f"unknown command {words[0]!r}; there are: {', '.join(COMMANDS)}")
    from importlib import import_module

    result: int = import_module(found[0]).main(words[1:])
    return result


def _usage() -> str:
    lines = [f"  {name:<8} {what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join(
        [
            "fairlead: the terminal for AI agents",
            "",
            "usage: fairlead COMMAND …",
            "",
            *lines,
            "",
            "fairlead COMMAND --help says more.",
        ]
    )


def complain(message: str, code: int) -> int:
    try:
        print(f"fairlead: {message}", file=sys.stderr, flush=True)
    except OSError:  # nobody can be told; the code still says it
        pass
    return code
