"""Hunks find their place, and everything around them stays as it is."""

from __future__ import annotations

import difflib
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.patch.grammar import PatchError, UpdateFile, parse
from fairlead.patch.match import apply


def applied(content: bytes | str, *lines: str) -> bytes:
    text = "\n".join(["*** Begin Patch", "*** Update File: f.py", *lines, "*** End Patch"])
    (update,) = parse(text).operations
    assert isinstance(update, UpdateFile)
    data = content.encode() if isinstance(content, str) else content
    return apply(data, update.hunks, update.path)


PLACES = [
    ("replace", "a\nb\nc\n", ["-b", "+B"], "a\nB\nc\n"),
    ("no @@ needed", "a\nb\n", [" a", "+x", " b"], "a\nx\nb\n"),
    ("first of two", "a\nx\na\nx\n", ["-a", "+b"], "b\nx\na\nx\n"),
    ("behind the header", "f\na\ng\na\n", ["@@ g", "-a", "+b"], "f\na\ng\nb\n"),
    ("headers narrow", "A\nf\nx\nB\nf\nx\n", ["@@ B", "@@ f", "-x"], "A\nf\nx\nB\nf\n"),
    ("a trimmed header", "A:\n  f\n  x\n", ["@@ f", "-  x"], "A:\n  f\n"),
    ("the header again as first line", "a\nf\nx\n", ["@@ f", " f", "-x"], "a\nf\n"),
    ("end of file", "x\ny\nx\n", ["-x", "+z", "*** End of File"], "x\ny\nz\n"),
    ("end of file is a wish", "x\ny\n", ["-x", "+z", "*** End of File"], "z\ny\n"),
    ("in order", "a\nb\na\nb\n", ["@@", "-b", "@@", "-b"], "a\na\n"),
    ("insert behind a header", "f\ng\nh\n", ["@@ g", "+x"], "f\ng\nx\nh\n"),
    ("insert at the end", "a\n", ["+x"], "a\nx\n"),
    ("insert at the end, then go on", "a\nb\n", ["+x", "@@", "-a"], "b\nx\n"),
    ("at the end despite a header", "a\nb\n", ["@@ a", "+x", "*** End of File"], "a\nb\nx\n"),
    ("two insertions at one place", "a\nb\n", ["@@ a", "+x", "@@", " b", "+y"], "a\nx\nb\ny\n"),
    ("into an empty file", "", ["+x"], "x\n"),
    ("all gone", "a\nb\n", ["-a", "-b"], ""),
    ("an empty context line", "a\n\nb\n", [" a", "", "-b"], "a\n\n"),
    ("a blank line that only separates", "a\nb\n", ["-a", ""], "b\n"),
    ("only context", "a\nb\n", [" a", " b"], "a\nb\n"),
    ("white space at the end", "a  \nb\n", [" a", "-b", "+c"], "a  \nc\n"),
    ("white space in the patch", "a\nb\n", [" a\t ", "-b  ", "+c"], "a\nc\n"),
    ("another indentation", "\ta\n\tb\n", ["     a", "-    b", "+\tc"], "\ta\n\tc\n"),
    ("dashes and quotes", "it’s – “so”\nb\n", [" it's - \"so\"", "-b"], "it’s – “so”\n"),
    ("plain in the file", "it's - \"so\"\nb\n", [" it’s — „so“", "-b"], "it's - \"so\"\n"),
    ("odd spaces", "a\u00a0b\u2009c\u3000d\nx\n", [" a b c d", "-x"], "a\u00a0b\u2009c\u3000d\n"),
    ("exact before similar", " x\nx\n", ["-x", "+y"], " x\ny\n"),
    ("line separators are no line ends", "a\u2028b\x0bc\x85\nd\n", [" a\u2028b\x0bc\x85", "-d"],
     "a\u2028b\x0bc\x85\n"),
    ("a byte order mark", "\ufeffa\nb\n", ["-a", "+A"], "\ufeffA\nb\n"),
    ("old Macintosh ends", "a\rb\rc", ["-a\rb\rc", "+x"], "x"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "lines", "after"), [row[1:] for row in PLACES],
                         ids=[row[0] for row in PLACES])  # fmt: skip
def test_where_a_hunk_belongs(before, lines, after):
    """A hunk goes to the first place that fits, by the strictest comparison that finds one."""
    assert applied(before, *lines) == after.encode()


ENDINGS = [
    ("CRLF stays", "a\r\nb\r\nc\r\n", ["-b", "+x", "+y"], "a\r\nx\r\ny\r\nc\r\n"),
    ("CRLF for insertions", "a\r\nb\r\n", ["@@ a", "+x"], "a\r\nx\r\nb\r\n"),
    ("CRLF before the first line", "a\r\n", ["+x", " a"], "x\r\na\r\n"),
    ("CRLF at the end", "a\r\n", ["+x"], "a\r\nx\r\n"),
    ("mixed, per line", "a\r\nb\nc\r\n", ["-a", "-b", "+A", "+B", "+C"], "A\r\nB\nC\nc\r\n"),
    ("mixed, by the line before", "a\nb\r\nc\n", [" b", "+x", " c", "+y"], "a\nb\r\nx\r\nc\ny\n"),
    ("no newline", "a\nb", ["-b", "+c"], "a\nc"),
    ("no newline, longer", "a\nb", [" b", "+c"], "a\nb\nc"),
    ("no newline, shorter", "a\nb", ["-b"], "a"),
    ("no newline, elsewhere", "a\nb", ["-a", "+x"], "x\nb"),
    ("no newline, at the end", "a", ["+b"], "a\nb"),
    ("no newline, all gone", "a", ["-a"], ""),
    ("no newline, CRLF", "a\r\nb", ["+c"], "a\r\nb\r\nc"),
    ("no newline, CRLF, kept", "a\r\nb", ["-a", "+x", " b"], "x\r\nb"),
    ("no newline, CRLF, replaced", "a\r\nb", ["-b", "+c"], "a\r\nc"),
    ("a lone CR at the end", "a\nb\r", ["-a", "+x"], "x\nb\r"),
    ("a lone CR at the end, touched", "a\nb\r", ["-a", "+x", " b"], "x\nb\r"),
    ("only a newline", "\n", ["+x"], "\nx\n"),
]


@pytest.mark.parametrize(("before", "lines", "after"), [row[1:] for row in ENDINGS],
                         ids=[row[0] for row in ENDINGS])  # fmt: skip
def test_line_endings_stay(before, lines, after):
    """Each line keeps its ending, a new line takes its neighbour's, and so does the file's end."""
    assert applied(before, *lines) == after.encode()


def test_a_patch_with_crlf_fits_a_file_without():
    """The endings of the patch say nothing about the file."""
    assert applied("a\nb\n", "-b\r", "+c\r") == b"a\nc\n"


def test_bytes_that_are_no_text_survive():
    """What is not UTF-8 stays, in kept lines and beside them."""
    before = b"\xff\xfe\x00\nkey=1\n\x80abc\xc3\n"
    assert applied(before, "-key=1", "+key=2") == b"\xff\xfe\x00\nkey=2\n\x80abc\xc3\n"


def test_what_is_missing_is_said():
    """An error names the file, the hunk, its line in the patch and what was expected."""
    with pytest.raises(PatchError) as error:
        applied("a\nb\nc\n", "@@", "-a", "@@ b", " one", " two", "-three", " four")
    assert str(error.value) == (
        "apply_patch verification failed: f.py: hunk 2 (patch line 5): "
        "these lines were not found after line 2:\n  one\n  two\n  three\n  … and 1 more"
    )


def test_a_missing_header_is_said():
    """A header that no line fits is an error of its own."""
    with pytest.raises(PatchError, match=r"f\.py: hunk 1 \(patch line 3\): '@@ zzz' was not found"):
        applied("a\n", "@@ zzz", "-a")


def test_hunks_out_of_order_are_said():
    """Lines that only exist before the last hunk are pointed at."""
    with pytest.raises(PatchError, match=r"they are at line 1: hunks go in the order of the file"):
        applied("a\nb\n", "@@", "-b", "@@", "-a")


def test_the_nearest_place_is_said():
    """Where the first lines fit, the error shows what the file has instead of the next."""
    with pytest.raises(PatchError, match=r"nearest: line 2; at line 4 the file has 'D'"):
        applied("a\nb\nc\nD\n", " b", " c", "-d")
    with pytest.raises(PatchError, match=r"nearest: line 1; at line 2 the file ends"):
        applied("a\n", " a", "-b")


def test_nothing_can_be_removed_from_an_empty_file():
    """An empty file has no lines, not one empty line."""
    with pytest.raises(PatchError, match="not found"):
        applied("", "-a")


TOKEN = st.text(
    st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=6
) | st.sampled_from(["", " ", "\t", "-", "+", "@@", "*** End Patch", "\udcff\udc80x", "x "])


def is_line(text: str) -> bool:
    return not text.startswith("\ufeff")


LINES = st.lists(TOKEN.filter(is_line), max_size=12)


@st.composite
def edited(draw, lines):
    """A list of lines, and what random edits made of it."""
    before = draw(lines)
    after = list(before)
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(after)))
        cut = draw(st.integers(0, 2))
        after[at : at + cut] = draw(st.lists(TOKEN.filter(is_line), max_size=3))
    return before, after


def encoded(lines: list[str], ending: str, final_newline: bool) -> bytes:
    text = ending.join(lines) + (ending if final_newline and lines else "")
    return text.encode("utf-8", "surrogateescape")


def diffed(before: list[str], after: list[str], context: int) -> list[str]:
    """The patch lines that make one list into the other."""
    found = difflib.SequenceMatcher(None, before, after, autojunk=False)
    lines = []
    for group in found.get_grouped_opcodes(context):
        lines.append("@@")
        for tag, a, b, c, d in group:
            if tag == "equal":
                lines += [f" {line}" for line in before[a:b]]
            else:
                lines += [f"-{line}" for line in before[a:b]]
                lines += [f"+{line}" for line in after[c:d]]
    return lines


ENDS = st.sampled_from(["\n", "\r\n"])


@given(edited(LINES), ENDS, st.booleans())
def test_any_edit_comes_out_as_meant(lists, ending, final_newline):
    """A patch that shows the whole file makes exactly the file that it was made from."""
    before, after = lists
    # An empty last line without newline is the same bytes as one line less with a newline.
    final_newline = final_newline or not before or not before[-1] or not after or not after[-1]
    lines = diffed(before, after, context=100)
    if lines:
        shows_ending = len(before) > 1 or (before and final_newline)
        ending = ending if shows_ending else "\n"
        content = encoded(before, ending, final_newline)
        expected = encoded(after, ending, final_newline)
        assert applied(content, *lines) == expected


UNIQUE = st.lists(TOKEN.filter(lambda t: is_line(t) and t != ""), max_size=30, unique=True)


@given(edited(UNIQUE), ENDS, st.integers(1, 3))
def test_small_hunks_find_their_place(lists, ending, context):
    """Where every line is different, hunks with little context land where they came from."""
    before, after = lists
    lines = diffed(before, after, context)
    if lines and before:
        expected = encoded(after, ending, True)
        assert applied(encoded(before, ending, True), *lines) == expected


@given(st.lists(st.tuples(st.integers(), ENDS), unique_by=lambda one: one[0]), st.data())
def test_kept_lines_keep_their_bytes(rows, data):
    """In a file of mixed endings every line that stays is the same to the byte."""
    content = "".join(f"{number}{ending}" for number, ending in rows).encode()
    gone = data.draw(st.sets(st.sampled_from([n for n, _ in rows]))) if rows else set()
    lines = [line for n, _ in rows for line in ([f"-{n}", "+new"] if n in gone else [f" {n}"])]
    if lines:
        expected = "".join(f"{'new' if n in gone else n}{ending}" for n, ending in rows)
        assert applied(content, *lines) == expected.encode()


@given(st.binary(max_size=60))
def test_no_file_is_harmed_by_an_insertion(content):
    """Whatever the bytes are, text added at their end leaves them as a prefix."""
    result = applied(content, "+added")
    assert result.startswith(content)
    assert result.rstrip(b"\r\n").endswith(b"added")


def seconds(content: bytes, *lines: str) -> float:
    start = time.process_time()
    applied(content, *lines)
    return time.process_time() - start


def test_a_big_file_is_quick():
    """Ten megabytes take well under a second, with CRLF too."""
    rows = [f"line {number} of a file that is rather long" for number in range(250_000)]
    for ending in ("\n", "\r\n"):
        content = encoded(rows, ending, True)
        assert len(content) > 10_000_000
        assert seconds(content, f" {rows[5]}", "+x", f"@@ {rows[-9]}", f"-{rows[-2]}") < 1


def test_many_false_starts_are_quick():
    """A file of equal lines and a long hunk of them do not take quadratic time."""
    content = b"x\n" * 300_000 + b"y\n"
    lines = ["@@", *[" x"] * 20_000, "-y"]
    assert seconds(content, *lines) < 3


@settings(max_examples=30)
@given(st.lists(st.sampled_from("ab"), min_size=1100, max_size=1200), st.integers(1, 30))
def test_the_linear_search_finds_the_same(rows, length):
    """After many false starts the first place is still the one that is found."""
    content = "".join(["a\n"] * 1500 + [f"{row}\n" for row in rows]).encode()
    needle = ["a"] * length + ["b"]
    lines = content.decode().split("\n")
    places = [at for at in range(len(lines)) if lines[at : at + len(needle)] == needle]
    if places:
        result = applied(content, *[f" {line}" for line in needle], "+here")
        assert result.split(b"\n").index(b"here") == places[0] + len(needle)


def test_hunks_stay_apart():
    """Hunks that follow each other directly do not overlap."""
    rows = [str(number) for number in range(50)]
    lines = [line for a, b in pairwise(rows[::2]) for line in ("@@", f"-{a}", f"+{a}{b}")]
    result = applied(encoded(rows, "\n", True), *lines).decode().split()
    assert result == [f"{n}{int(n) + 2}" if int(n) % 2 == 0 and int(n) < 48 else n for n in rows]
