"""Which sockets in the file system somebody listens on, as the kernel's own table tells it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fairlead.sandbox import sockets
from fairlead.sandbox.sockets import foreign_sockets


@pytest.fixture
def place() -> Iterator[Path]:
    """Short: a socket's path has at most 107 bytes."""
    with TemporaryDirectory(prefix="s") as name:
        yield Path(os.path.realpath(name))


@pytest.fixture
def always() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def bound(always: ExitStack, path: Path, kind: int = socket.SOCK_STREAM) -> socket.socket:
    made = always.enter_context(socket.socket(socket.AF_UNIX, kind))
    made.bind(os.fspath(path))
    return made


def test_what_is_bound_is_found(place: Path, always: ExitStack) -> None:
    """Of every kind, with or without `listen`, also where the name has spaces or is no text."""
    bound(always, place / "listening").listen()
    bound(always, place / "datagram", socket.SOCK_DGRAM)
    bound(always, place / "a name with  spaces ")
    bound(always, place / os.fsdecode(b"not \xff text"))
    found = [one for one in foreign_sockets(()) if one.startswith(f"{place}/")]
    assert found == sorted(os.fspath(one) for one in place.iterdir())
    assert len(found) == 4


def test_what_is_gone_is_not_found(place: Path, always: ExitStack) -> None:
    """A name that was removed leads nowhere, whoever still listens; one that nobody holds open is
    only a file."""
    bound(always, place / "removed").listen()
    (place / "removed").unlink()
    bound(always, place / "replaced").listen()
    (place / "replaced").unlink()
    (place / "replaced").write_text("a file")
    with socket.socket(socket.AF_UNIX) as closed:
        closed.bind(os.fspath(place / "closed"))
    assert not [one for one in foreign_sockets(()) if one.startswith(f"{place}/")]


def test_tolerated_directories(place: Path, always: ExitStack) -> None:
    """What lies below them is left out, and nothing that only begins alike."""
    for name in ("own", "other"):
        (place / name).mkdir()
        bound(always, place / name / "s").listen()
    found = foreign_sockets((os.fspath(place / "own"),))
    assert os.fspath(place / "other/s") in found
    assert os.fspath(place / "own/s") not in found


def test_a_name_that_begins_alike_is_not_tolerated(place: Path, always: ExitStack) -> None:
    """A directory beside it is somebody else's."""
    for name in ("own", "owner"):
        (place / name).mkdir()
        bound(always, place / name / "s").listen()
    assert os.fspath(place / "owner/s") in foreign_sockets((os.fspath(place / "own"),))


def test_a_path_by_way_of_a_link_is_where_it_leads(place: Path, always: ExitStack) -> None:
    """The table has the words that it was bound by."""
    (place / "real").mkdir()
    (place / "link").symlink_to("real")
    bound(always, place / "link/s").listen()
    assert os.fspath(place / "real/s") in foreign_sockets(())


def test_without_a_table_there_is_nothing_to_find(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where /proc is hidden from us: no sockets, and no error."""
    monkeypatch.setattr(sockets, "_TABLE", "/no/such/table")
    assert foreign_sockets(()) == []


BINDS = """
import os, socket, sys
os.chdir(sys.argv[1])
made = socket.socket(socket.AF_UNIX)
made.bind("relative")
made.listen()
print("bound", flush=True)
sys.stdin.read()
"""


def test_a_relative_name_is_found_where_its_program_is(place: Path) -> None:
    """The table has it as it was said; it is looked for where programs are at work."""
    (place / "there").mkdir()
    argv = [sys.executable, "-c", BINDS, os.fspath(place / "there")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"bound\n"
        assert os.fspath(place / "there/relative") in foreign_sockets(())
        program.communicate()
    assert os.fspath(place / "there/relative") not in foreign_sockets(())


def test_an_abstract_name_is_in_no_file_system(always: ExitStack) -> None:
    """Nothing can cover it; a network namespace or a Landlock scope keeps commands away."""
    made = always.enter_context(socket.socket(socket.AF_UNIX))
    made.bind(f"\0fairlead-test-{os.getpid()}")
    assert not [one for one in foreign_sockets(()) if "fairlead-test-" in one]
