"""Commands that are an apply_patch call, and nothing else, recognised before they are spawned.

Pure. What is recognised has exactly one meaning: anything that a shell would expand, join, pipe
or redirect is left to the shell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from fairlead.model.frozen import dataclass
from fairlead.patch.grammar import BEGIN, PatchError

if TYPE_CHECKING:
    from tree_sitter import Language, Node

NAMES = frozenset({"apply_patch", "applypatch"})
SHELLS = frozenset({"bash", "zsh", "sh", "dash"})
RUN_TEXT = frozenset({"-c", "-lc"})

_TRACES = (*NAMES, BEGIN)
_PLAIN_WORD = re.compile(r"""[^\s"'`$\\*?\[\]{}()<>~!#^;&|=-][^\s"'`$\\*?\[\]{}()<>~!#^;&|]*""")
_DELIMITER = re.compile(r"""'([^'\n]+)'|"([^"\n$`\\]+)"|(\\?)([\w.+-]+)""")
_EXPANDS = re.compile(r"[$`\\]")


@dataclass(frozen=True, slots=True)
class Intercepted:
    """The patch that a command would have applied, and the directory it went to first."""

    body: str
    workdir: str | None = None


def find(argv: Sequence[str]) -> Intercepted | None:
    """The patch call that a command is; None if it is not exactly one.

    Raises `PatchError` if the command is a bare patch: no shell could make sense of it.
    """
    if not any(trace in word for word in argv for trace in _TRACES):
        return None
    match [_basename(argv[0]), *argv[1:]]:
        case [name, body] if name in NAMES:
            return Intercepted(body)
        case [shell, option, script] if shell in SHELLS and option in RUN_TEXT:
            _refuse_bare_patch(script)
            return _in_script(script)
        case [_]:
            _refuse_bare_patch(argv[0])
    return None


def _basename(path: str) -> str:
    return path.rpartition("/")[2]


def _refuse_bare_patch(text: str) -> None:
    if text.lstrip().startswith(BEGIN):
        raise PatchError(
            "this command is a patch, not a program: call the apply_patch tool with it"
        )


@dataclass(frozen=True, slots=True)
class _Script:
    source: bytes

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "surrogateescape")


def _in_script(text: str) -> Intercepted | None:
    from tree_sitter import Parser

    try:
        script = _Script(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return None
    root = Parser(_bash()).parse(script.source).root_node
    if root.has_error:
        return None
    statements = [node for node in root.children if node.type != "comment"]
    return _statement(script, statements[0]) if len(statements) == 1 else None


@cache
def _bash() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _statement(script: _Script, node: Node) -> Intercepted | None:
    if node.type == "redirected_statement":
        return _with_heredoc(script, node)
    workdir, command = _after_cd(script, node)
    words = _words(script, command)
    if words is None or len(words) != 2 or not _names_us(script, words[0]):
        return None
    body = _literal(script, words[1])
    return None if body is None else Intercepted(body, workdir)


def _with_heredoc(script: _Script, node: Node) -> Intercepted | None:
    if [child.type for child in node.children][1:] != ["heredoc_redirect"]:
        return None
    workdir, command = _after_cd(script, node.children[0])
    words = _words(script, command)
    if words is None or len(words) != 1 or not _names_us(script, words[0]):
        return None
    body = _heredoc(script, node.children[1])
    return None if body is None else Intercepted(body, workdir)


def _after_cd(script: _Script, node: Node) -> tuple[str | None, Node | None]:
    """The directory and the command of `cd DIR && command`; a command alone stays as it is."""
    if node.type != "list":
        return None, node
    if [child.type for child in node.children] != ["command", "&&", "command"]:
        return None, None
    workdir = _cd(script, node.children[0])
    return (None, None) if workdir is None else (workdir, node.children[2])


def _cd(script: _Script, node: Node) -> str | None:
    words = _words(script, node)
    if words is None or len(words) != 2 or script.text(words[0]) != "cd":
        return None
    workdir = _literal(script, words[1])
    # `cd ""` stays, `cd -` goes back, other options change what the next word means.
    return None if not workdir or workdir.startswith("-") else workdir


def _words(script: _Script, node: Node | None) -> list[Node] | None:
    """Name and arguments of a command that has nothing else, such as assignments."""
    if node is None or node.type != "command" or not node.children:
        return None
    name, *arguments = node.children
    if name.type != "command_name" or [child.type for child in name.children] != ["word"]:
        return None
    return [name.children[0], *arguments]


def _names_us(script: _Script, word: Node) -> bool:
    return _basename(script.text(word)) in NAMES


def _literal(script: _Script, node: Node) -> str | None:
    """The text of a word that every shell reads the same; None if it would be expanded."""
    text = script.text(node)
    if node.type in ("word", "number"):
        return text if _PLAIN_WORD.fullmatch(text) else None
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "string" and not _EXPANDS.search(text):
        return text[1:-1]
    return None


def _heredoc(script: _Script, node: Node) -> str | None:
    operator, *rest = node.children
    if [child.type for child in rest] != ["heredoc_start", "heredoc_body", "heredoc_end"]:
        return None
    delimiter = _DELIMITER.fullmatch(script.text(rest[0]))
    after = script.source[rest[0].end_byte :].decode("utf-8", "surrogateescape")
    behind_word, newline, lines = after.partition("\n")
    if not delimiter or behind_word.strip(" \t") or not newline:
        return None
    word = delimiter[1] or delimiter[2] or delimiter[4]
    body = _until(word, lines, tabs=script.text(operator) == "<<-")
    expanded = delimiter[4] and not delimiter[3]
    return None if body is None or (expanded and _EXPANDS.search(body)) else body


def _until(word: str, text: str, *, tabs: bool) -> str | None:
    """The lines before the delimiter, if nothing but blank lines follows it."""
    lines = [line.lstrip("\t") if tabs else line for line in text.split("\n")]
    if word not in lines:
        return None
    end = lines.index(word)
    return None if "".join(lines[end + 1 :]).strip() else "".join(f"{x}\n" for x in lines[:end])
