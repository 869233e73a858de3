"""Whatever fails or is changed on the way, all is put back and nothing of anybody is lost."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest

from fairlead.patch.commit import CommitFailed, commit
from fairlead.patch.grammar import PatchError
from tests.patch.tree import (
    EVERYTHING,
    FAILED,
    UPDATE_A,
    checked,
    faults,
    interloper,
    patched,
    refusing,
    snapshot,
)


def rewrite(work: Path) -> None:
    (work / "a.txt").write_text("other\n")


def same_size_and_time(work: Path) -> None:
    found = (work / "a.txt").stat()
    (work / "a.txt").write_text("one\ntwO\n")
    os.utime(work / "a.txt", ns=(found.st_atime_ns, found.st_mtime_ns))


def replace_file(work: Path) -> None:
    (work / "other").write_text("one\ntwo\n")
    (work / "other").rename(work / "a.txt")


def become_directory(work: Path) -> None:
    (work / "a.txt").unlink()
    (work / "a.txt").mkdir()


def become_link(work: Path) -> None:
    (work / "a.txt").rename(work / "sub/a.txt")
    (work / "a.txt").symlink_to("sub/a.txt")


def become_fifo(work: Path) -> None:
    (work / "a.txt").unlink()
    os.mkfifo(work / "a.txt")


def vanish(work: Path) -> None:
    (work / "a.txt").unlink()


def appear(work: Path) -> None:
    (work / "new").mkdir()
    (work / "new/c.txt").write_text("theirs\n")


def replace_directory(work: Path) -> None:
    (work / "sub").rename(work / "old")
    (work / "sub").mkdir()
    os.link(work / "old/c.txt", work / "sub/c.txt")


def link_directory(work: Path) -> None:
    (work / "sub").rename(work / "old")
    (work / "sub").symlink_to("old")


def remove_directory(work: Path) -> None:
    (work / "sub").rename(work / "old")


def link_new_directory(work: Path) -> None:
    (work / "old").mkdir()
    (work / "new").symlink_to("old")


CHANGES = [
    rewrite, same_size_and_time, replace_file, become_directory, become_link, become_fifo, vanish,
    appear, replace_directory, link_directory, remove_directory, link_new_directory,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_after_verification_is_refused(work, change):
    """Whatever is different when the patch is written, nothing of it is written."""
    verified = checked(work, *EVERYTHING)
    change(work)
    before = snapshot(work)
    with pytest.raises(PatchError, match=FAILED + ".*(changed after|replaced|made by somebody)"):
        commit(verified)
    assert snapshot(work) == before


@pytest.mark.parametrize("change", [rewrite, replace_file, become_directory, become_link, vanish])
def test_a_change_at_the_last_moment_is_put_back(work, change):
    """What is swapped in just before the original is taken away comes back, and nothing else."""
    verified = checked(work, *EVERYTHING)
    with (
        interloper("os.rename", "a.txt", lambda: change(work)),
        pytest.raises((PatchError, CommitFailed)),
    ):
        commit(verified)
    expected = work.parent / "expected"
    (expected / "sub").mkdir(parents=True)
    (expected / "a.txt").write_text("one\ntwo\n")
    (expected / "b.txt").write_text("three\n")
    (expected / "sub/c.txt").write_text("four\n")
    change(expected)
    assert snapshot(work, content_only=True) == snapshot(expected, content_only=True)


@pytest.mark.parametrize("theirs", ["file", "directory"])
def test_neither_file_is_lost_when_a_name_is_taken(work, theirs):
    """If somebody takes the name while the original is aside, both are kept and named."""

    def take() -> None:
        if theirs == "file":
            (work / "a.txt").write_text("theirs\n")
        else:
            (work / "a.txt").mkdir()

    verified = checked(work, *EVERYTHING)
    with (
        interloper("os.link", "a.txt", take),
        pytest.raises(CommitFailed, match=r"not all could be put back: .* the original is saved-"),
    ):
        commit(verified)
    (saved,) = work.glob("saved-*")
    assert saved.read_text() == "one\ntwo\n"
    assert (work / "a.txt").is_dir() == (theirs == "directory")
    saved.unlink()
    left = snapshot(work, content_only=True)
    left.pop("a.txt")
    assert left == {"b.txt": b"three\n", "sub": None, "sub/c.txt": b"four\n"}


@pytest.mark.parametrize("failure", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_a_failure_at_any_step_is_put_back(tmp_path, failure):
    """Wherever a step fails or is interrupted, all is as before or all is done."""
    done = None
    for number in range(1000):
        work = tmp_path / str(number)
        (work / "sub").mkdir(parents=True)
        (work / "a.txt").write_text("one\ntwo\n")
        (work / "b.txt").write_text("three\n")
        (work / "sub/c.txt").write_text("four\n")
        (work / "dangling").symlink_to("nothing")
        verified = checked(work, *EVERYTHING, "*** Delete File: dangling")
        before = snapshot(work)
        with faults(number, failure) as fired:
            try:
                commit(verified)
            except (CommitFailed, KeyboardInterrupt) as error:
                raised: BaseException | None = error
            else:
                raised = None
        after = snapshot(work)
        if not fired:
            break
        if isinstance(raised, CommitFailed):
            assert "nothing was changed" in str(raised)
            assert after == before
        elif after != before:
            assert raised is None or isinstance(raised, KeyboardInterrupt)
            done = done or snapshot(work, content_only=True)
            assert snapshot(work, content_only=True) == done
    assert number > 40
    assert snapshot(work, content_only=True)["a.txt"] == b"ONE\ntwo\n"


def test_a_full_disk_changes_nothing(work):
    """When a later file can't be written, the earlier ones and new directories are gone again."""
    lines = ["+" + "x" * 99] * 1000
    verified = checked(work, *EVERYTHING, "*** Add File: big/one", *lines)
    before = snapshot(work)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(CommitFailed, match=r"nothing was changed: big/one: File too large"):
            commit(verified)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert snapshot(work) == before


def test_a_name_too_long_changes_nothing(work):
    """A name that the file system refuses is found out at the end, and everything is put back."""
    name = "n" * 256
    verified = checked(work, *EVERYTHING, f"*** Add File: fresh/{name}", "+x")
    before = snapshot(work)
    with pytest.raises(CommitFailed, match=r"nothing was changed: fresh/n+: File name too long"):
        commit(verified)
    assert snapshot(work) == before


def test_too_few_descriptors_change_nothing(work):
    """Running out of descriptors on the way is a failure like any other."""
    adds = [part for n in range(200) for part in (f"*** Add File: d{n}/x", "+x")]
    verified = checked(work, *UPDATE_A, *adds)
    before = snapshot(work)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, limits[1]))
    try:
        with pytest.raises(CommitFailed, match=r"nothing was changed: .*Too many open files"):
            commit(verified)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert snapshot(work) == before


def test_no_descriptor_is_left_open(work):
    """Verifying and committing, well or badly, leaves no descriptor behind."""
    before = len(os.listdir("/proc/self/fd"))
    patched(work, *EVERYTHING)
    with pytest.raises(PatchError):
        patched(work, *EVERYTHING)
    verified = checked(work, "*** Delete File: a.txt")
    vanish(work)
    with pytest.raises(PatchError):
        commit(verified)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_system_without_hard_links(work):
    """Where files can't have two names, patches are written by renaming alone."""
    with refusing("os.link", OSError(errno.EPERM, "Operation not permitted")):
        patched(work, *EVERYTHING)
    assert (work / "a.txt").read_text() == "ONE\ntwo\n"
    assert (work / "new/c.txt").read_text() == "FOUR\n"


def test_a_taken_name_without_hard_links(work):
    """There too a file that somebody makes at the last moment is not overwritten."""
    verified = checked(work, "*** Add File: n", "+x")

    def take() -> None:
        (work / "n").write_text("theirs\n")
        raise OSError(errno.EPERM, "Operation not permitted")

    with (
        interloper("os.link", "n", take),
        pytest.raises(PatchError, match="n was made by somebody else"),
    ):
        commit(verified)
    assert (work / "n").read_text() == "theirs\n"


def test_originals_that_stay_are_named(work):
    """If the originals can't be removed after all is written, the error says what is left."""
    with (
        refusing("os.remove", OSError(errno.EIO, "Input/output error")),
        pytest.raises(CommitFailed, match=r"wrote everything but left \.fairlead-\w+ \(Input"),
    ):
        patched(work, "*** Delete File: a.txt")
    assert not (work / "a.txt").exists()
