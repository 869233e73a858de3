"""What the shared flags make of a policy file and of each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.cli.common import POLICY_FLAGS, options_from
from fairlead.cli.flags import Syntax
from fairlead.config.options import Options
from fairlead.model.container import Backend, ContainerEngine
from fairlead.model.errors import BadRequest

SYNTAX = Syntax(usage="", about="", flags=POLICY_FLAGS)


def options(*words: str) -> Options:
    return options_from(SYNTAX.parse(words))


def test_containers() -> None:
    """By flags alone."""
    found = options("--backend", "container", "--image", "work", "--engine", "podman")
    assert (found.backend, found.image) == (Backend.CONTAINER, "work")
    assert found.engine is ContainerEngine.PODMAN


def test_flags_over_a_file(tmp_path: Path) -> None:
    """Another image, or no container after all."""
    path = tmp_path / "policy.toml"
    path.write_text('[sandbox]\nbackend = "container"\nimage = "work"\nengine = "podman"\n')
    file = ("--policy", str(path))
    assert options(*file).image == "work"
    assert options(*file, "--image", "other").image == "other"
    plain = options(*file, "--backend", "auto")
    assert (plain.backend, plain.image, plain.engine) == (Backend.AUTO, "", ContainerEngine.AUTO)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--backend", "vm"), "--backend: expected one of auto, container, got 'vm'"),
        (("--engine", "x"), "--engine: expected one of auto, podman, docker, got 'x'"),
        (("--image", "x"), "image: means nothing without backend container"),
        (("--backend", "auto", "--image", "x"), "image: means nothing without backend container"),
        (
            ("--backend", "container"),
            "image: backend container needs the name of an image, got ''",
        ),
    ],
)
def test_mistakes(words: tuple[str, ...], text: str) -> None:
    """Each is a refusal that names what is wrong."""
    with pytest.raises(BadRequest) as told:
        options(*words)
    assert str(told.value) == text
