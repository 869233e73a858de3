"""What an engine can be told of containers: never taken for less than it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairlead.config.options import Options
from fairlead.config.policy_file import read
from fairlead.model.access import SandboxPolicy
from fairlead.model.container import Backend, ContainerEngine, ContainerSettings
from fairlead.model.errors import BadRequest

IN_CONTAINER: dict[str, Any] = {"backend": Backend.CONTAINER, "image": "work"}


def test_no_containers_by_default() -> None:
    """What this machine does best confines."""
    assert Options().container_settings is None


@pytest.mark.parametrize(
    "image", ["work", "localhost/work:1.2", "a.b:5000/x/y@sha256:0123", "0f1e", "Work_1"]
)
def test_containers_by_image(image: str) -> None:
    """With whichever engine there is, unless one is named."""
    options = Options(backend=Backend.CONTAINER, image=image)
    assert options.container_settings == ContainerSettings(image=image)
    options = Options(backend=Backend.CONTAINER, image=image, engine=ContainerEngine.DOCKER)
    assert options.container_settings is not None
    assert options.container_settings.engine is ContainerEngine.DOCKER


@pytest.mark.parametrize("image", ["", "-v/:/host", "--privileged", "a b", "a\nb", "a;b", "ä"])
def test_what_names_no_image(image: str) -> None:
    """An option of the engine's program, above all."""
    with pytest.raises(BadRequest, match="image: backend container needs the name of an image"):
        Options(backend=Backend.CONTAINER, image=image)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"image": "work"}, "image: means nothing without backend container"),
        ({"engine": ContainerEngine.PODMAN}, "engine: means nothing without backend container"),
        (
            {**IN_CONTAINER, "sandbox": SandboxPolicy.DANGER_FULL_ACCESS},
            "backend container confines, and sandbox danger-full-access does not",
        ),
        (
            {**IN_CONTAINER, "preset": "full-access"},
            "backend container confines, and sandbox danger-full-access does not",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(said: dict[str, Any], text: str) -> None:
    """Else a command would run where nobody expects it."""
    with pytest.raises(BadRequest) as told:
        Options(**said)
    assert str(told.value) == text


def test_a_policy_file_says_the_same(tmp_path: Path) -> None:
    """In its words."""
    path = tmp_path / "policy.toml"
    path.write_text('[sandbox]\nbackend = "container"\nimage = "work"\nengine = "podman"\n')
    assert read(path) == {**IN_CONTAINER, "engine": ContainerEngine.PODMAN}
    path.write_text('[sandbox]\nbackend = "chroot"\n')
    with pytest.raises(BadRequest, match="toml:2: backend: expected one of auto, container"):
        read(path)
    path.write_text('[sandbox]\nbackend = "container"\nimage = ""\n')
    with pytest.raises(BadRequest, match="toml:3: image: expected a text"):
        read(path)
