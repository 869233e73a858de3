"""Moving away and putting back, whatever happens half-way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from fairlead.model.errors import BadRequest, Rejected
from fairlead.protect import aside, held
from fairlead.protect.aside import NEUTRAL, Store, list_aside, put_back, recover
from tests.protect.conftest import again_and_again

OTHER_FILE_SYSTEM = "/dev/shm"
RACES, MOVES = 1000, 50  # the name is there for a part of the time only


@pytest.fixture(params=["here", "elsewhere"])
def anywhere(request: pytest.FixtureRequest, ground: Path) -> Iterator[Path]:
    """A state directory on the same file system, and on another one."""
    if request.param == "here":
        yield ground / "state"
        return
    path = Path(tempfile.mkdtemp(dir=OTHER_FILE_SYSTEM))
    assert path.stat().st_dev != ground.stat().st_dev
    yield path
    shutil.rmtree(path)


def tree(top: Path) -> dict[str, bytes | str | None]:
    """Everything below a directory: what files say, where links lead."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def make_file(path: Path) -> None:
    path.write_text("said")
    path.chmod(0o751)


def make_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def make_tree(path: Path) -> None:
    (path / "a/b").mkdir(parents=True)
    (path / "a/b/c").write_bytes(b"\0" * 5000)
    (path / "a/link").symlink_to("nowhere")


def make_closed_tree(path: Path) -> None:
    make_tree(path)
    path.chmod(0o555)


KINDS = [make_file, make_link, make_tree, make_closed_tree]


@pytest.mark.parametrize("make", KINDS)
def test_there_and_back(make: Callable[[Path], None], anywhere: Path, root: Path) -> None:
    """Nothing is left in its place, a person sees what it was, and it comes back as it was."""
    make(root / "name")
    before, mode = tree(root), (root / "name").lstat().st_mode
    kept = Store(anywhere).move(str(root / "name"), "why")
    assert kept is not None
    assert os.path.lexists(kept)
    assert tree(root) == {}
    (one,) = list_aside(anywhere)
    assert (one.path, one.because, one.content) == (str(root / "name"), "why", kept)
    assert put_back(anywhere, one.id) == str(root / "name")
    assert tree(root) == before
    assert (root / "name").lstat().st_mode == mode
    assert list_aside(anywhere) == ()
    assert not list((anywhere / "aside").iterdir())


def test_nothing_is_there(state: Path, root: Path) -> None:
    """None, and no trace."""
    assert Store(state).move(str(root / "name"), "why") is None
    assert Store(state).replace(str(root / "name"), b"", "why") is None
    assert not state.exists()


def test_another_content_in_its_place(anywhere: Path, root: Path) -> None:
    """At no moment is the file missing; its rights stay; a person can have the first one back."""
    make_file(root / "config")
    Store(anywhere).replace(str(root / "config"), b"clean", "why")
    assert (root / "config").read_bytes() == b"clean"
    assert (root / "config").stat().st_mode & 0o777 == 0o751
    assert [path.name for path in root.iterdir()] == ["config"]
    (one,) = list_aside(anywhere)
    put_back(anywhere, one.id)
    assert (root / "config").read_text() == "said"
    assert [path.name for path in root.iterdir()] == ["config"]


@pytest.mark.parametrize("replaced", [False, True])
def test_something_else_is_there_now(replaced: bool, anywhere: Path, root: Path) -> None:
    """It is never overwritten; what is aside stays there."""
    make_file(root / "name")
    store = Store(anywhere)
    if replaced:
        store.replace(str(root / "name"), b"clean", "why")
    else:
        store.move(str(root / "name"), "why")
    (root / "name").write_text("a person's")
    (one,) = list_aside(anywhere)
    with pytest.raises(Rejected, match="something else is there now"):
        put_back(anywhere, one.id)
    assert tree(root) == {"name": b"a person's"}
    assert Path(one.content).read_text() == "said"
    (root / "name").unlink()
    put_back(anywhere, one.id)
    assert tree(root) == {"name": b"said"}


def test_its_directory_is_gone(state: Path, root: Path) -> None:
    """One sentence; it stays aside."""
    make_file(root / "name")
    Store(state).move(str(root / "name"), "why")
    root.rmdir()
    (one,) = list_aside(state)
    with pytest.raises(Rejected, match="can't be put back: No such file"):
        put_back(state, one.id)
    assert Path(one.content).read_text() == "said"


@pytest.mark.parametrize("untrusted", ["", ".", "..", "../x", "/etc", "no-such", "x.part"])
def test_ids_that_nobody_gave(untrusted: str, state: Path) -> None:
    """They name nothing outside, and are refused."""
    (state / "aside/x.part").mkdir(parents=True)
    with pytest.raises(BadRequest):
        put_back(state, untrusted)


def test_a_directory_swapped_for_a_link_is_not_followed(
    state: Path, root: Path, ground: Path
) -> None:
    """What lies where the link leads is somebody else's."""
    (ground / "other").mkdir()
    make_file(ground / "other/name")
    (root / "below").symlink_to(ground / "other")
    with pytest.raises(OSError):
        Store(state).move(str(root / "below/name"), "why")
    assert (ground / "other/name").exists()


def test_no_place_to_keep_it(root: Path, ground: Path) -> None:
    """It loses its name all the same."""
    make_file(root / "name")
    (ground / "file").write_text("")
    kept = Store(ground / "file").move(str(root / "name"), "why")
    assert kept is not None
    assert Path(kept).parent == root
    assert Path(kept).name.startswith(NEUTRAL)
    assert not (root / "name").exists()


def test_too_much_to_copy_stays_without_its_name(
    anywhere: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes back from there."""
    monkeypatch.setattr(held.Copier.__init__, "__defaults__", (1000, 10))
    make_tree(root / "name")
    before = tree(root)
    kept = Store(anywhere).move(str(root / "name"), "why")
    assert kept is not None
    assert Path(kept).exists()
    assert not (root / "name").exists()
    recover(anywhere)
    (one,) = list_aside(anywhere)
    assert one.content == kept
    put_back(anywhere, one.id)
    assert tree(root) == before


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_file_that_has_another_name_comes_back_alone(
    kind: str, anywhere: Path, root: Path
) -> None:
    """Whoever kept the other name can't change what a person looked at and put back."""
    path = root / "name" if kind == "file" else root / "name/file"
    path.parent.mkdir(exist_ok=True)
    path.write_text("looked at")
    os.link(path, root / "other")
    Store(anywhere).move(str(root / "name"), "why")
    (one,) = list_aside(anywhere)
    put_back(anywhere, one.id)
    (root / "other").write_text("changed")
    assert path.read_text() == "looked at"
    assert list_aside(anywhere) == ()


def test_older_ones_of_one_path_go(state: Path, root: Path) -> None:
    """A command that makes the same name in a loop fills no disk."""
    store = Store(state)
    for number in range(aside.MOST_OF_ONE_PATH + 5):
        (root / "name").write_text(str(number))
        store.move(str(root / "name"), "why")
    kept = list_aside(state)
    assert len(kept) == aside.MOST_OF_ONE_PATH
    assert {Path(one.content).read_text() for one in kept} >= {str(aside.MOST_OF_ONE_PATH + 4)}


def test_records_that_are_none_are_left_out(state: Path, root: Path) -> None:
    """A list of the others is still a list."""
    make_file(root / "name")
    Store(state).move(str(root / "name"), "why")
    for name, text in (("a", "no json"), ("b", json.dumps({"path": "/x"})), ("c", "[]")):
        (state / "aside" / name).mkdir()
        (state / "aside" / name / "record.json").write_text(text)
    assert [one.path for one in list_aside(state)] == [str(root / "name")]


# --- killed at any moment ------------------------------------------------------------------------


def killed_before(number: int, work: Callable[[], object]) -> bool:
    """Do it in a child that dies before its `number`th act. Whether it was done before that."""
    child = os.fork()
    if child == 0:
        left = number

        def act(event: str, _: object) -> None:
            nonlocal left
            if event == "open" or (event.startswith("os.") and event != "os.kill"):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(act)
            work()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or not status, "the work failed"
    return status == 0


def every_moment(work: Callable[[], object]) -> Iterator[bool]:
    """Killed ever later, until it gets done."""
    for number in range(500):
        done = killed_before(number, work)
        yield done
        if done:
            return
    raise AssertionError("it never got done")


@pytest.mark.parametrize("make", KINDS)
def test_killed_while_moving(
    make: Callable[[Path], None], anywhere: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is where it was or it is aside, whole, and nothing else is left."""
    monkeypatch.setattr(aside, "SURELY_WRITTEN", -1.0)
    make(root / "name")
    before = tree(root)
    moments = 0
    for done in every_moment(lambda: Store(anywhere).move(str(root / "name"), "why")):
        moments += 1
        recover(anywhere)
        for one in list_aside(anywhere):
            assert tree(root) == {}
            put_back(anywhere, one.id)
        assert tree(root) == before, f"moment {moments}, {done=}"
        assert not list((anywhere / "aside").glob("*"))
    assert moments > 5


def test_killed_while_replacing(
    anywhere: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is the one or the other, and no other name is left."""
    monkeypatch.setattr(aside, "SURELY_WRITTEN", -1.0)
    make_file(root / "config")
    path = str(root / "config")
    for _ in every_moment(lambda: Store(anywhere).replace(path, b"clean", "why")):
        recover(anywhere)
        assert [one.name for one in root.iterdir()] == ["config"]
        kept = list_aside(anywhere)
        assert (root / "config").read_text() == ("clean" if kept else "said")
        for one in kept:
            put_back(anywhere, one.id)
        assert tree(root) == {"config": b"said"}


@pytest.mark.parametrize("replaced", [False, True])
def test_killed_while_putting_back(replaced: bool, anywhere: Path, root: Path) -> None:
    """Putting it back once more completes that."""
    make_file(root / "name")
    store = Store(anywhere)

    def away() -> str:
        if replaced:
            store.replace(str(root / "name"), b"clean", "why")
        else:
            store.move(str(root / "name"), "why")
        (one,) = list_aside(anywhere)
        return one.id

    for number in range(500):
        name = away()
        done = killed_before(number, partial(put_back, anywhere, name))
        for one in list_aside(anywhere):
            if (root / "name").exists() and (root / "name").read_text() == "said":
                shutil.rmtree(anywhere / "aside" / one.id)  # it is back; only the record was left
            else:
                put_back(anywhere, one.id)
        assert tree(root) == {"name": b"said"}
        if done:
            return


def test_somebody_still_works_on_it(state: Path, root: Path) -> None:
    """What one process is moving, another does not finish in the middle."""
    make_file(root / "name")
    with held.directory(str(root)) as parent:
        store = Store(state)
        with store._new(str(root / "name"), "why", os.stat(root / "name")) as slot:
            recover(state)
            assert len(list((state / "aside").glob("*.part"))) == 1
            slot.take("name", parent)
    assert len(list_aside(state)) == 1


# --- races ---------------------------------------------------------------------------------------


def test_a_name_that_comes_back_in_a_loop(state: Path, root: Path) -> None:
    """However fast somebody makes and removes it, each move takes it or finds nothing."""
    path = root / "name"

    def make() -> None:
        path.mkdir(exist_ok=True)
        (path / "x").touch()
        shutil.rmtree(path)

    store = Store(state)
    tried = moved = 0
    with again_and_again(make):
        while tried < RACES or moved < MOVES:
            tried += 1
            moved += store.move(str(path), "why") is not None
    for one in list_aside(state):
        assert os.path.lexists(one.content)
    assert not list((state / "aside").glob("*.part"))
    assert [one.name for one in root.iterdir()] in ([], ["name"])
