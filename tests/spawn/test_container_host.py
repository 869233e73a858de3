"""What there is to make containers with: found, or refused with a remedy."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest

from fairlead.model.container import ContainerEngine, ContainerSettings
from fairlead.model.errors import Rejected
from fairlead.spawn import container_host, installed
from fairlead.spawn.container_host import find
from tests.spawn.scripted_engine import ScriptedEngine

SETTINGS = ContainerSettings(image="work")
IMAGE = {"Id": "sha256:1", "Config": {"Env": ["PATH=/opt/bin", "EMPTY=", "nonsense"]}}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    """The only one that is installed."""
    engine = ScriptedEngine(tmp_path / "engine").install()
    programs = {"podman": engine.program}
    monkeypatch.setattr(installed, "program", programs.get)
    engine.says("image", json.dumps([IMAGE]))
    return engine


def test_engine_and_image_are_found(engine: ScriptedEngine) -> None:
    """The image by its id, so that it stays the same one; its environment; what we may ask for."""
    found = find(SETTINGS)
    assert (found.engine, found.program) == (ContainerEngine.PODMAN, engine.program)
    assert (found.image, found.variables) == ("sha256:1", (("PATH", "/opt/bin"), ("EMPTY", "")))
    assert (found.uid, found.gid) == (os.geteuid(), os.getegid())
    assert engine.asked("image") == ["image inspect work"]
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert files == resource.RLIM_INFINITY or found.open_files <= files
    assert found.processes is not None
    assert found.processes <= int(Path("/proc/sys/kernel/pid_max").read_text())


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("both", [True, False])
def test_runc_where_crun_would_not_start(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pure: bool, both: bool
) -> None:
    """With control groups of version 2 alone, podman's own choice is fine."""
    monkeypatch.setattr(container_host, "_VERSION_2", tmp_path if pure else tmp_path / "no")
    programs = {"podman": engine.program, **({"runc": "/usr/sbin/runc"} if both else {})}
    monkeypatch.setattr(installed, "program", programs.get)
    assert find(SETTINGS).runtime == ("runc" if both and not pure else "")


@pytest.mark.parametrize("user", [0, 1000])
@pytest.mark.parametrize("pure", [True, False])
def test_who_can_limit(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pure: bool, user: int
) -> None:
    """An ordinary user has control groups to give only in version 2."""
    monkeypatch.setattr(container_host, "_VERSION_2", tmp_path if pure else tmp_path / "no")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert find(SETTINGS).groups is (user == 0 or pure)


def test_no_environment(engine: ScriptedEngine) -> None:
    """An image need not have any."""
    engine.says("image", json.dumps([{"Id": "x", "Config": {"Env": None}}]))
    assert find(SETTINGS).variables == ()


@pytest.mark.parametrize(
    ("wanted", "named"),
    [(ContainerEngine.AUTO, "podman or docker"), (ContainerEngine.DOCKER, "docker")],
)
def test_no_engine(monkeypatch: pytest.MonkeyPatch, wanted: ContainerEngine, named: str) -> None:
    """Is a refusal that says what to install."""
    monkeypatch.setattr(installed, "program", lambda _: None)
    with pytest.raises(Rejected) as told:
        find(ContainerSettings(image="work", engine=wanted))
    assert str(told.value) == (
        f"no container can be made: {named} is not installed on this machine. The command was not "
        "run. Install it (Debian: apt-get install podman runc), or leave out --backend container"
    )


def test_an_engine_by_name_is_that_one(engine: ScriptedEngine) -> None:
    """podman is no docker, even if it is all there is."""
    with pytest.raises(Rejected, match="docker is not installed"):
        find(ContainerSettings(image="work", engine=ContainerEngine.DOCKER))


@pytest.mark.parametrize(
    "words",
    [
        "Error: inspecting object: work: image not known",
        "Error response from daemon: No such image: work:latest",
    ],
)
def test_a_missing_image_is_not_fetched(engine: ScriptedEngine, words: str) -> None:
    """Whichever engine says so."""
    engine.fails("image", words)
    with pytest.raises(Rejected) as told:
        find(SETTINGS)
    assert str(told.value) == (
        "the image work is not on this machine, and images are never fetched. The command was not "
        "run. Get it first (`podman pull work`, or `podman import FILE.tar work`)"
    )


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (
            "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
            "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running",
        ),
        ("", "ended with 125"),
    ],
)
def test_a_failing_engine(engine: ScriptedEngine, words: str, shown: str) -> None:
    """Is quoted."""
    engine.fails("image", words)
    with pytest.raises(Rejected) as told:
        find(SETTINGS)
    assert f"{shown}. The command was not run. `podman info`, as the same" in str(told.value)


@pytest.mark.parametrize("nonsense", ["", "[]", "{}", "[1]", '[{"Id": ""}]', "[{}, {}]"])
def test_nonsense_is_a_refusal(engine: ScriptedEngine, nonsense: str) -> None:
    """An answer that is none."""
    engine.says("image", nonsense)
    with pytest.raises(Rejected, match="what it says of an image can't be understood"):
        find(SETTINGS)
