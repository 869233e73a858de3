"""What one call may ask for beyond the sandbox policy: how it is read, judged and carried out."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.assemble import assemble
from fairlead.config.options import Options
from fairlead.model.access import ApprovalPolicy, SandboxPolicy
from fairlead.model.errors import BadRequest
from fairlead.model.params import ExecParams, ExtraPermissions, SandboxPermissions
from fairlead.model.requirement import Forbidden, Grant, NeedsApproval, Skip
from fairlead.policy.judge import judge
from fairlead.tools.shell import parse

WITH = "with_additional_permissions"


def call(**more: object) -> dict[str, object]:
    return {"command": ["true"], **more}


def test_all_of_it_is_read() -> None:
    """Directories to read and to write, and the network."""
    args = parse(
        call(
            sandbox_permissions=WITH,
            additional_permissions={
                "network": {"enabled": True},
                "file_system": {"read": ["/a"], "write": ["/b", "/c"]},
            },
        )
    )
    assert args.sandbox_permissions is SandboxPermissions.WITH_ADDITIONAL
    assert args.additional_permissions == ExtraPermissions(
        read=("/a",), write=("/b", "/c"), network=True
    )
    assert args.additional_permissions.shown == (
        "to read /a, to write below /b, to write below /c, the network"
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"sandbox_permissions": WITH}, "additional_permissions asks for nothing"),
        (
            {"sandbox_permissions": WITH, "additional_permissions": {"network": {}}},
            "additional_permissions asks for nothing",
        ),
        (
            {"additional_permissions": {"network": {"enabled": True}}},
            "only with sandbox_permissions = with_additional_permissions",
        ),
        ({"additional_permissions": []}, "expected an object, got an array"),
        (
            {"additional_permissions": {"net": {}}},
            "unknown field 'net'; allowed: network, file_system",
        ),
        (
            {"additional_permissions": {"file_system": {"write": ["relative"]}}},
            "file_system.write[0]: expected an absolute path, got 'relative'",
        ),
        (
            {"additional_permissions": {"file_system": {"write": "/a"}}},
            "file_system.write: expected an array of strings",
        ),
        (
            {"additional_permissions": {"file_system": {"read": ["/a"] * 17}}},
            "file_system.read: more than 16 paths",
        ),
        (
            {"additional_permissions": {"network": {"enabled": "yes"}}},
            "network.enabled: expected true or false",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(said: dict[str, object], told: str) -> None:
    """With the name of the field."""
    with pytest.raises(BadRequest) as refused:
        parse(call(**said))
    assert told in str(refused.value)


def asked(**extra: Any) -> ExecParams:
    return ExecParams(
        call_id="1",
        tool="shell",
        argv=("true",),
        cwd=Path("/"),
        sandbox_permissions=SandboxPermissions.WITH_ADDITIONAL,
        extra=ExtraPermissions(**extra),
    )


def test_it_needs_a_yes_or_is_forbidden() -> None:
    """Like leaving the sandbox; where there is none, there is nothing to ask for."""
    wanted = asked(network=True)
    confined, free = SandboxPolicy.WORKSPACE_WRITE, SandboxPolicy.DANGER_FULL_ACCESS
    question = judge(wanted, ApprovalPolicy.ON_REQUEST, confined, auto_allow_sandboxed=True)
    assert isinstance(question, NeedsApproval)
    assert question.reason == "the call asks for more: the network"
    refusal = judge(wanted, ApprovalPolicy.NEVER, confined)
    assert isinstance(refusal, Forbidden)
    assert "you cannot ask for additional permissions" in refusal.reason
    assert isinstance(judge(wanted, ApprovalPolicy.ON_REQUEST, free), Skip)


class Yes:
    """Says yes, and remembers to what."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def review(self, params: ExecParams, question: NeedsApproval) -> Grant:
        self.asked.append(question.reason)
        return Grant(requirement=question, decision="approved", because="a test")


@pytest.fixture
def outside() -> Iterator[Path]:
    """A directory that no policy opens."""
    directory = Path(tempfile.mkdtemp(dir="/var/tmp"))
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize("policy", [SandboxPolicy.READ_ONLY, SandboxPolicy.WORKSPACE_WRITE])
async def test_a_granted_call_can_do_more_and_the_next_one_not(
    tmp_path: Path, outside: Path, policy: SandboxPolicy
) -> None:
    """What was granted holds for that call, inside the sandbox."""
    (tmp_path / "hidden").write_text("secret")
    script = f"cat {tmp_path}/hidden; touch {outside}/made; touch /etc/made"
    options = Options(cwd=tmp_path, sandbox=policy, deny_read=("hidden",))
    parts = assemble(options)
    reviewer = Yes()
    parts.toolbox.orchestrator._reviewer = reviewer
    try:
        for more in (asked(read=(f"{tmp_path}/hidden",), write=(str(outside),)), None):
            params = ExecParams(
                call_id="1",
                tool="shell",
                argv=("sh", "-c", script),
                cwd=tmp_path,
                extra=more.extra if more else None,
            )
            output = await parts.toolbox.orchestrator.run(params, 30)
            assert (b"secret" in output.output.kept) is (more is not None)
            assert (outside / "made").exists() is (more is not None)
            assert not Path("/etc/made").exists()
            (outside / "made").unlink(missing_ok=True)
        assert reviewer.asked == [
            f"the call asks for more: to read {tmp_path}/hidden, to write below {outside}"
        ]
    finally:
        await parts.spawner.close()
