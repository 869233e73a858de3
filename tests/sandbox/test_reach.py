"""What a command without privileges could get to."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fairlead.sandbox.reach import enters, reachable

ME, MY_GROUP, OTHER, OTHER_GROUP = 4201, 4202, 4203, 4204
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories to others")


@as_root
@pytest.mark.parametrize(
    ("mode", "owner", "group", "expected"),
    [
        (0o700, ME, MY_GROUP, True),
        (0o600, ME, MY_GROUP, True),  # the owner may change that
        (0o700, OTHER, MY_GROUP, False),
        (0o710, OTHER, MY_GROUP, True),
        (0o701, OTHER, MY_GROUP, False),  # so does the group's
        (0o701, OTHER, OTHER_GROUP, True),
        (0o710, OTHER, OTHER_GROUP, False),
    ],
)
def test_permissions_are_read_as_the_kernel_does(
    tmp_path: Path, mode: int, owner: int, group: int, expected: bool
) -> None:
    """The group's bit for the group, the last for all others; the owner may change all of them."""
    os.chown(tmp_path, owner, group)
    tmp_path.chmod(mode)
    assert enters(str(tmp_path), ME, {MY_GROUP}) is expected


def test_every_directory_above_counts() -> None:
    """One closed door is enough, but for those who can open it."""
    with TemporaryDirectory(dir="/tmp") as made:
        inner = Path(made) / "a/b/c"
        inner.mkdir(parents=True)
        Path(made).chmod(0o711)
        assert reachable(f"{inner}/x", OTHER, set())
        (Path(made) / "a/b").chmod(0)
        assert not reachable(f"{inner}/x", OTHER, set())
        assert reachable(f"{inner}/x", os.geteuid(), {os.getegid()})
        (Path(made) / "a/b").chmod(0o700)


def test_an_access_list_gets_the_benefit_of_the_doubt(tmp_path: Path) -> None:
    """Somebody that a list names may be us: only what its mask gives to nobody is closed."""
    entries = ((1, 7, -1), (2, 1, OTHER), (4, 0, -1), (0x10, 1, -1), (0x20, 0, -1))
    packed = b"".join(struct.pack("<HHi", *entry) for entry in entries)
    os.setxattr(tmp_path, "system.posix_acl_access", struct.pack("<I", 2) + packed)
    assert enters(str(tmp_path), OTHER, set())
    tmp_path.chmod(0o700)
    assert not enters(str(tmp_path), OTHER, set())


def test_what_can_not_be_looked_at_is_in_doubt(tmp_path: Path) -> None:
    """It may be there again at the next moment."""
    assert enters(str(tmp_path / "missing"), ME, set())
