"""Policy files: what they set, and each mistake with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.config.policy_file import read
from fairlead.model.access import ApprovalPolicy, Limits, Network, SandboxPolicy
from fairlead.model.errors import BadRequest

WHOLE = """
approval = "never"
[sandbox]
mode = "workspace-write"
writable_roots = ["/srv/data"]
network = "full"
deny_read = ["~/notes", "**/.env"]
git_commit = false
accept = ["deny-read"]
[sandbox.limits]
memory = "512M"
processes = 100
"""


def test_everything_that_a_file_can_say(tmp_path: Path) -> None:
    """Each key becomes the option of its name."""
    path = tmp_path / "p.toml"
    path.write_text(WHOLE)
    assert read(path) == {
        "approval": ApprovalPolicy.NEVER,
        "sandbox": SandboxPolicy.WORKSPACE_WRITE,
        "writable_roots": (Path("/srv/data"),),
        "network": Network.FULL,
        "deny_read": ("~/notes", "**/.env"),
        "git_commit": False,
        "accept": ("deny-read",),
        "limits": Limits(memory=512 << 20, processes=100),
    }


def test_sizes_have_units(tmp_path: Path) -> None:
    """Bytes are a number, or a text with K, M, G or T."""
    path = tmp_path / "p.toml"
    for said, means in (("5", 5), ('"5"', 5), ('"2K"', 2048), ('"1 GiB"', 1 << 30)):
        path.write_text(f"[sandbox.limits]\nfile_bytes = {said}\n")
        assert read(path) == {"limits": Limits(file_bytes=means)}


def test_paths_of_home_and_devices_by_name(tmp_path: Path) -> None:
    """`~/` is the home directory; a device has a name, not a path."""
    path = tmp_path / "p.toml"
    path.write_text('[sandbox]\nwritable_roots = ["~/x"]\ndevices = ["kvm"]\naccept = ["all"]\n')
    assert read(path) == {
        "writable_roots": (Path.home() / "x",),
        "devices": ("kvm",),
        "accept": ("all",),
    }


WRONG = [
    ("[sandbox]\nmod = 1", ":2: unknown key sandbox.mod; allowed: mode, writable_roots"),
    ("sandbox = 1", ":1: expected a table"),
    ("\n[sandbocks]", ":2: unknown key sandbocks; allowed: approval, sandbox"),
    ('[sandbox]\nmode = "open"', ":2: mode: expected one of read-only, .* got 'open'"),
    ('[sandbox]\n\nnetwork = "on"', ":3: network: expected one of off, full, got 'on'"),
    ('[sandbox]\ngit_commit = "yes"', ":2: git_commit: expected true or false, got 'yes'"),
    ('[sandbox]\nwritable_roots = "/x"', ":2: writable_roots: expected a list of strings"),
    ('[sandbox]\nwritable_roots = ["x"]', ":2: writable_roots: expected absolute paths"),
    ('[sandbox]\nlimits.memory = "1 X"', ":2: memory: expected a number of bytes, or a text"),
    ("[sandbox.limits]\nprocesses = 0", ":2: processes: expected a whole number above 0"),
    ("[sandbox.limits]\nfiles = 1", ":2: unknown key sandbox.limits.files; allowed: memory"),
    ("[sandbox", "not a policy: "),
    ('[sandbox]\naccept = ["nothing"]', ":2: accept: expected a list of protected-names, .*, all"),
    (
        '[sandbox]\n\ndevices = ["sda"]',
        ":3: devices: expected a list of kvm, dri, fuse, nvidia, got",
    ),
    ('[sandbox]\ndeny_read = ["a\\u0000b"]', ":2: deny_read: expected strings without NUL"),
    ("[sandbox]\nlimits.open_files = true", ":2: open_files: expected a whole number above 0"),
    ("[[sandbox]]", ":1: sandbox: expected a table|:1: expected a table"),
]


@pytest.mark.parametrize(("text", "refusal"), WRONG)
def test_a_mistake_is_a_refusal_with_its_line(tmp_path: Path, text: str, refusal: str) -> None:
    """It names what is allowed, and nothing is run."""
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(BadRequest, match=refusal) as told:
        read(path)
    assert "nothing was run" in str(told.value)


def test_a_file_that_can_not_be_read(tmp_path: Path) -> None:
    """Missing, a directory, not text, or too large: one sentence each."""
    with pytest.raises(BadRequest, match="No such file"):
        read(tmp_path / "none")
    with pytest.raises(BadRequest, match="Is a directory"):
        read(tmp_path)
    (tmp_path / "b").write_bytes(b"\xff\xfe")
    with pytest.raises(BadRequest, match="not a policy"):
        read(tmp_path / "b")
    (tmp_path / "big").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(BadRequest, match="larger than 1 MiB"):
        read(tmp_path / "big")
