"""Output as text that fits a model's context: counted, cut in the middle, and honest about it."""

from __future__ import annotations

import re

from fairlead.model.frozen import dataclass
from fairlead.model.output import StreamOutput
from fairlead.session.buffer import omission_marker

BYTES_PER_TOKEN = 4
UNFINISHED_CHARACTER = re.compile(
    rb"(?:[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})\Z"
)
CONTINUATION_BYTES = re.compile(rb"\A[\x80-\xbf]{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """Text for a model, and the facts about it that belong in the structured result."""

    text: str
    original_token_count: int  # of everything the process wrote, what is missing included
    truncated: bool  # cut to fit the budget; bytes the buffer lost are counted on their own
    total_lines: int
    replaced_bytes: int  # were not UTF-8 and show as U+FFFD
    omitted_bytes: int
    preamble: str = ""  # how `text` begins where it was cut: a warning, and how much there was

    @property
    def body(self) -> str:
        """The text for a form that has lines of its own for what the preamble says."""
        return self.text.removeprefix(self.preamble)


def token_count(text: str) -> int:
    """The estimate used everywhere: four bytes of UTF-8 are a token, a rest counts as one."""
    return tokens_in(len(_encode(text)))


def tokens_in(size: int) -> int:
    """How many tokens `size` bytes are taken for."""
    return -(-size // BYTES_PER_TOKEN)


def line_count(text: str) -> int:
    """Lines of a text; a final newline ends the last line and does not begin another."""
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def split_string(text: str, head_bytes: int, tail_bytes: int) -> tuple[str, int, str]:
    """The first and last bytes on character boundaries, and how many characters lie between."""
    data = _encode(text)
    head = _decode(data[: _boundary_before(data, max(head_bytes, 0))])
    start = max(len(data) - max(tail_bytes, 0), len(_encode(head)))
    tail = _decode(data[_boundary_after(data, start) :])
    return head, len(text) - len(head) - len(tail), tail


def truncate(text: str, *, tokens: int | None = None, bytes: int | None = None) -> str:
    """The text, or its two ends with the size of what was cut out between them."""
    budget = _budget(tokens, bytes)
    size = len(_encode(text))
    if size <= budget:
        return text
    head, removed, tail = split_string(text, budget // 2, budget - budget // 2)
    return head + _cut_mark(size - budget, removed, in_tokens=tokens is not None) + tail


def truncate_formatted(
    text: str,
    *,
    tokens: int | None = None,
    bytes: int | None = None,
    original_tokens: int | None = None,
) -> str:
    """As `truncate`, with a warning above that says how much there was."""
    shorter = truncate(text, tokens=tokens, bytes=bytes)
    if shorter == text:
        return text
    count = token_count(text) if original_tokens is None else original_tokens
    return _preamble(count, text) + shorter


def shape(stream: StreamOutput, max_tokens: int) -> Shaped:
    """A stretch of output as text within `max_tokens`, with at most one mark for what is missing.

    `truncated` speaks of the budget only; `omitted_bytes` counts what the buffer lost, and the
    pieces of characters that this left at the edges of the hole.
    """
    if stream.omitted:
        return _shape_with_hole(stream, max(max_tokens, 0))
    text, replaced = _decode_counting(stream.kept)
    count = tokens_in(stream.total)
    shorter = truncate(text, tokens=max_tokens)
    preamble = "" if shorter == text else _preamble(count, text)
    return Shaped(
        text=preamble + shorter,
        original_token_count=count,
        truncated=shorter != text,
        total_lines=line_count(text),
        replaced_bytes=replaced,
        omitted_bytes=0,
        preamble=preamble,
    )


def invalid_bytes(stream: StreamOutput) -> int:
    """How many bytes of a stretch are not UTF-8."""
    return shape(stream, 0).replaced_bytes


def _shape_with_hole(stream: StreamOutput, max_tokens: int) -> Shaped:
    # The hole may have cut a character in two: its halves were fine where they came from.
    head_data = stream.head[:-3] + UNFINISHED_CHARACTER.sub(b"", stream.head[-3:])
    tail_data = CONTINUATION_BYTES.sub(b"", stream.tail, count=1)
    omitted = stream.total - len(head_data) - len(tail_data)
    head, bad_head = _decode_counting(head_data)
    tail, bad_tail = _decode_counting(tail_data)
    marker = omission_marker(omitted)
    whole = head + marker + tail
    count = tokens_in(stream.total)
    budget = max_tokens * BYTES_PER_TOKEN
    fits = len(_encode(whole)) <= budget
    cut = "" if fits else _cut_around_hole(head, tail, budget, len(marker))
    preamble = "" if fits else f"{_warning(count)}\n"
    return Shaped(
        text=whole if fits else f"{preamble}{marker.lstrip()}\n{cut}",
        original_token_count=count,
        truncated=not fits,
        total_lines=line_count(head + tail),
        replaced_bytes=bad_head + bad_tail,
        omitted_bytes=omitted,
        preamble=preamble,
    )


def _cut_around_hole(head: str, tail: str, budget: int, marker_size: int) -> str:
    """Both ends of what is kept, cut so that the one mark stands where the hole is."""
    head_size, tail_size = len(_encode(head)), len(_encode(tail))
    if head_size + tail_size <= budget:
        budget -= marker_size  # only the marker did not fit: a mark must stand there all the same
    budget = max(budget, 0)
    head_budget = min(head_size, max(budget // 2, budget - tail_size))
    first, _, _ = split_string(head, head_budget, 0)
    _, _, last = split_string(tail, 0, budget - head_budget)
    removed = head_size + tail_size - budget
    return first + _cut_mark(removed, 0, in_tokens=True) + last


def unix_lines(data: bytes) -> bytes:
    """Line ends as a program writes them, where a terminal made CR LF of each."""
    return data.replace(b"\r\n", b"\n")


def _warning(count: int) -> str:
    return f"Warning: truncated output (original token count: {count})"


def _preamble(count: int, text: str) -> str:
    return f"{_warning(count)}\nTotal output lines: {line_count(text)}\n\n"


def _cut_mark(size: int, characters: int, *, in_tokens: bool) -> str:
    what = f"{tokens_in(size)} tokens" if in_tokens else f"{characters} chars"
    return f"…{what} truncated…"


def _budget(tokens: int | None, size: int | None) -> int:
    if tokens is not None and size is None:
        return max(0, tokens * BYTES_PER_TOKEN)
    if tokens is None and size is not None:
        return max(0, size)
    raise TypeError("give either tokens or bytes")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _decode_counting(data: bytes) -> tuple[str, int]:
    """Text with U+FFFD for what is not UTF-8, and how many bytes that were."""
    try:
        return data.decode(), 0
    except UnicodeDecodeError:
        valid = data.decode("utf-8", "ignore").encode()
        return data.decode("utf-8", "replace"), len(data) - len(valid)


def _is_continuation(data: bytes, at: int) -> bool:
    return 0 < at < len(data) and data[at] & 0xC0 == 0x80


def _boundary_before(data: bytes, at: int) -> int:
    at = min(at, len(data))
    while _is_continuation(data, at):
        at -= 1
    return at


def _boundary_after(data: bytes, at: int) -> int:
    while _is_continuation(data, at):
        at += 1
    return at
