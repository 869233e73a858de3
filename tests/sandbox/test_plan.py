"""What is spawned word for word, and what never is."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from fairlead.model.access import Access, Limits, Network, PathMode, PathRule, SandboxPolicy
from fairlead.model.confine import ANYTHING, Seccomp
from fairlead.model.env import Rlimit
from fairlead.model.errors import Rejected
from fairlead.model.frozen import replace
from fairlead.model.params import ExecParams, SandboxPermissions, Size, Stdin
from fairlead.model.requirement import Grant, RuleRef, Skip
from fairlead.model.sandbox import Host, SandboxSettings
from fairlead.sandbox.confiner import Confiner
from fairlead.sandbox.host import Machine
from fairlead.sandbox.plan import Prepared, must_be_writable, plan
from fairlead.sandbox.survey import Guarded, Surroundings

GRANT = Grant(requirement=Skip(RuleRef("a test")), decision="skip", because="a test")
PREPARED = Prepared(
    argv=("sh", "-c", "y"), env={"PATH": "/bin"}, attached={9: b"z"}, warnings=("a warning",)
)
FULL = Host(landlock_abi=7, uid=1000, gid=1000)
NO_LAUNCHER = replace(FULL, launcher=False, bubblewrap="/usr/bin/bwrap")


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    place = Path(os.path.realpath(tmp_path))
    for name in ("home/.ssh", "work/src"):
        (place / name).mkdir(parents=True)
    return place


def request(ground: Path, **said: object) -> ExecParams:
    asked = ExecParams(
        call_id="1",
        tool="shell",
        argv=("sh", "-lc", "x"),
        cwd=ground / "work",
        env={"ASKED": "1"},
        tty=True,
        size=Size(10, 20),
        stdin=Stdin.OPEN,
        timeout=3.0,
    )
    return replace(asked, **said)  # type: ignore[arg-type]


def confiner(ground: Path, host: Host = FULL, **said: object) -> Confiner:
    settings = SandboxSettings(
        policy=SandboxPolicy.WORKSPACE_WRITE,
        workspace=ground / "work",
        exclude_slash_tmp=True,
    )
    return Confiner(
        replace(settings, **said),  # type: ignore[arg-type]
        Surroundings(home=str(ground / "home"), environment={}, sockets=False),
        Machine(host, lambda host: host),
        lambda _root, _git_commit: Guarded(),
    )


UNCONFINED = [SandboxPolicy.DANGER_FULL_ACCESS, SandboxPolicy.EXTERNAL]
CONFINED = [SandboxPolicy.READ_ONLY, SandboxPolicy.WORKSPACE_WRITE]


@pytest.mark.parametrize("policy", [*UNCONFINED, *CONFINED], ids=str)
def test_it_is_what_was_prepared_and_asked(policy: SandboxPolicy, ground: Path) -> None:
    """Argv and environment are the prepared ones, all else is what was asked."""
    asked = request(ground)
    env = plan(asked, GRANT, confiner(ground, policy=policy), PREPARED)
    assert (env.argv, env.env, env.attached) == (PREPARED.argv, PREPARED.env, PREPARED.attached)
    assert (env.cwd, env.tty, env.size) == (asked.cwd, True, Size(10, 20))
    assert (env.stdin, env.timeout, env.warnings) == (Stdin.OPEN, 3.0, ("a warning",))


@pytest.mark.parametrize("policy", CONFINED, ids=str)
def test_a_policy_that_confines_is_in_the_plan(policy: SandboxPolicy, ground: Path) -> None:
    """What stands around it, what that allows, and the name of the tier."""
    env = plan(request(ground), GRANT, confiner(ground, policy=policy), PREPARED)
    assert env.confinement is not None
    assert env.confinement.agent == "default"
    assert isinstance(env.confinement.setup[-1], Seccomp)
    assert env.access is not None
    writable = (str(ground / "work"),) if policy is SandboxPolicy.WORKSPACE_WRITE else ()
    assert env.access.writable == writable
    assert env.sandbox.tier == "namespaces"
    assert Rlimit(resource.RLIMIT_CORE, 0, 0) in env.limits


@pytest.mark.parametrize("policy", UNCONFINED, ids=str)
def test_a_policy_that_confines_nothing_says_so(policy: SandboxPolicy, ground: Path) -> None:
    """The plan has nothing around the command, and no tier's name."""
    env = plan(request(ground), GRANT, confiner(ground, policy=policy), PREPARED)
    assert (env.confinement, env.access, env.limits, env.sandbox.tier) == (None, None, (), "none")


def test_an_escalated_call_is_not_confined(ground: Path) -> None:
    """It asked for that, and the grant says that it may; the next call is confined again."""
    keeper = confiner(ground)
    asked = request(ground, sandbox_permissions=SandboxPermissions.REQUIRE_ESCALATED)
    assert plan(asked, GRANT, keeper, PREPARED).confinement is None
    assert plan(request(ground), GRANT, keeper, PREPARED).confinement is not None


def test_what_can_not_be_enforced_is_refused(ground: Path) -> None:
    """Nothing ever runs with less than its policy says."""
    nothing = Host(launcher=False, mount_namespaces=False, why=(("launcher", "no compiler"),))
    with pytest.raises(Rejected, match=r"no sandbox can be had .* The command was not run"):
        plan(request(ground), GRANT, confiner(ground, nothing), PREPARED)


def test_the_wrapped_command_stands_behind_its_wrapper(ground: Path) -> None:
    """Where there is no launcher, the plan's own words confine: whoever spawns them."""
    env = plan(request(ground), GRANT, confiner(ground, NO_LAUNCHER), PREPARED)
    assert env.argv[0] == "/usr/bin/bwrap"
    assert env.argv[env.wrapped - 3 :] == ("--chdir", str(ground / "work"), "--", *PREPARED.argv)
    assert env.command == PREPARED.argv
    assert env.confinement is None
    assert env.attached is not None
    assert set(env.attached) == {9, 60}
    assert env.sandbox.tier == "bubblewrap"


@pytest.mark.parametrize("name", ["home/.ssh", "home/.ssh/inner", "link"])
def test_a_hidden_working_directory_is_refused(name: str, ground: Path) -> None:
    """Also by way of a link: it would be a way to look at it."""
    (ground / "home/.ssh/inner").mkdir()
    (ground / "link").symlink_to(ground / "home/.ssh/inner")
    with pytest.raises(Rejected, match=r"workdir: .* is hidden from commands \(secret\)"):
        plan(request(ground, cwd=ground / name), GRANT, confiner(ground), PREPARED)


@pytest.mark.parametrize("name", [".", "work/src", "home"])
def test_any_other_working_directory_will_do(name: str, ground: Path) -> None:
    """Whether it may be written or not."""
    env = plan(request(ground, cwd=ground / name), GRANT, confiner(ground), PREPARED)
    assert env.cwd == ground / name


def test_limits_are_in_the_plan(ground: Path) -> None:
    """As the operator says them."""
    keeper = confiner(ground, limits=Limits(open_files=64))
    env = plan(request(ground), GRANT, keeper, PREPARED)
    assert Rlimit(resource.RLIMIT_NOFILE, 64, 64) in env.limits


# --- What the engine writes itself --------------------------------------------------------------

ACCESS = Access(
    rules=(
        PathRule("/home/u/.ssh", PathMode.HIDE, ANYTHING, True, "secret"),
        PathRule("/tmp", PathMode.WRITE, ANYTHING, True, "temporary files"),
        PathRule("/work", PathMode.WRITE, ANYTHING, True, "workspace"),
        PathRule("/work/.git", PathMode.WRITE, ANYTHING, True, "kept in place"),
        PathRule("/work/.git/hooks", PathMode.READ, ANYTHING, True, "protected"),
        PathRule("/work/keys", PathMode.HIDE, ANYTHING, True, "deny_read keys"),
    ),
    absent=("/work/.fairlead",),
    repositories=(("/work/.git", "/work/.git"), ("/work/bare", "/work/bare")),
    network=Network.OFF,
)
WRITABLE = r"; nothing was changed \(writable: /tmp, /work\)"


@pytest.mark.parametrize(
    "path",
    [
        "/work",
        "/work/a",
        "/work/.git/index",
        "/work/.git/HEAD",
        "/work/.gitignore",
        "/work/bare/refs/heads/x",
        "/work/objects/a",
        "/tmp/x",
        "/work/.fair",
    ],
)
def test_what_may_be_written(path: str) -> None:
    """What a command could write."""
    must_be_writable(ACCESS, SandboxPolicy.WORKSPACE_WRITE, path)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/etc/passwd", "is outside of the writable roots" + WRITABLE),
        ("/workshop", "is outside of the writable roots" + WRITABLE),
        ("/work/.git/hooks", r"is protected \(protected\)" + WRITABLE),
        ("/work/.git/hooks/pre-commit", r"is protected \(protected\)" + WRITABLE),
        ("/work/keys/a", r"is protected \(deny_read keys\)" + WRITABLE),
        ("/home/u/.ssh/config", r"is protected \(secret\)" + WRITABLE),
        ("/work/.fairlead", r"is protected \(it must not appear\)" + WRITABLE),
        ("/work/.fairlead/x", r"is protected \(it must not appear\)" + WRITABLE),
        ("/work/sub/.git", r"is protected \(it must not appear\)" + WRITABLE),
        ("/work/sub/.git/config", r"is protected \(it must not appear\)" + WRITABLE),
        ("/work/sub/.GIT/config", r"is protected \(it must not appear\)" + WRITABLE),
        ("/work/other/HEAD", r"is protected \(it must not appear\)" + WRITABLE),
    ],
)
def test_what_may_not_be_written(path: str, why: str) -> None:
    """Nothing that a command could not write is written in its name, and the roots are named."""
    with pytest.raises(Rejected, match=why):
        must_be_writable(ACCESS, SandboxPolicy.WORKSPACE_WRITE, path)


@pytest.mark.parametrize("name", ["objects", "refs"])
def test_a_repository_is_not_completed(name: str, tmp_path: Path) -> None:
    """A directory with a `HEAD` becomes one by these, whatever settings lie in it."""
    rule = PathRule(str(tmp_path), PathMode.WRITE, ANYTHING, True, "workspace")
    path = str(tmp_path / name / "a")
    must_be_writable(Access(rules=(rule,)), SandboxPolicy.WORKSPACE_WRITE, path)
    (tmp_path / "HEAD").write_text("ref: refs/heads/main")
    with pytest.raises(Rejected, match="it must not appear"):
        must_be_writable(Access(rules=(rule,)), SandboxPolicy.WORKSPACE_WRITE, path)


def test_read_only_means_nowhere() -> None:
    """And says so, instead of an empty list."""
    with pytest.raises(Rejected, match="/work/a: sandbox policy read-only allows no writing"):
        must_be_writable(Access(), SandboxPolicy.READ_ONLY, "/work/a")
