"""No name leads out of the writable roots, whatever is swapped in while we look."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.model.errors import BadRequest
from fairlead.patch.commit import CommitFailed, verify
from fairlead.patch.files import OutsideRoots
from fairlead.patch.grammar import PatchError, parse
from tests.patch.tree import FAILED, UPDATE_A, checked, interloper, patched, snapshot


@pytest.fixture
def outside(work: Path, tmp_path: Path) -> Path:
    """A directory beside the root, and links in the root that lead there."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("one\n")
    (work / "out").symlink_to(tmp_path / "outside")
    (work / "out_file").symlink_to("../outside/secret")
    (work / "out_new").symlink_to("../outside/new")
    return tmp_path / "outside"


ESCAPES = [
    ["*** Update File: ../outside/secret", "-one"],
    ["*** Update File: {outside}/secret", "-one"],
    ["*** Update File: out/secret", "-one"],
    ["*** Update File: out_file", "-one"],
    ["*** Update File: out_new", "-one"],
    ["*** Delete File: out/secret"],
    ["*** Add File: out/new", "+x"],
    ["*** Add File: out/deep/new", "+x"],
    ["*** Add File: ../new", "+x"],
    ["*** Add File: sub/../../new", "+x"],
    ["*** Add File: ../work2/new", "+x"],
    ["*** Update File: a.txt", "*** Move to: ../outside/a.txt"],
    ["*** Update File: a.txt", "*** Move to: out/a.txt"],
    ["*** Update File: out/secret", "*** Move to: a2.txt"],
]


@pytest.mark.parametrize("lines", ESCAPES)
def test_nothing_leads_out_of_the_roots(work, outside, lines):
    """No spelling and no link leads out of the writable roots, for reading or writing."""
    before = snapshot(work.parent)
    with pytest.raises(OutsideRoots, match="is outside the writable roots") as error:
        patched(work, *(line.format(outside=outside) for line in lines))
    assert isinstance(error.value, BadRequest)
    assert work not in error.value.path.parents
    assert snapshot(work.parent) == before


def test_a_link_out_can_be_deleted_and_nothing_behind_it(work, outside):
    """Deleting a link deletes the link, which lies in the root."""
    patched(work, "*** Delete File: out_file")
    assert not (work / "out_file").is_symlink()
    assert (outside / "secret").read_text() == "one\n"


def test_links_inside_are_followed(work):
    """A link that stays inside the root stays a link, and its target is edited."""
    (work / "link").symlink_to("sub/c.txt")
    (work / "s").symlink_to("sub")
    summary = patched(work, "*** Update File: link", "-four", "+4", "*** Add File: s/n", "+n")
    assert summary.text.endswith("M link\nA s/n\n")
    assert (work / "link").is_symlink()
    assert (work / "s").is_symlink()
    assert (work / "sub/c.txt").read_text() == "4\n"
    assert (work / "sub/n").read_text() == "n\n"


def test_paths_that_land_inside_are_fine(work):
    """Absolute paths and `..` are allowed where they end in a root."""
    patched(work / "sub", "*** Update File: ../a.txt", "-one", roots=(work,))
    patched(work / "sub", f"*** Add File: {work}/n", "+x", roots=(work / "sub", work))
    assert (work / "a.txt").read_text() == "two\n"
    assert (work / "n").exists()


def test_a_root_may_be_reached_by_a_link(work, tmp_path):
    """Roots and working directory are compared as what they really are."""
    (tmp_path / "alias").symlink_to(work)
    patched(tmp_path / "alias", *UPDATE_A, roots=(work,))
    patched(work, "*** Delete File: a.txt", roots=(tmp_path / "alias",))
    assert not (work / "a.txt").exists()


def test_a_link_in_a_root_makes_no_other_root(work, outside):
    """A root inside a root can't be made a link that opens something else."""
    with pytest.raises(OutsideRoots):
        patched(work, "*** Delete File: out/secret", roots=(work, work / "out"))
    assert (outside / "secret").exists()


def test_without_roots_anything_goes(work, outside):
    """With no roots given a link out is followed, and the real file is edited."""
    patched(work, "*** Update File: out_file", "-one", "+1", roots=None)
    assert (outside / "secret").read_text() == "1\n"
    assert (work / "out_file").is_symlink()


def test_no_roots_is_not_any_root(work):
    """An empty list of roots allows nothing."""
    with pytest.raises(OutsideRoots):
        verify(parse("*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"), work, [])


def test_a_device_is_never_opened(work):
    """A device is refused by its kind, also where any path may be written."""
    with pytest.raises(PatchError, match="/dev/null is not a regular file"):
        patched(work, "*** Update File: /dev/null", "-x", roots=None)


def test_a_fifo_swapped_in_does_not_block(work):
    """A fifo that takes a file's place right before it is opened is refused, not waited for."""

    def become_fifo() -> None:
        (work / "a.txt").unlink()
        os.mkfifo(work / "a.txt")

    with (
        interloper("open", "a.txt", become_fifo),
        pytest.raises(PatchError, match=FAILED + r"a\.txt is not a regular file"),
    ):
        checked(work, *UPDATE_A)


def test_a_link_swapped_in_for_a_file_is_not_followed(work, outside):
    """A link that takes a file's place right before it is opened is refused."""

    def become_link() -> None:
        (work / "a.txt").unlink()
        (work / "a.txt").symlink_to(outside / "secret")

    with (
        interloper("open", "a.txt", become_link),
        pytest.raises(PatchError, match=FAILED + r"a\.txt: a part of its path is a link"),
    ):
        checked(work, *UPDATE_A)


def test_a_link_swapped_in_is_not_followed(work, outside):
    """A link that takes a directory's place after its path was resolved is refused."""

    def swap() -> None:
        (work / "sub").rename(work / "old")
        (work / "sub").symlink_to(outside)

    for step in ("*** Delete File: sub/secret", "*** Add File: sub/new"):
        with (
            interloper("open", "work", swap),
            pytest.raises(PatchError, match="a part of its path is a link or not a directory"),
        ):
            checked(work, step)
        (work / "sub").unlink()
        (work / "old").rename(work / "sub")
    assert snapshot(outside, content_only=True) == {"secret": b"one\n"}


SWAPPER = """
import os, sys
real, aside, outside = sys.argv[1:]
print("ready", flush=True)
while os.getppid() == int(os.environ["OWNER"]):
    os.rename(real, aside)
    os.symlink(outside, real)
    os.unlink(real)
    os.rename(aside, real)
"""


@pytest.fixture
def swapper(work: Path, outside: Path):
    """Somebody who makes `sub` a link out of the root and back, as fast as they can."""
    (work / "sub/secret").write_text("")
    argv = [sys.executable, "-c", SWAPPER, str(work / "sub"), str(work / "aside"), str(outside)]
    env = {"OWNER": str(os.getpid())}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        process.kill()


def attempt(work: Path, number: int) -> str:
    try:
        update = ("*** Update File: sub/secret", f"+{number}")
        patched(work, *update, f"*** Add File: sub/n{number}", "+x")
    except (PatchError, CommitFailed) as error:
        return type(error).__name__
    return "done"


def test_a_race_with_a_link_never_leads_out(work, outside, swapper):
    """Hundreds of patches against somebody who swaps a directory for a link leave the outside
    alone, and each of them happens whole or not at all."""
    outcomes = dict.fromkeys(("done", "PatchError", "OutsideRoots"), 0)
    written = []
    while sum(outcomes.values()) < 600 or not all(outcomes.values()):
        number = sum(outcomes.values())
        outcome = attempt(work, number)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        written += [str(number)] if outcome == "done" else []
    swapper.kill()
    swapper.wait()
    assert snapshot(outside, content_only=True) == {"secret": b"one\n"}
    assert not list(work.rglob(".fairlead-*"))
    places = (work / "sub", work / "aside")
    (real,) = (path for path in places if path.is_dir() and not path.is_symlink())
    assert (real / "secret").read_text().split() == written
    assert {path.name for path in real.glob("n*")} == {f"n{number}" for number in written}
