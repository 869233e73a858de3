"""Text for bash, zsh or a POSIX shell: plain commands, and the rest named by the grammar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from fairlead.model.frozen import replace
from fairlead.model.params import ShellKind
from fairlead.policy.reading import strict
from fairlead.policy.reading.grammar import leaves, parse_bash, unreadable
from fairlead.policy.reading.parts import (
    Join,
    NotPlain,
    Part,
    Redirection,
    Span,
    Why,
)
from fairlead.policy.reading.words import WORD_ONLY, decode

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 24  # of what is not plain: deeper, nobody looks for commands
MAX_PARTS = 2000  # found in what is not plain

_WORDS = frozenset({"word", "string", "raw_string", "number", "concatenation", "ansi_c_string"})
_WHOLE = _WORDS | {"variable_assignment"}
_PLAIN_STRUCTURE = frozenset(
    {"program", "list", "pipeline", "command", "command_name", "redirected_statement"}
    | {"file_redirect", "test_command", "unary_expression", "binary_expression"}
)
_AGREED = _PLAIN_STRUCTURE | {"variable_assignment"}
_OPERATORS = frozenset({"&&", "||", ";", "|", "|&", "&", "\n", ">", ">>", "<", ">|", ">&", "<&"})
_UNREAD = frozenset({"comment", "file_descriptor"}) | _OPERATORS | {"&>", "&>>", "<>", ">&-", "<&-"}
_CHAINS = frozenset({"program", "list", "pipeline"})
_JOINS = {join.value: join for join in Join if join is not Join.FIRST} | {"\n": Join.SEQUENCE}

_NAMES = {
    "command_substitution": Why.SUBSTITUTION,
    "process_substitution": Why.PROCESS_SUBSTITUTION,
    "simple_expansion": Why.EXPANSION,
    "expansion": Why.EXPANSION,
    "arithmetic_expansion": Why.ARITHMETIC,
    "brace_expression": Why.BRACES,
    "ansi_c_string": Why.ANSI_C,
    "translated_string": Why.TRANSLATED,
    "heredoc_redirect": Why.HEREDOC,
    "herestring_redirect": Why.HERESTRING,
    "variable_assignment": Why.ASSIGNMENT,
    "variable_assignments": Why.ASSIGNMENT,
    "declaration_command": Why.STATE,
    "unset_command": Why.STATE,
    "subshell": Why.SUBSHELL,
    "compound_statement": Why.GROUP,
    "function_definition": Why.FUNCTION,
    "for_statement": Why.LOOP,
    "c_style_for_statement": Why.LOOP,
    "while_statement": Why.LOOP,
    "if_statement": Why.CONDITION,
    "case_statement": Why.CONDITION,
    "negated_command": Why.NEGATION,
    "test_command": Why.TEST,
    "extglob_pattern": Why.GLOB,
    "regex": Why.GLOB,
}


def read(text: str, shell: ShellKind) -> tuple[Part, ...]:
    """The parts of a text. Never raises, and takes bounded time."""
    if (why := unreadable(text)) is not None:
        return (NotPlain(why=why, span=Span(0, len(text))),)
    source = text.encode()
    tree = parse_bash(source)
    if tree is None:
        return (NotPlain(why=Why.TOO_SLOW, span=Span(0, len(text))),)
    script = _Script(source, text, shell)
    try:
        found = list(strict.tokens(text))
        commands = strict.read(found, shell)
    except strict.Refused as refused:
        return script.parts(tree.root_node, refused)
    if script.agrees(tree.root_node, found, len(commands)):
        return commands
    return (NotPlain(why=Why.DOUBT, span=Span(0, len(text)), inside=commands),)


class _Script:
    """A text and its tree, whose offsets count bytes."""

    def __init__(self, source: bytes, text: str, shell: ShellKind) -> None:
        self.source = source
        self.text = text
        self.shell = shell
        self.characters: list[int] | None = None  # how many end by each byte
        self.ascii = len(source) == len(text)
        self.found = 0

    def offset(self, at: int) -> int:
        if self.ascii or at == 0:
            return at
        if self.characters is None:
            begins = (byte & 0xC0 != 0x80 for byte in self.source)
            self.characters = list(accumulate(begins, initial=0))
        return self.characters[at]

    def place(self, node: Node) -> tuple[int, int]:
        start, end = node.byte_range
        return (start, end) if self.ascii else (self.offset(start), self.offset(end))

    def span(self, node: Node) -> Span:
        return Span(*self.place(node))

    def slice(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def agrees(self, root: Node, found: Sequence[strict.Token], commands: int) -> bool:
        """True if the grammar sees the same words in the text, and the same number of commands."""
        if root.has_error:
            return False
        structure = list(_structure(root))
        if not all(node.type in _AGREED for node in structure):
            return False
        counted = sum(node.type in ("command", "test_command") for node in structure)
        words = [node for node in leaves(root, _WHOLE) if node.type not in _UNREAD]
        mine = [(token.start, token.end) for token in _words(found)]
        return counted == commands and mine == [self.place(node) for node in words]

    def parts(self, root: Node, refused: strict.Refused) -> tuple[Part, ...]:
        """What a text consists of that is not plain as a whole."""
        if root.has_error:
            whole, inside = Span(0, len(self.text)), tuple(self.within(root, 0))
            why = Why.SYNTAX if refused.why is Why.UNKNOWN else refused.why
            return (NotPlain(why=why, span=whole, inside=inside),)
        parts = tuple(self.chain(root, Join.FIRST, 0))
        if any(isinstance(part, NotPlain) for part in parts):
            return parts
        # Piece by piece it is plain, and as a whole it is not: `ls;;`, or a comment.
        return (NotPlain(why=refused.why, span=Span(0, len(self.text)), inside=parts),)

    def chain(self, node: Node, join: Join, depth: int) -> Iterator[Part]:
        """The statements of a list or a pipeline, each with its operator."""
        for child in node.children:
            if child.type in _JOINS:
                join = _JOINS[child.type]
            elif child.type in _CHAINS and depth < MAX_DEPTH:
                yield from self.chain(child, join, depth + 1)
            elif child.is_named and child.type != "comment":
                yield self.statement(child, join, depth)

    def statement(self, node: Node, join: Join, depth: int) -> Part:
        if node.type in ("command", "redirected_statement", "test_command"):
            return self.command(node, join, depth)
        return NotPlain(
            why=_NAMES.get(node.type, Why.UNKNOWN),
            span=self.span(node),
            join=join,
            inside=tuple(self.within(node, depth + 1)),
        )

    def command(self, node: Node, join: Join, depth: int) -> Part:
        try:
            only = strict.read(strict.tokens(self.slice(node)), self.shell)
            why = Why.UNKNOWN
        except strict.Refused as refused:
            only, why = (), Why.TEST if self.slice(node).startswith("[[") else refused.why
        if len(only) == 1:
            return replace(only[0], span=self.span(node), join=join, directories=())
        return NotPlain(
            why=why if why is not Why.UNKNOWN else self.why(node),
            span=self.span(node),
            join=join,
            words=self.words(node),
            redirections=tuple(self.redirections(node)),
            inside=tuple(self.within(_body(node), depth + 1)),
        )

    def why(self, node: Node) -> Why:
        inner = (_NAMES[child.type] for child in _structure(node) if child.type in _NAMES)
        return next(inner, Why.UNKNOWN)

    def words(self, node: Node) -> tuple[str | None, ...]:
        """The words of a command, None for those that the text does not tell."""
        node = _body(node)
        if node.type not in ("command", "test_command"):
            return ()
        named = [child for child in node.children if child.is_named]
        words = [w for w in named if w.type not in ("variable_assignment", "comment")]
        return tuple(self.word(word) for word in words if not word.type.endswith("_redirect"))

    def word(self, node: Node) -> str | None:
        raw = self.slice(node)
        return decode(raw) if WORD_ONLY.fullmatch(raw) else None

    def redirections(self, node: Node) -> Iterator[Redirection]:
        """The effects on files that the text tells, by the small grammar."""
        for child in node.children:
            if child.type == "file_redirect":
                try:
                    alone = strict.tokens(f": {self.slice(child)}")
                    yield from strict.read(alone, self.shell)[0].redirections
                except (strict.Refused, IndexError):
                    continue

    def within(self, node: Node, depth: int) -> Iterator[Part]:
        """The commands anywhere below a node, for those who look for danger."""
        waiting = [(child, depth) for child in reversed(node.children)]
        while waiting and self.found < MAX_PARTS:
            child, deep = waiting.pop()
            if deep > MAX_DEPTH:
                yield NotPlain(why=Why.TOO_DEEP, span=self.span(child))
                return
            if child.type in ("command", "redirected_statement", "test_command"):
                self.found += 1
                yield self.command(child, Join.SEQUENCE, deep)
            else:
                below = ((grandchild, deep + 1) for grandchild in reversed(child.children))
                waiting.extend(below)


def _words(found: Iterable[strict.Token]) -> Iterator[strict.Token]:
    """The words among them; for the grammar, the end of `2>&-` is none."""
    closes = False
    for token in found:
        if token.kind == "word" and not (closes and token.raw == "-"):
            yield token
        closes = token.raw.endswith((">&", "<&"))


def _body(node: Node) -> Node:
    """The command that redirections are for, where it is a simple one."""
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    return node if body is None or body.type not in ("command", "test_command") else body


def _structure(root: Node) -> Iterator[Node]:
    """The named nodes that are not within a word, and not comments."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _WORDS or node.type in _UNREAD or not node.is_named:
            continue
        if node.child_count or node.type in _PLAIN_STRUCTURE or node.type in _NAMES:
            yield node
            waiting.extend(reversed(node.children))
