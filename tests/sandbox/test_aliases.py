"""Other paths to a file, from the kernel's table of mounts."""

from __future__ import annotations

import pytest

from fairlead.sandbox.aliases import Mount, Mounts, parse

TABLE = (
    Mount("8:1", "/", "/"),
    Mount("0:5", "/", "/run"),
    Mount("8:1", "/", "/host"),
    Mount("8:1", "/home/me", "/mnt/me"),
    Mount("8:1", "/srv/data", "/data"),
    Mount("8:2", "/", "/var"),
    Mount("0:5", "/", "/host/run"),
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/home/me/.ssh", ["/host/home/me/.ssh", "/mnt/me/.ssh"]),
        ("/mnt/me/.ssh", ["/home/me/.ssh", "/host/home/me/.ssh"]),
        ("/home/meow/.ssh", ["/host/home/meow/.ssh"]),
        ("/home/me", ["/host/home/me", "/mnt/me"]),
        ("/data/x", ["/srv/data/x", "/host/srv/data/x"]),
        ("/var/lib/x", []),  # mounted once
        ("/run", ["/host/run"]),
        ("/run/docker.sock", ["/host/run/docker.sock"]),
        ("/", ["/host"]),
    ],
)
def test_a_path_is_found_wherever_its_file_system_is_mounted(path: str, found: list[str]) -> None:
    """The whole of it or a part; what a place covers is not what is looked for."""
    assert Mounts(TABLE).others(path) == found


def test_a_covered_place_is_another_file_system() -> None:
    """Of several mounts in one place the last one counts."""
    table = (*TABLE, Mount("0:9", "/", "/home/me"))
    assert Mounts(table).others("/home/me/.ssh") == []


def test_the_table_is_read_as_the_kernel_writes_it() -> None:
    """Spaces in names are octal escapes."""
    line = "36 35 98:0 /mnt1\\040x /mnt\\1342 rw,noatime master:1 - ext3 /dev/root rw\n"
    assert list(parse([line, "nonsense\n"])) == [Mount("98:0", "/mnt1 x", "/mnt\\2")]


def test_only_what_is_there_counts() -> None:
    """A path that may lead to the same file has to do so."""
    twice = Mounts([Mount("8:1", "/", "/"), Mount("8:1", "/", "/no/such/place")])
    assert list(twice.same_files("/etc/passwd")) == []
    doubled = Mounts([Mount("8:1", "/", "/"), Mount("8:1", "/", "/proc/self/root")])
    assert list(doubled.same_files("/etc/passwd")) == ["/proc/self/root/etc/passwd"]
