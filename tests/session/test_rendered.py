"""Output as a terminal would show it in the end."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.session.rendered import ROWS, plain, render

MIB = 1 << 20


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"one\ntwo\n\n", "one\ntwo\n\n"),
        (b"one  \r\n\ttwo\r\n", "one  \n\ttwo\n"),
        (b"\x1b[1;31mred\x1b[0m text\n", "red text\n"),
        (b"10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        (b"longer text\r\x1b[Kok\n", "ok\n"),
        (b"longer\rok\n", "oknger\n"),
        (b"wait...\b\b\b   \b\b\b done\n", "wait done\n"),
        (b"_\bx_\by\n", "xy\n"),
        (b"x\x1b]0;title\x07y\x1b]8;;http://a\x1b\\z\x1bP1$r0m\x1b\\!\n", "xyz!\n"),
        (b"abcdef\x1b[3D\x1b[P!\n", "abc!f\n"),
        (b"abcdef\x1b[3D\x1b[2@!\n", "abc! def\n"),
        (b"abcdef\x1b[4D\x1b[2X\n", "ab  ef\n"),
        (b"abc\x1b[10Gd\n", "abc      d\n"),
        (b"abcdef\x1b[3D\x1b[1K\n", "    ef\n"),
        (b"-\x1b[5b|\n", "------|\n"),
        (b"one\ntwo\n\x1b[2A\x1b[2Kuno\n\x1b[2Kdos\n", "uno\ndos\n"),
        (b"a\nb\nc\x1b[2F1\x1b[E2\x1b[3;1H3", "1\n2\n3"),
        (b"\x1b7one\x1b8two\n", "two\n"),
        (b"one\ntwo\x1bMx", "onex\ntwo"),
        (b"one\ntwo\nthree\x1b[2A\x1b[M\x1b[2B", "two\nthree\n"),
        (b"one\ntwo\x1b[A\x1b[L\n\n", "\none\ntwo"),
        (b"old\nold\n\x1b[H\x1b[2J\x1b[3Jnew\n", "new\n"),
        (b"old\nold\x1b[H\x1b[Jnew\n", "new\n"),
        (b"shell $ \x1b[?1049h\x1b[Hfull screen\x1b[?1049lback\n", "shell $ back\n"),
        (b"log\n\x1b[?1049h\x1b[Hfull\x1b[2;1Hscreen", "log\n\nfull\nscreen"),
        (b"a\tb\rX\n", "X\tb\n"),
        (b"a\tb\x1b[5GX\n", "a   X   b\n"),
        (b"a\rtab\tstop\n", "tab\tstop\n"),
        ("日本\rx\n".encode(), "x 本\n"),
        ("日本\x1b[2Gx\n".encode(), " x本\n"),
        ("e\u0301a\rxy\n".encode(), "xy\n"),
        (b"no utf-8: \xff\n", "no utf-8: \ufffd\n"),
        (b"cut off \x1b[3", "cut off "),
        (b"bell\x07 null\x00\x7f\n", "bell null\n"),
        (b"page\fnext\n", "page\n    next\n"),
    ],
)
def test_what_a_terminal_shows(written: bytes, shown: str):
    """The text that is on the screen in the end, lines that scrolled away included."""
    assert render(written) == shown


def test_long_lines_stay_whole():
    """A line longer than the columns is one line, also where it was written over."""
    long = b"x" * 1000
    assert render(long + b"\n") == "x" * 1000 + "\n"
    assert render(b"\x1b[0m" + long + b"\ryes\n", 80) == "yes" + "x" * 997 + "\n"


def test_the_cursor_reaches_no_farther_than_a_screen():
    """Lines that have scrolled away are as safe as on a terminal."""
    log = b"".join(b"line %d\n" % number for number in range(200))
    shown = render(log + b"\x1b[999Atop").split("\n")
    assert shown[:150] == [f"line {number}" for number in range(150)]
    assert shown.index("tope 151") == 201 - ROWS


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"], include_characters="\t\n")))
def test_plain_text_is_unchanged(text: str):
    """Text without control characters comes through, whatever it is, also once cells are used."""
    assert render(text.encode()) == text
    assert render(text.encode() + b"\n\x1b[31m\x1b]0;x\x07\a") == text + "\n"


PIECES = [
    b"abc", b"\r", b"\n", b"\b", b"\t", b"\v", "日".encode(), "\u0301".encode(), b"\xff", b"\x1bM",
    b"\x1b7", b"\x1b8", b"\x1bc", b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b]x", b"\x1b[", b"\x1bP",
]  # fmt: skip


@given(
    st.lists(
        st.sampled_from(PIECES)
        | st.builds(
            lambda count, final: b"\x1b[%d%c" % (count, final),
            st.integers(0, 99),
            st.sampled_from(b"ABCDEFGHJKLMPX@bdefsu`a"),
        ),
        max_size=60,
    )
)
def test_any_sequence_is_survived(pieces: list[bytes]):
    """No order of sequences breaks the screen, and no control character is left in its text."""
    shown = render(b"".join(pieces), 40)
    assert not any(char < " " and char not in "\n\t" for char in shown)


FRAMES = {
    "plain": b"some line of text in a log, number 12345\n",
    "colour": b"\x1b[32msome\x1b[0m line of \x1b[1;34mtext\x1b[0m in a log, number 12345\r\n",
    "progress": b"\r\x1b[Kprogress  50% [#########           ] 12 MB/s",
    "lines": b"\x1b[3A\x1b[2Kone\n\x1b[2Ktwo\n\x1b[2Kthree of a longer text\n",
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_mebibyte_is_quick(frame: bytes):
    """What programs write renders in well under a second per MiB."""
    data = frame * (MIB // len(frame))
    began = time.process_time()
    render(data)
    assert time.process_time() - began < 1


HOSTILE = [
    b"\x1b[2Kx", b"\x1b[1Kx", b"\x1b[@", b"\x1b[P", b"\x1b[9999L", b"\x1b[9999;9999Hx", b"\bY",
    b"x\x1b[9999b", b"\x1bM", b"\x1b]", b"\x1bP", b"\x1b[", "\u0301\b".encode(), b"\r\t\x1b[K",
    b"x\x1b[9q",
]  # fmt: skip


@pytest.mark.parametrize("sequence", HOSTILE, ids=repr)
def test_hostile_output_takes_linear_time(sequence: bytes):
    """A sequence that is repeated on a very long line costs no more the longer the line is."""
    data = b"x" * (MIB // 4) + sequence * (MIB // 4 // len(sequence))
    began = time.process_time()
    render(data)
    assert time.process_time() - began < 3


def test_memory_is_bounded():
    """A huge screen can't be asked for: memory stays in proportion to the output."""
    tracemalloc.start()
    try:
        render(b"\x1b[99999999;99999999Hx\x1b[99999999b\x1b[99999999@\x1b[99999999L\n" * 100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MIB


def test_plain_strips_escape_sequences_only():
    """`plain` keeps carriage returns, backspaces and tabs."""
    assert plain("\x1b[1mbold\x1b[0m\r\b\t\x1b]0;t\x07\x1b(Bend\x1b[") == "bold\r\b\tend"
