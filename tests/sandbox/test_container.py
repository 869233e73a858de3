"""A container as the words that podman and docker share: what is always said, and what it shows."""

from __future__ import annotations

import json
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.access import (
    Access,
    Limits,
    Network,
    PathMode,
    PathRule,
    SandboxPolicy,
    SandboxType,
)
from fairlead.model.confine import Confinement, Identity, Landlock, NoNewPrivileges, Seccomp
from fairlead.model.container import ContainerEngine, ContainerHost
from fairlead.model.env import ExecEnv
from fairlead.model.errors import Rejected, SandboxFailed
from fairlead.model.frozen import replace
from fairlead.model.params import ExecParams
from fairlead.model.requirement import Grant, RuleRef, Skip
from fairlead.model.sandbox import Host, SandboxSettings
from fairlead.sandbox import container, none
from fairlead.sandbox.confiner import Confiner
from fairlead.sandbox.container import (
    Inside,
    as_shown,
    inside,
    missing,
    own_temporary,
    refuse_dangerous,
    render,
)
from fairlead.sandbox.host import Machine
from fairlead.sandbox.plan import Prepared, plan
from fairlead.sandbox.survey import Guarded, Surroundings

HOME = "/home/u"
HOST = Host(landlock_abi=6)
FOUND = ContainerHost(
    engine=ContainerEngine.PODMAN,
    program="/usr/bin/podman",
    image="sha256:1",
    open_files=20000,
    processes=30000,
)
UNLIMITED = replace(FOUND, uid=1000, groups=False)
DOCKER = replace(FOUND, engine=ContainerEngine.DOCKER, program="/usr/bin/docker")


def rule(path: str, mode: PathMode, inode: int = 1, *, directory: bool = True) -> PathRule:
    return PathRule(path, mode, Identity(1, inode), directory, "a test")


WORK = rule("/home/u/work", PathMode.WRITE, 1)
HOOKS = rule("/home/u/work/.git/hooks", PathMode.READ, 2)
CONFIG = rule("/home/u/work/.git/config", PathMode.READ, 3, directory=False)
SECRET = rule("/home/u/work/.env", PathMode.HIDE, 4, directory=False)
SECRETS = rule("/home/u/work/keys", PathMode.HIDE, 5)


def rendered(
    *rules: PathRule,
    found: ContainerHost = FOUND,
    host: Host = HOST,
    agent: str = "a",
    **more: Any,
) -> Confinement:
    access = Access(rules=rules or (WORK,), **more)
    return render(access, found, host, home=HOME, agent=agent, filter_program=b"filter")


def options(*rules: PathRule, found: ContainerHost = FOUND, **more: Any) -> tuple[str, ...]:
    made = rendered(*rules, found=found, **more).container
    assert made is not None
    return made.options


def within(found: ContainerHost, host: Mapping[str, str] | None = None, *rules: PathRule) -> Inside:
    made = rendered(*rules, found=found).container
    assert made is not None
    return inside(made, found, host or {})


def after(words: tuple[str, ...], option: str) -> list[str]:
    """Every value of an option."""
    return [words[at + 1] for at, word in enumerate(words) if word == option]


# --- walls -----------------------------------------------------------------------------------


@pytest.mark.parametrize("found", [FOUND, DOCKER], ids=["podman", "docker"])
def test_what_is_always_said(found: ContainerHost) -> None:
    """A read-only root, no capability, no new privileges, nothing shared, no program but ours."""
    words = options(found=found)
    assert {"--read-only", "--no-healthcheck"} <= set(words)
    assert after(words, "--cap-drop") == ["all"]
    assert "no-new-privileges" in after(words, "--security-opt")
    assert after(words, "--network") == ["none"]
    assert (after(words, "--ipc"), after(words, "--cgroupns")) == (["private"], ["private"])
    assert after(words, "--user") == ["0:0"]
    assert after(words, "--stop-signal") == ["KILL"]
    for dangerous in ("--privileged", "--cap-add", "--pid", "--volume", "-v", "host"):
        assert dangerous not in words


def test_the_runtime_is_the_engines_choice_unless_that_does_not_work() -> None:
    """Who looked at the machine knows."""
    assert "--runtime" not in options()
    assert after(options(found=replace(FOUND, runtime="runc")), "--runtime") == ["runc"]


def test_our_filter_and_guards_hold_inside_too() -> None:
    """As in any confinement."""
    made = rendered()
    assert made.setup == (NoNewPrivileges(), Seccomp(b"filter", listener=True))
    assert [type(step) for step in made.each][:1] == [Landlock]
    assert rendered(host=replace(HOST, landlock_abi=5)).each == ()
    assert made.mount_namespace
    assert made.terminals == "/dev/pts"


def test_an_ordinary_user_stays_one() -> None:
    """What is made in the workspace belongs to who runs us."""
    words = options(found=replace(FOUND, uid=1000, gid=100))
    assert after(words, "--user") == ["1000:100"]
    assert after(words, "--userns") == ["keep-id"]
    assert "--userns" not in options(found=replace(DOCKER, uid=1000, gid=100))


def test_the_network_is_the_engines_where_it_is_full() -> None:
    """Its default: never the host's own."""
    assert "--network" not in options(network=Network.FULL)


def test_limits() -> None:
    """Memory and processes of all together; files are limited to what we could have ourselves."""
    words = options(limits=Limits(memory=64 << 20, processes=30, open_files=99))
    assert after(words, "--memory") == after(words, "--memory-swap") == [str(64 << 20)]
    assert after(words, "--pids-limit") == ["30"]
    assert after(words, "--ulimit") == ["nofile=99:99", "nproc=30000:30000", "core=0:0"]
    words = options()
    assert after(words, "--memory") == []
    assert after(words, "--pids-limit") == ["4096"]
    assert after(words, "--ulimit")[:2] == ["nofile=20000:20000", "nproc=30000:30000"]


def test_limits_of_one_process_are_those_that_nobody_else_counts() -> None:
    """By the process, other programs of the same user would be counted as well."""
    limits = Limits(memory=1, processes=2, cpu_seconds=3, file_bytes=4, open_files=5)
    ours = within(FOUND)
    assert ours.limits_of_each(limits) == Limits(cpu_seconds=3, file_bytes=4, open_files=5)
    assert within(UNLIMITED).limits_of_each(limits) == limits


def test_an_engine_that_can_not_limit_is_not_asked_to() -> None:
    """Processes are limited for each user then, as well as that goes; it says what is missing."""
    limits = Limits(memory=64 << 20, processes=30)
    words = options(found=UNLIMITED, limits=limits)
    assert not {"--memory", "--pids-limit"} & set(words)
    assert after(words, "--ulimit")[1] == "nproc=30:30"
    assert after(options(found=UNLIMITED), "--ulimit")[1] == "nproc=4096:4096"
    assert missing(Access(limits=limits), UNLIMITED) == ("shared-limits",)
    assert missing(Access(limits=Limits(open_files=9)), UNLIMITED) == ()
    assert missing(Access(limits=limits), FOUND) == ()


def test_limits_have_to_be_in_force() -> None:
    """Not only asked for: who makes the container looks."""
    limits = Limits(memory=64 << 20, processes=30)
    made = rendered(limits=limits).container
    assert made is not None
    assert (made.memory, made.processes) == (64 << 20, 30)
    made = rendered(limits=limits, found=UNLIMITED).container
    assert made is not None
    assert (made.memory, made.processes) == (None, None)


def test_devices_by_name() -> None:
    """Those that were asked for."""
    assert after(options(devices=("/dev/kvm",)), "--device") == ["/dev/kvm"]


# --- what is shown ---------------------------------------------------------------------------


def test_mounts_podman() -> None:
    """Each rule at its own path. What is read-only is so without what is mounted below, and a mask
    is not filled with what it covers."""
    words = options(WORK, HOOKS, CONFIG, SECRET, SECRETS)
    assert after(words, "--mount") == [
        "type=bind,src=/home/u/work,dst=/home/u/work",
        "type=bind,src=/home/u/work/.git/hooks,dst=/home/u/work/.git/hooks,readonly,"
        "bind-nonrecursive",
        "type=bind,src=/home/u/work/.git/config,dst=/home/u/work/.git/config,readonly",
        "type=bind,src=/dev/null,dst=/home/u/work/.env,readonly",
    ]
    own = [word.split(":")[0] for word in after(words, "--tmpfs")]
    assert own == ["/tmp", "/var/tmp", HOME, "/home/u/work/keys"]
    assert all(word.endswith("notmpcopyup") for word in after(words, "--tmpfs"))
    mask = after(words, "--tmpfs")[-1]
    assert mask.endswith(":ro,nosuid,nodev,noexec,size=4k,mode=0000,notmpcopyup")


def test_mounts_docker() -> None:
    """The words that only podman knows are left out."""
    words = options(WORK, HOOKS, SECRETS, found=DOCKER)
    assert "notmpcopyup" not in " ".join(words)
    assert "bind-nonrecursive" not in " ".join(words)


def test_everything_shown_and_hidden_is_looked_at_again() -> None:
    """Before a command comes in."""
    made = rendered(WORK, HOOKS, SECRET)
    assert made.container is not None
    assert [path for path, _ in made.container.shown] == [WORK.path, HOOKS.path]
    assert made.container.hidden == ((SECRET.path, SECRET.identity),)


def test_only_roots_and_what_is_below() -> None:
    """The rest of the machine is not there, so nothing is said of it."""
    other = rule("/home/u/.ssh", PathMode.HIDE)
    beside = rule("/home/u/work2/x", PathMode.READ)
    shown = as_shown(Access(rules=(other, WORK, HOOKS, beside)), WORK)
    assert shown.rules == (WORK, HOOKS)


def test_a_link_can_not_be_kept_in_place() -> None:
    """The engines would follow it. So it is left out, and what that means is said."""
    link = replace(HOOKS, link=True, directory=False)
    assert after(options(WORK, link), "--mount") == after(options(WORK), "--mount")
    made = rendered(WORK, link).container
    assert made is not None
    assert made.shown == ((WORK.path, WORK.identity),)
    assert missing(Access(rules=(WORK, link)), FOUND) == ("protected-names",)


def test_the_workspace_is_seen_where_it_may_not_be_written() -> None:
    """With what is to be hidden in it, and without the host's other rules."""
    workspace = rule("/home/u/work", PathMode.READ)
    shown = as_shown(Access(rules=(SECRET,)), workspace)
    assert shown.rules == (workspace, SECRET)


@pytest.mark.parametrize("name", ["a,b", 'a"b', "a\nb"])
def test_names_that_no_engine_can_be_told(name: str) -> None:
    """Are refused, not mangled."""
    with pytest.raises(Rejected, match="can't be given to a container: its name contains"):
        rendered(rule(f"/home/u/{name}", PathMode.WRITE))


def test_a_colon_is_fine_where_it_means_nothing() -> None:
    """A mount takes it, a mask does not."""
    rendered(rule("/home/u/a:b", PathMode.WRITE))
    with pytest.raises(Rejected, match="its name contains ':'"):
        rendered(WORK, rule("/home/u/work/a:b", PathMode.HIDE))


# --- roots that would hand over the machine --------------------------------------------------

REFUSED = [
    *("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/root", "/run"),
    *("/sbin", "/sys", "/tmp", "/usr", "/var", "/var/lib/containers", "/var/lib/docker"),
    *("/var/run", "/var/tmp", "/var/lib", HOME, "/home/u/.local", "/home/u/.local/share"),
    *("/home/u/.ssh", "/home/u/.aws", "/home/u/.config", "/home/u/.config/gh", "/home/u/.docker"),
    # Below these there is no honest work either.
    *("/etc/cron.d", "/run/podman", "/run/user/1000", "/var/run/docker", "/dev/shm", "/proc/1"),
    *("/sys/fs/cgroup", "/boot/efi", "/var/lib/docker/volumes/x", "/home/u/.ssh/keys"),
    "/home/u/.local/share/containers/storage",
]
ALLOWED = [
    *("/home/u/work", "/home/u/.config/app", "/srv", "/srv/x", "/opt/x", "/usr/src/x", "/work"),
    *("/tmp/work", "/var/tmp/x", "/var/lib/app", "/home/other/x", "/root/x", "/data", "/etcetera"),
]


@pytest.mark.parametrize("path", REFUSED)
@pytest.mark.parametrize("mode", [PathMode.WRITE, PathMode.READ])
def test_dangerous(path: str, mode: PathMode) -> None:
    """Not even to look at: with the reason and what to do."""
    with pytest.raises(Rejected) as told:
        refuse_dangerous((rule(path, mode),), HOME)
    assert str(told.value).startswith(f"{path} can't be shown to a container (")
    assert "The command was not run. Choose a directory of its own for the work" in str(told.value)


@pytest.mark.parametrize("path", ALLOWED)
def test_not_dangerous(path: str) -> None:
    """Where people work."""
    refuse_dangerous((rule(path, PathMode.WRITE),), HOME)


def test_what_is_hidden_is_not_shown() -> None:
    """So it may be anything."""
    refuse_dangerous((WORK, rule("/home/u/.ssh", PathMode.HIDE)), HOME)


def test_a_rendering_refuses_them() -> None:
    """There is no way past it."""
    with pytest.raises(Rejected, match="the container engine's among them"):
        rendered(rule("/run/podman", PathMode.WRITE))


# --- which container -------------------------------------------------------------------------


def test_equal_policies_have_equal_labels() -> None:
    """And every difference that a command could notice has another one."""
    one = after(options(WORK, HOOKS), "--label")
    assert one == after(options(WORK, HOOKS), "--label")
    assert one[0] == "fairlead.agent=a"
    others = (
        options(WORK),
        options(WORK, replace(HOOKS, identity=Identity(1, 99))),
        options(WORK, HOOKS, network=Network.FULL),
        options(WORK, HOOKS, found=replace(FOUND, image="sha256:2")),
    )
    assert len({one[1], *(after(words, "--label")[1] for words in others)}) == 5


# --- the command inside ----------------------------------------------------------------------


def test_the_environment() -> None:
    """What the host says of itself gives way to the image; what a call says does not."""
    host = {"PATH": "/host/bin", "SHELL": "/bin/zsh", "LANG": "C.UTF-8"}
    found = replace(FOUND, variables=(("PATH", "/image/bin"), ("LANG", "xx"), ("JAVA", "/jdk")))
    env = ExecEnv(argv=("x",), cwd=Path("/"), env={**host, "MINE": "1"}, sandbox=none.REPORT)
    around = within(found, host).around(env)
    assert around.env == {"PATH": "/image/bin", "JAVA": "/jdk", "LANG": "C.UTF-8", "MINE": "1"}
    called = within(found, host).around(replace(env, env={**host, "PATH": "/mine"}))
    assert called.env["PATH"] == "/mine"
    json.dumps(dict(called.env))


def test_the_directory_without_links(tmp_path: Path) -> None:
    """A link of the host may lead elsewhere inside, or nowhere. What is not shown is the image's,
    by the name that it was given."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    env = ExecEnv(argv=("x",), cwd=tmp_path / "link", env={}, sandbox=none.REPORT)
    work = rule(str(tmp_path.resolve()), PathMode.WRITE)
    assert within(FOUND, {}, work).around(env).cwd == (tmp_path / "real").resolve()
    assert within(FOUND, {}).around(env).cwd == tmp_path / "link"


def test_temporary_files_are_the_containers() -> None:
    """The host's are no roots, so that they can't be shown."""
    settings = SandboxSettings(
        policy=SandboxPolicy.WORKSPACE_WRITE, workspace=Path("/w"), private_tmp=True
    )
    own = own_temporary(settings)
    assert (own.exclude_slash_tmp, own.exclude_tmpdir, own.private_tmp) == (True, True, False)


def test_the_table_says_why() -> None:
    """Each dangerous directory has a reason that a person understands."""
    assert all(why.startswith("it ") for why in container.DANGEROUS.values())


# --- kept up to date -------------------------------------------------------------------------


class Finding:
    """Counts how often the machine is looked at."""

    def __init__(self, found: ContainerHost = FOUND) -> None:
        self.found = found
        self.times = 0

    def __call__(self) -> ContainerHost:
        self.times += 1
        return self.found


def confiner(work: Path, find: Finding, home: Path, host: Host = HOST, **more: Any) -> Confiner:
    settings = SandboxSettings(policy=SandboxPolicy.WORKSPACE_WRITE, workspace=work, **more)
    around = Surroundings(home=str(home), environment={"PATH": "/host"})
    machine = Machine(host, lambda host: host)
    return Confiner(settings, around, machine, lambda *_: Guarded(), find_containers=find)


def test_one_confinement_for_as_long_as_nothing_changes(tmp_path: Path) -> None:
    """The machine is looked at once; what goes on outside of the workspace is no change."""
    (tmp_path / "work").mkdir()
    find = Finding()
    ours = confiner(tmp_path / "work", find, tmp_path)
    first = ours.confined("a")
    assert first.report.type is SandboxType.CONTAINER
    assert first.report.missing == ()
    (tmp_path / ".ssh").mkdir()
    assert ours.confined("a").confinement is first.confinement
    (tmp_path / "work").rename(tmp_path / "old")
    (tmp_path / "work").mkdir()
    assert ours.confined("a").confinement is not first.confinement
    assert find.times == 1


def test_after_a_failure_everything_is_looked_at_again(tmp_path: Path) -> None:
    """Another image is another plan; if nothing is new, the failure stands."""
    (tmp_path / "work").mkdir()
    find = Finding()
    ours = confiner(tmp_path / "work", find, tmp_path)
    ours.confined("a")
    error = SandboxFailed("x", step="container", errno=0)
    assert not ours.learn(error)
    find.found = replace(FOUND, image="sha256:2")
    assert ours.learn(error)
    made = ours.confined("a").confinement
    assert made is not None
    assert made.container is not None
    assert made.container.image == "sha256:2"


def test_a_linked_home_is_a_home(tmp_path: Path) -> None:
    """By either name."""
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to("real")
    for work in ("home", "real"):
        with pytest.raises(Rejected, match="it is a home directory"):
            confiner(tmp_path / work, Finding(), tmp_path / "home").confined("a")


def test_limits_that_can_not_be_had_are_a_refusal(tmp_path: Path) -> None:
    """Unless the operator accepts less, by name."""
    (tmp_path / "work").mkdir()
    given: dict[str, Any] = {"limits": Limits(memory=1 << 30)}
    find = Finding(UNLIMITED)
    with pytest.raises(Rejected, match="or accept less: --accept shared-limits"):
        confiner(tmp_path / "work", find, tmp_path, **given).confined("a")
    found = confiner(
        tmp_path / "work", find, tmp_path, accept=("shared-limits",), **given
    ).confined("a")
    assert found.report.missing == ("shared-limits",)
    assert found.limits == given["limits"]


def test_containers_need_the_launcher(tmp_path: Path) -> None:
    """Without it nobody would serve inside, so nothing runs."""
    (tmp_path / "work").mkdir()
    ours = confiner(tmp_path / "work", Finding(), tmp_path, replace(HOST, launcher=False))
    with pytest.raises(Rejected, match="Build the launcher"):
        ours.confined("a")


def test_a_plan_for_a_container(tmp_path: Path) -> None:
    """The command as it is inside, with the limits that are left for each process."""
    (tmp_path / "work").mkdir()
    limits = Limits(memory=1 << 30, processes=9, open_files=99)
    ours = confiner(tmp_path / "work", Finding(), tmp_path, limits=limits)
    params = ExecParams(call_id="1", tool="t", argv=("x",), cwd=tmp_path / "work")
    grant = Grant(requirement=Skip(RuleRef("test")), decision="skip", because="a test")
    env = plan(params, grant, ours, Prepared(argv=("x",), env={"PATH": "/host", "A": "1"}))
    assert env.env == {"A": "1"}
    assert env.confinement is ours.confined("default").confinement
    assert env.wrapped == 0
    assert {one.resource for one in env.limits} == {resource.RLIMIT_CORE, resource.RLIMIT_NOFILE}
