"""The text of a patch, and every way to get it wrong."""

from __future__ import annotations

import pytest

from fairlead.model.errors import BadRequest
from fairlead.patch.grammar import (
    AddFile,
    DeleteFile,
    Edit,
    Hunk,
    Operation,
    PatchError,
    UpdateFile,
    parse,
)


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"]) + "\n"


def operations(*lines: str) -> tuple[Operation, ...]:
    return parse(patch(*lines)).operations


def hunks(*lines: str) -> tuple[Hunk, ...]:
    (update,) = operations("*** Update File: a", *lines)
    assert isinstance(update, UpdateFile)
    return update.hunks


def test_every_kind_of_section():
    """A patch adds, deletes, updates and moves, in its own order."""
    assert operations(
        "*** Add File: new dir/a.txt",
        "+one",
        "+",
        "++two",
        "*** Delete File: b",
        "*** Update File: c",
        "*** Move to: d",
        "@@ def f():",
        " kept",
        "-old",
        "+new",
        "*** End of File",
    ) == (
        AddFile("new dir/a.txt", ("one", "", "+two")),
        DeleteFile("b"),
        UpdateFile(
            "c",
            "d",
            (
                Hunk(
                    ("def f():",),
                    (Edit(" ", "kept"), Edit("-", "old"), Edit("+", "new")),
                    at_end=True,
                    line=9,
                ),
            ),
        ),
    )


def test_old_and_new_lines_of_a_hunk():
    """Kept lines belong to both sides of a hunk."""
    (hunk,) = hunks(" a", "-b", "+c", " d")
    assert (hunk.old, hunk.new) == (["a", "b", "d"], ["a", "c", "d"])


def test_several_headers_narrow_one_hunk():
    """A run of @@ lines belongs to the hunk below it, and bare ones add nothing to it."""
    one, two = hunks("@@ class A", "@@", "@@   def f", "-x", "@@", "-y")
    assert one.headers == ("class A", "  def f")
    assert two.headers == ()


def test_an_empty_file_and_a_mere_move():
    """A new file may be empty, and a file may move without changing."""
    assert operations("*** Add File: a", "*** Update File: b", "*** Move to: c") == (
        AddFile("a", ()),
        UpdateFile("b", "c", ()),
    )


PADDED = [
    "\n\n*** Begin Patch\n*** Delete File: a\n*** End Patch\n\n",
    "  *** Begin Patch  \n\t*** Delete File:   a  \n *** End Patch \t",
    "*** Begin Patch\r\n*** Delete File: a\r\n*** End Patch\r\n",
    "*** Begin Patch\n\n*** Delete File: a\n\n*** End Patch",
    "<<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF\n",
    "<<EOF\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF",
    '<<-"X"\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nX\n',
]


@pytest.mark.parametrize("text", PADDED)
def test_what_stands_around_markers_is_tolerated(text):
    """Blank lines, white space around markers, CRLF and a copied heredoc change nothing."""
    assert parse(text).operations == (DeleteFile("a"),)


def test_padded_markers_of_an_update():
    """White space is tolerated before a move and before the first @@ too."""
    (update,) = operations(" *** Update File: a", "  *** Move to: b", "  @@ x", "-1", "+2")
    assert update == UpdateFile("a", "b", (Hunk(("x",), (Edit("-", "1"), Edit("+", "2")), line=4),))


def test_a_marker_behind_a_space_is_a_line_of_the_hunk():
    """Inside a hunk the leading space says that a line is kept, whatever follows."""
    (hunk,) = hunks(" *** Delete File: b", " @@", "-*** End Patch", "+*** Begin Patch")
    assert hunk.old == ["*** Delete File: b", "@@", "*** End Patch"]


def test_an_empty_line_in_a_hunk_is_an_empty_kept_line():
    """Models drop the space of an empty context line."""
    (hunk,) = hunks(" a", "", "-b")
    assert hunk.edits == (Edit(" ", "a"), Edit(" ", ""), Edit("-", "b"))


def test_blank_lines_before_a_hunk_only_separate():
    """Between a file's name and its first hunk a blank line means nothing."""
    assert [hunk.old for hunk in hunks("", "@@", "-b")] == [["b"]]
    assert [hunk.old for hunk in hunks("-b", "*** End of File", "", "@@", "-c")] == [["b"], ["c"]]


def test_a_blank_line_after_an_insertion_only_separates():
    """It must not become the place that the insertion is looked for at."""
    assert [hunk.edits for hunk in hunks("@@ f", "+x", "", "")] == [(Edit("+", "x"),)]


def test_crlf_in_the_patch_is_not_part_of_its_lines():
    """A patch sent with CRLF has the same lines as one without."""
    text = patch("*** Update File: a", "@@ f", " x", "-y", "+z", "*** End of File")
    assert parse(text.replace("\n", "\r\n")) == parse(text)


ERRORS = [
    ("", 1, "nothing", "'*** Begin Patch'"),
    ("hello", 1, "'hello'", "'*** Begin Patch'"),
    ("\n\nhello\n", 3, "'hello'", "'*** Begin Patch'"),
    ("*** Begin Patch\n*** Delete File: a\n", 2, "the end", "'*** End Patch'"),
    (patch("*** Delete File: a") + "words", 4, "'words'", "nothing after"),
    (patch(), 2, "'*** End Patch'", "at least one of"),
    (patch("*** Rename File: a"), 2, "'*** Rename File: a'", "'*** Add File: PATH'"),
    (patch("*** Add File:"), 2, "'*** Add File:'", "'*** Add File: PATH'"),
    (patch("*** Add File: a\0b"), 2, "x00", "'*** Add File: PATH'"),
    (patch("*** Add File: a", "text"), 3, "'text'", "'*** Add File: PATH'"),
    (patch("*** Add File: a", "+x", "", "+y"), 5, "'+y'", "written '+'"),
    (patch("*** Delete File: a", "-x"), 3, "'-x'", "'*** Add File: PATH'"),
    (patch("*** Update File: a"), 3, "no change to 'a'", "'*** Move to: PATH'"),
    (patch("*** Update File: a", "x = 1"), 3, "'x = 1'", "a hunk line"),
    (patch("*** Update File: a", " x", "y"), 4, "'y'", "a hunk line"),
    (patch("*** Update File: a", "@@"), 4, "'*** End Patch'", "a hunk line"),
    (patch("*** Update File: a", "@@", "*** End of File"), 4, "'*** End of File'", "a hunk line"),
    (patch("*** Update File: a", "@@f", "-x"), 3, "'@@f'", "'@@ LINE OF THE FILE'"),
    (patch("*** Update File: a", "@@ -1,2 +1,2 @@", "-x"), 3, "-1,2", "not a number"),
    (patch("*** Update File: a", "-x", "*** End of File", "-y"), 5, "'-y'", "'@@'"),
    (patch("*** Update File: a", "-x", "*** Foo"), 4, "'*** Foo'", "'*** Delete File: PATH'"),
    (patch("*** Delete File: a", "*** Move to: b"), 3, "Move to", "'*** Add File: PATH'"),
    (patch("*** Add File: a", "+\ud800"), 3, r"'\ud800'", "UTF-8"),
    (patch("*** Update File: a", "x" * 500), 3, "x…'", "a hunk line"),
]


@pytest.mark.parametrize(("text", "line", "found", "allowed"), ERRORS)
def test_a_mistake_is_named_with_its_line(text, line, found, allowed):
    """An error says where, what was found and what is allowed there."""
    with pytest.raises(PatchError) as error:
        parse(text)
    message = str(error.value)
    assert message.startswith(f"patch line {line}: found ")
    before, _, after = message.partition("; allowed: ")
    assert found in before
    assert allowed in after
    assert len(message) < 600


def test_a_patch_error_is_a_bad_request():
    """The caller corrects the patch and tries again."""
    assert issubclass(PatchError, BadRequest)
