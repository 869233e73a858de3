"""Patches on real files: checked first, then written whole or not at all."""

from __future__ import annotations

import os
import resource
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path

import pytest

from fairlead.patch.commit import verify
from fairlead.patch.files import MAX_FILE_BYTES
from fairlead.patch.grammar import PatchError, parse
from tests.patch.tree import EVERYTHING, FAILED, UPDATE_A, UPDATE_B, checked, patched, snapshot


def test_everything_at_once(work):
    """Adds, deletes, updates and moves happen together and are listed in the patch's order."""
    summary = patched(work, *EVERYTHING)
    assert summary.text == (
        "Success. Updated the following files:\nM a.txt\nA new/deep/d.txt\nD b.txt\nM new/c.txt\n"
    )
    assert snapshot(work, content_only=True) == {
        "a.txt": b"ONE\ntwo\n",
        "sub": None,
        "new": None,
        "new/deep": None,
        "new/deep/d.txt": b"d\n",
        "new/c.txt": b"FOUR\n",
    }


def test_verify_writes_nothing(work):
    """Verification computes every new content and real path, and leaves the disk alone."""
    before = snapshot(work)
    verified = checked(work, *EVERYTHING)
    assert snapshot(work) == before
    names = ["a.txt", "new/deep/d.txt", "b.txt", "sub/c.txt", "new/c.txt"]
    assert verified.paths == tuple(work / name for name in names)
    first = verified.changes[0]
    assert (first.old_content, first.content) == (b"one\ntwo\n", b"ONE\ntwo\n")


def test_an_empty_file_and_a_mere_move(work):
    """A file can be added empty and moved unchanged."""
    patched(work, "*** Add File: e", "*** Update File: a.txt", "*** Move to: z.txt")
    assert (work / "e").read_bytes() == b""
    assert (work / "z.txt").read_text() == "one\ntwo\n"
    assert not (work / "a.txt").exists()


def test_mode_and_owner_stay(work):
    """An updated or moved file keeps mode and owner; only the rights to become another go."""
    (work / "a.txt").chmod(0o4751)
    (work / "b.txt").chmod(0o600)
    owner = (work / "a.txt").stat().st_uid
    patched(work, *UPDATE_A, "*** Update File: b.txt", "*** Move to: m", "-three", "+3")
    assert stat.S_IMODE((work / "a.txt").stat().st_mode) == 0o751
    assert stat.S_IMODE((work / "m").stat().st_mode) == 0o600
    assert (work / "a.txt").stat().st_uid == owner


def attributes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


def test_attributes_stay(work):
    """Extended attributes of an updated file are kept, where the file system has any."""
    with suppress(OSError):
        os.setxattr(work / "a.txt", "user.origin", b"somewhere")
    before = attributes(work / "a.txt")
    patched(work, *UPDATE_A)
    assert attributes(work / "a.txt") == before


def test_a_new_file_follows_the_umask(work):
    """New files and directories get the rights that any program would give them."""
    before = os.umask(0o027)
    try:
        patched(work, "*** Add File: n/x", "+x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((work / "n/x").stat().st_mode) == 0o640
    assert stat.S_IMODE((work / "n").stat().st_mode) == 0o750


def test_a_hard_link_elsewhere_is_not_written_through(work, tmp_path):
    """Another name of an updated file, outside the root, keeps the old content."""
    os.link(work / "a.txt", tmp_path / "other")
    patched(work, *UPDATE_A)
    assert (tmp_path / "other").read_text() == "one\ntwo\n"


def test_bytes_and_line_ends_on_disk(work):
    """Invalid UTF-8, CRLF and a missing final newline come through verify and commit."""
    (work / "a.txt").write_bytes(b"\xff\r\none\r\ntwo")
    patched(work, *UPDATE_A)
    assert (work / "a.txt").read_bytes() == b"\xff\r\nONE\r\ntwo"


def test_odd_names(work):
    """Names with spaces, other scripts and bytes that are no text are only names."""
    name = "sub/gr\u00fc\u00df \udcff.txt"
    patched(work, f"*** Add File: {name}", "+x")
    assert (os.fsencode(work) + b"/sub/gr\xc3\xbc\xc3\x9f \xff.txt") in {
        os.path.join(os.fsencode(work), b"sub", each)
        for each in os.listdir(os.fsencode(work / "sub"))
    }


def test_a_big_file_is_quick(work):
    """Ten megabytes are verified and committed in well under a second of work."""
    rows = "".join(f"line {number} of a file that is rather long\n" for number in range(250_000))
    (work / "big").write_text(f"{rows}last\n")
    start = time.process_time()
    patched(work, "*** Update File: big", "-last", "+LAST")
    assert time.process_time() - start < 1
    assert (work / "big").read_text() == f"{rows}LAST\n"


def test_a_patch_of_many_files(work):
    """More files than a process may open at once can be patched together."""
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 256), hard))
    try:
        patched(work, *(part for n in range(400) for part in (f"*** Add File: n{n}", f"+{n}")))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    assert (work / "n399").read_text() == "399\n"


MISFITS = [
    (["*** Update File: none", "-x"], "none does not exist, so it can't be updated"),
    (["*** Delete File: none"], "none does not exist, so it can't be deleted"),
    (["*** Delete File: none/x"], "none/x does not exist, so it can't be deleted"),
    (["*** Add File: a.txt", "+x"], r"a\.txt exists already; use \*\*\* Update File"),
    (["*** Add File: sub", "+x"], "sub is a directory, not a file"),
    (["*** Update File: sub", "-x"], "sub is a directory, not a file"),
    (["*** Delete File: sub"], "sub is a directory, not a file"),
    (["*** Add File: sub/", "+x"], "sub/ names a directory"),
    (["*** Add File: sub/..", "+x"], r"sub/\.\. names a directory"),
    (["*** Add File: a.txt/x", "+x"], "a.txt/x: a part of its path is a link or not a directory"),
    (["*** Delete File: a.txt/x"], "a.txt/x: a part of its path is a link or not a directory"),
    (["*** Update File: a.txt", "*** Move to: b.txt"], r"b\.txt exists already; a\.txt can't"),
    (["*** Update File: a.txt", "*** Move to: sub"], "sub is a directory, not a file"),
    (["*** Update File: a.txt", "-zzz"], r"a\.txt: hunk 1 .*not found"),
    (["*** Add File: " + "d/" * 70 + "x", "+x"], "d/.*/x needs more than 64 new directories"),
    (["*** Delete File: fifo"], "fifo is not a regular file"),
    (["*** Update File: fifo", "-x"], "fifo is not a regular file"),
    (["*** Update File: socket", "-x"], "socket is not a regular file"),
    (["*** Update File: loop", "-x"], "loop"),
    (["*** Update File: dangling", "-x"], "dangling does not exist"),
    (["*** Add File: dangling", "+x"], "dangling exists already"),
    (["*** Update File: huge", "-x"], "huge is larger than 256 MiB"),
    (["*** Update File: link", "*** Move to: n"], r"link is a symbolic link; move .*a\.txt itself"),
]


@pytest.mark.parametrize(("lines", "message"), MISFITS)
def test_what_does_not_fit_is_refused(work, lines, message):
    """A patch that does not fit the disk is refused with a reason, and changes nothing."""
    os.mkfifo(work / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/cwd/{os.path.relpath(work)}/socket")
    (work / "loop").symlink_to("loop")
    (work / "dangling").symlink_to("nothing")
    (work / "link").symlink_to("a.txt")
    with (work / "huge").open("wb") as huge:
        huge.truncate(MAX_FILE_BYTES + 1)
    before = snapshot(work, lazy=True)
    with pytest.raises(PatchError, match=FAILED + message):
        patched(work, *UPDATE_B, *lines)
    assert snapshot(work, lazy=True) == before


TWICE = [
    ["*** Update File: a.txt", "-one", "*** Update File: a.txt", "-two"],
    ["*** Update File: a.txt", "-one", "*** Delete File: ./sub/../a.txt"],
    ["*** Delete File: a.txt", "*** Add File: a.txt", "+x"],
    ["*** Add File: n", "+x", "*** Add File: sub//../n", "+y"],
    ["*** Update File: a.txt", "-one", "*** Update File: link", "-two"],
    ["*** Delete File: link", "*** Delete File: a.txt"],
    ["*** Update File: a.txt", "-one", "*** Update File: hard", "-two"],
    ["*** Add File: s/n", "+x", "*** Add File: sub/n", "+x"],
    ["*** Update File: a.txt", "*** Move to: n", "*** Add File: n", "+x"],
    ["*** Update File: a.txt", "*** Move to: n", "*** Update File: b.txt", "*** Move to: ./n"],
    ["*** Update File: a.txt", "*** Move to: b.txt", "*** Delete File: b.txt"],
    ["*** Delete File: b.txt", "*** Update File: a.txt", "*** Move to: b.txt"],
    ["*** Update File: a.txt", "*** Move to: a.txt"],
    ["*** Add File: n", "+x", "*** Add File: n/m", "+x"],
]


@pytest.mark.parametrize("lines", TWICE)
def test_nothing_is_named_twice(work, lines):
    """Two operations on one file are refused, whichever way the patch spells it."""
    (work / "link").symlink_to("a.txt")
    (work / "s").symlink_to("sub")
    os.link(work / "a.txt", work / "hard")
    before = snapshot(work)
    with pytest.raises(PatchError, match=rf"{FAILED}(multiple operations target|.*b\.txt exists)"):
        patched(work, *lines)
    assert snapshot(work) == before


def test_a_working_directory_that_is_not_there(work):
    """The directory to start from has to exist: it is not made."""
    with pytest.raises(PatchError, match=r"working directory .*gone does not exist"):
        verify(parse("*** Begin Patch\n*** Add File: a\n*** End Patch"), work / "gone", None)
