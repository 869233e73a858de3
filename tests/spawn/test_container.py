"""How a container is made, met, checked and removed, by an engine that does as it is told."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.confine import Container, Identity
from fairlead.model.errors import SandboxFailed
from fairlead.model.frozen import replace
from fairlead.spawn import container, tree
from fairlead.spawn.container import is_orphan, make, new_name, remove, sweep
from fairlead.spawn.container_group import holds
from tests.spawn.running import eventually_sync, is_running, launcher_path
from tests.spawn.scripted_engine import ScriptedEngine, identity


@pytest.fixture
def engine(tmp_path: Path) -> ScriptedEngine:
    return ScriptedEngine(tmp_path / "engine").install()


def made_of(engine: ScriptedEngine) -> Container:
    found = engine.confinement().container
    assert found is not None
    return found


def refusal(engine: ScriptedEngine, spec: Container | None = None) -> str:
    with pytest.raises(SandboxFailed) as told:
        make(spec or made_of(engine), new_name(), launcher_path())
    return str(told.value)


def test_it_is_made_with_our_launcher_and_met(engine: ScriptedEngine) -> None:
    """No image is fetched, what is over goes by itself, and nothing of ours is writable inside."""
    name = new_name()
    control, pid = make(made_of(engine), name, launcher_path())
    assert tree.command_line(pid)[1] == "connect"
    (asked,) = engine.asked("run")
    words = shlex.split(asked)
    assert words[:7] == ["run", "--detach", "--rm", "--pull", "never", "--name", name]
    assert "--some" in words
    mounts = [words[n + 1] for n, word in enumerate(words) if word == "--mount"]
    assert len(mounts) == 2
    assert all(mount.endswith(",readonly") for mount in mounts)
    assert words[-5:] == [
        *("--entrypoint", "/run/.fairlead/launcher", "id"),
        *("connect", "/run/.fairlead/meet/engine"),
    ]
    meeting = mounts[1].split(",")[1].removeprefix("src=")
    assert not os.path.exists(meeting)  # nobody comes a second time
    control.close()


def test_an_engine_that_fails_is_quoted(engine: ScriptedEngine) -> None:
    """One clear sentence, what became of the command, and where to look."""
    engine.fails("run", "a warning\nError: the disk is full.\n")
    assert refusal(engine) == (
        "the container could not be made: the disk is full. The command was not run. `fairlead "
        f"sandbox --explain` says what it was to be; try `{engine.program} info` too"
    )


def test_an_engine_that_is_gone(engine: ScriptedEngine) -> None:
    """Is named, with the reason."""
    os.unlink(engine.program)
    assert f"{engine.program}: No such file or directory. The command was not" in refusal(engine)


def test_nobody_comes(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for the launcher inside has an end."""
    monkeypatch.setattr(container, "CONNECTS_WITHIN", 0.05)
    engine.never_connects()
    assert "the launcher inside did not come up" in refusal(engine)


def test_a_path_that_was_exchanged_is_a_refusal(engine: ScriptedEngine, tmp_path: Path) -> None:
    """What is seen inside has to be what was looked at."""
    shown = (str(tmp_path), Identity(identity(tmp_path).device, 1))
    spec = engine.confinement(shown).container
    assert f"{tmp_path} was replaced while it was made" in refusal(engine, spec)
    fine = engine.confinement((str(tmp_path), identity(tmp_path))).container
    assert fine is not None
    make(fine, new_name(), launcher_path())[0].close()


def test_a_link_on_the_way_is_a_refusal(engine: ScriptedEngine, tmp_path: Path) -> None:
    """The engine follows links; what they lead to now is not what was looked at."""
    (tmp_path / "real/work").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    shown = (f"{tmp_path}/link/work", identity(tmp_path / "real/work"))
    assert "was replaced" in refusal(engine, engine.confinement(shown).container)


def test_a_secret_that_is_not_covered_is_a_refusal(engine: ScriptedEngine, tmp_path: Path) -> None:
    """It is looked for inside, before any command comes in."""
    hidden = (str(tmp_path), identity(tmp_path))
    text = refusal(engine, engine.confinement(hidden=(hidden,)).container)
    assert f"{tmp_path}, which is to be hidden, was replaced" in text


@pytest.mark.parametrize("limits", [{"memory": 1 << 20}, {"processes": 10}])
def test_a_limit_that_is_not_in_force_is_a_refusal(
    engine: ScriptedEngine, limits: dict[str, Any]
) -> None:
    """An engine that can't limit may go on without, and say so where nobody reads it."""
    (what,) = limits
    text = refusal(engine, replace(made_of(engine), **limits))
    assert f"does not limit {what} here, though it was told to" in text


def test_limits_are_looked_for_in_the_groups_around(tmp_path: Path) -> None:
    """An engine may limit a group around the container's own."""
    own = tmp_path / "scope/container"
    own.mkdir(parents=True)
    (own / "memory.max").write_text("max\n")
    assert not holds(own, "memory", 1000)
    (tmp_path / "scope/memory.max").write_text("1000\n")
    assert holds(own, "memory", 1000)
    assert not holds(own, "memory", 999)
    assert not holds(own, "processes", 1000)
    assert not holds(None, "memory", 1000)


def test_removing_is_tried_again(engine: ScriptedEngine) -> None:
    """podman needs a second try where a container's monitor was killed. No failure is ours."""
    engine.fails("rm", "Error: timed out waiting for file")
    remove(engine.program, "it")
    assert engine.asked("rm") == ["rm --force --volumes it"] * 2


def us(pid: int | None = None, began: int | None = None, namespace: int | None = None) -> str:
    """A name as `new_name` gives it, with some of it another's."""
    word, own, start, ours, nonce = new_name().split("-")
    return "-".join((word, str(pid or own), str(began or start), str(namespace or ours), nonce))


ORPHANS = [
    (us(), False),
    (us(began=1), True),
    (us(pid=(1 << 22) + 1), True),  # nobody has such a number
    (us(began=1, namespace=1), False),  # of somebody we could not see
    ("fairlead", False),
    ("fairlead-1-1-1", False),
    ("fairlead-x-1-1-1", False),
    ("other-1-1-1-1", False),
]


@pytest.mark.parametrize(("name", "yes"), ORPHANS, ids=range(len(ORPHANS)))
def test_whose_a_container_is(name: str, yes: bool) -> None:
    """One whose engine is gone for sure is an orphan, and no other."""
    assert is_orphan(name) is yes


def test_orphans_are_swept_once(engine: ScriptedEngine) -> None:
    """Only those, and a failing engine is no failure of ours."""
    engine.says("ps", "\n".join(name for name, _ in ORPHANS))
    for _ in range(2):
        sweep(engine.program)
    gone = [name for name, yes in ORPHANS if yes]
    assert engine.asked("rm") == [f"rm --force --volumes {name}" for name in gone]
    assert len(engine.asked("ps")) == 1


def test_the_launcher_goes_when_its_socket_does(engine: ScriptedEngine) -> None:
    """Also before it has a plan."""
    control, pid = make(made_of(engine), new_name(), launcher_path())
    control.close()
    eventually_sync(lambda: not is_running(pid))
