"""Acting through held directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairlead.protect import held


def test_no_part_of_a_path_may_be_a_link(ground: Path, root: Path) -> None:
    """However deep it is."""
    (root / "a").mkdir()
    (ground / "link").symlink_to(root)
    with held.directory(f"{root}/a"):
        pass
    with pytest.raises(OSError), held.directory(f"{ground}/link/a"):
        pass


def test_renaming_into_a_free_name_only(root: Path) -> None:
    """Also where the file system can't do both at once."""
    (root / "a").touch()
    (root / "b").touch()
    with held.directory(str(root)) as fd:
        with pytest.raises(FileExistsError):
            held.rename_into_free("a", fd, "b", fd)
        held.rename_into_free("a", fd, "c", fd)
    assert sorted(os.listdir(root)) == ["b", "c"]


@pytest.mark.parametrize("machine", [None, "a machine without a number"])
def test_two_names_exchange(
    machine: str | None, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one step, or in three where that is not offered."""
    if machine is not None:
        monkeypatch.setattr(held, "_RENAMEAT2", {})
    (root / "a").write_text("1")
    (root / "b").write_text("2")
    with held.directory(str(root)) as fd:
        held.exchange("a", "b", fd)
        if machine is not None:
            with pytest.raises(FileExistsError):
                held.rename_into_free("a", fd, "b", fd)
    assert [(root / name).read_text() for name in "ab"] == ["2", "1"]


def test_a_copy_has_bounds_and_leaves_out_what_is_no_file(root: Path) -> None:
    """Sockets, pipes and devices have no content to keep."""
    (root / "from/a").mkdir(parents=True)
    (root / "from/a/file").write_bytes(b"1234")
    os.mkfifo(root / "from/pipe")
    with held.directory(str(root)) as fd:
        held.Copier().copy("from", fd, "to", fd)
        with pytest.raises(held.TooMuch):
            held.Copier(most_bytes=3).copy("from", fd, "less", fd)
        with pytest.raises(held.TooMuch):
            held.Copier(most_entries=2).copy("from", fd, "fewer", fd)
    assert (root / "to/a/file").read_bytes() == b"1234"
    assert not (root / "to/pipe").exists()


def test_a_whole_tree_goes_and_links_are_not_followed(root: Path, ground: Path) -> None:
    """Nor do closed directories keep anything."""
    (ground / "other").mkdir()
    (ground / "other/x").touch()
    (root / "t/u").mkdir(parents=True)
    (root / "t/link").symlink_to(ground / "other")
    (root / "t/u").chmod(0)
    with held.directory(str(root)) as fd:
        held.remove("t", fd)
        held.remove("never was", fd)
    assert os.listdir(root) == []
    assert (ground / "other/x").exists()
