"""It fails closed: whatever is missing, vanished, full or forbidden, nothing ever runs with less
confinement than its plan, and who asked is told why and what to do."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fairlead import Engine, Options
from fairlead.confining import confiner_for
from fairlead.model.access import SandboxPolicy
from fairlead.model.confine import Confinement, ConfineStep, NoNewPrivileges, Seccomp
from fairlead.spawn import plan
from tests.kernel import confined
from tests.kernel.hardships import failing, number
from tests.kernel.people import REPOSITORY, as_user
from tests.kernel.probes.arena import GROUNDS

SECONDS = 100


# --- A step that fails --------------------------------------------------------------------------

# What the steps ask of the kernel, and where that can't be had.
CALLS = {
    "unshare": {"user namespace", "namespaces"},
    "socket": {"loopback interface"},
    "ioctl": {"loopback interface"},
    "mount": {"private mounts"},
    "open_tree": {"copy of a mount tree"},
    "move_mount": {"mount tree"},
    "mount_setattr": {"mount attributes", "mount tree"},
    "fsopen": set(),  # not asked for: the control of this table
    "mkdirat": {"new file"},
    "mkdir": {"new file"},
    "symlinkat": {"new file"},
    "symlink": {"new file"},
    "openat": {"user namespace", "mount tree", "new file"},
    "landlock_create_ruleset": {"Landlock ruleset"},
    "landlock_restrict_self": {"Landlock"},
    "prctl": {"first process", "no new privileges", "dropped capabilities"},
    "capset": {"dropped capabilities"},
    "seccomp": {"system call filter"},
}


@pytest.fixture
def around(tmp_path: Path) -> Confinement:
    """What stands around commands of this machine's first tier."""
    options = Options(cwd=tmp_path, sandbox=SandboxPolicy.WORKSPACE_WRITE, accept=("all",))
    found = confiner_for(options).confined("agent").confinement
    assert found is not None
    return found


@pytest.mark.parametrize("call", [name for name in CALLS if number(name) is not None])
def test_a_step_that_the_kernel_refuses_ends_the_start(
    call: str, around: Confinement, tmp_path: Path
) -> None:
    """Nothing runs, and the step is named. Only a call that no step makes is not missed."""
    refusing = (NoNewPrivileges(), Seccomp(failing({call: errno.EIO})))
    ran = attempt([*refusing, *around.setup, *around.each], tmp_path / "ran")
    if ran.failed is None:
        assert not CALLS[call] or call in ("mkdir", "symlink", "mkdirat", "symlinkat")
        assert (tmp_path / "ran").exists()
        return
    assert plan.STEP_NAMES[ran.failed.op] in CALLS[call]
    assert ran.failed.errno == errno.EIO
    assert not (tmp_path / "ran").exists()


def test_every_step_but_the_last_can_end_the_start(around: Confinement, tmp_path: Path) -> None:
    """Cut off anywhere and ended by a step that can't be done, a plan runs nothing."""
    steps = [*around.setup, *around.each]
    for end in range(0, len(steps), 5):
        ran = attempt([*steps[:end], *IMPOSSIBLE], tmp_path / "ran")
        assert ran.failed is not None
        assert not (tmp_path / "ran").exists()


IMPOSSIBLE: tuple[ConfineStep, ...] = (Seccomp(b"\xff" * 8),)


def attempt(steps: Sequence[ConfineStep], mark: Path) -> confined.Ran:
    return confined.run(steps, ("/bin/sh", "-c", f"echo x >{mark}"), cwd=mark.parent)


# --- A machine that withholds something ---------------------------------------------------------

NO_USERS = ("ordinary", "no-user-namespaces")
WITHHELD = [
    # who, what is withheld -> what the refusal names, and the remedy
    (*NO_USERS, "with landlock", "user.max_user_namespaces"),
    ("ordinary", "no-user-namespaces,no-landlock", "no sandbox can be had", "max_user_namespaces"),
    ("same", "no-mounts", "with landlock", "seccomp=unconfined"),
    ("same", "no-mounts,no-landlock", "no sandbox can be had", "seccomp=unconfined"),
    ("same", "no-seccomp", "seccomp", "CONFIG_SECCOMP_FILTER"),
    ("same", "no-seccomp,no-mounts", "seccomp", "seccomp=unconfined"),
]


@pytest.mark.parametrize(("user", "hardships", "named", "remedy"), WITHHELD)
def test_a_machine_that_can_not_enforce_the_policy_runs_nothing(
    user: str, hardships: str, named: str, remedy: str, ground: Path
) -> None:
    """One sentence names what is missing, another what to do. There is no silent step down."""
    said = call(ground, "touch ran", user=user, hardships=hardships)
    assert "was not run" in said
    assert named in said
    assert remedy in said
    assert not (ground / "work/ran").exists()


@pytest.mark.parametrize(
    ("user", "hardships"), [NO_USERS, ("same", "no-mounts"), ("same", "no-landlock")]
)
def test_what_is_left_confines_once_the_operator_accepts_it(
    user: str, hardships: str, ground: Path
) -> None:
    """A lower tier is one: what it can hold, it holds."""
    script = f"touch ran; echo x >{ground}/outside"
    call(ground, script, "--accept", "all", user=user, hardships=hardships)
    assert (ground / "work/ran").exists()
    assert not (ground / "outside").exists()


def test_without_landlock_the_first_tier_still_stands(ground: Path) -> None:
    """Mounts and namespaces are the mechanism; nothing has to be accepted for a network that is
    off."""
    call(ground, f"touch ran; echo x >{ground}/outside", hardships="no-landlock")
    assert (ground / "work/ran").exists()
    assert not (ground / "outside").exists()


def test_on_a_full_disk_commands_are_as_confined_as_ever(ground: Path) -> None:
    """What a command may not make loses its name even if there is no room to keep it elsewhere."""
    full = str(ground / "work")
    script = (
        f"echo x >{ground}/outside; cat /etc/passwd >full; mkdir .fairlead; "
        "for n in $(seq 99); do [ -e .fairlead ] || break; sleep 0.1; done; ls -A"
    )
    said = call(
        ground, script, hardships="full-disk", environment={"FULL": full, "XDG_STATE_HOME": full}
    )
    assert "Read-only file system" in said
    assert "No space left on device" in said
    assert ".fairlead\n" not in said
    assert not (ground / "outside").exists()


# --- Places that are not what they were ---------------------------------------------------------


def test_a_root_that_does_not_exist_is_a_refusal(ground: Path) -> None:
    """It is not made, and not left out."""
    said = call(ground, "touch ran", "--writable", str(ground / "gone"))
    assert "no such directory" in said
    assert not (ground / "work/ran").exists()


async def test_a_root_that_vanishes_is_a_refusal_and_its_return_is_noticed(tmp_path: Path) -> None:
    """Also between two calls of one engine."""
    work, root = tmp_path / "work", tmp_path / "root"
    work.mkdir()
    root.mkdir()
    options = Options(cwd=work, writable_roots=(root,), accept=("all",))
    async with Engine(options) as engine:
        first = await engine.call("shell", {"command": ["touch", str(root / "a")]})
        root.joinpath("a").unlink()
        root.rmdir()
        second = await engine.call("shell", {"command": ["touch", "ran"]})
        root.mkdir()
        third = await engine.call("shell", {"command": ["touch", str(root / "b")]})
    assert first.structured["exit_code"] == third.structured["exit_code"] == 0
    assert "root" in str(second.content)
    assert "was not run" in str(second.content)
    assert not (work / "ran").exists()


async def test_what_is_replaced_is_mounted_anew_even_under_an_old_number(ground: Path) -> None:
    """File systems give a removed file's number to the next new one: a mount that was on the old
    one is gone, and what is new would be open."""
    work = ground / "work"
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    hooks = work / ".git/hooks"
    async with Engine(Options(cwd=work, accept=("all",))) as engine:
        for _ in range(5):
            shutil.rmtree(hooks)
            hooks.mkdir()
            answer = await engine.call("shell", {"command": ["touch", str(hooks / "pre-commit")]})
            assert answer.structured["exit_code"] == 1
            assert not (hooks / "pre-commit").exists()


def test_a_workspace_that_commands_may_not_enter_is_a_refusal(ground: Path) -> None:
    """One sentence, nothing run."""
    work = ground / "work"
    work.chmod(0o000)
    try:
        said = call(ground, "echo it ran", user="ordinary", directory=str(ground))
    finally:
        work.chmod(0o777)
    assert "it ran" not in said
    assert len(said.strip().splitlines()) == 1
    assert "work" in said


@pytest.mark.parametrize(
    "text", ["[sandbox", "[sandbox]\nnetwerk = 1\n", "\0", "[sandbox]\naccept = 3"]
)
def test_a_policy_file_with_a_mistake_runs_nothing(text: str, ground: Path) -> None:
    """The file is named, and the line where there is one."""
    policy = ground / "policy.toml"
    policy.write_text(text)
    said = call(ground, "touch ran", "--policy", str(policy))
    assert "policy.toml" in said
    assert len(said.strip().splitlines()) == 1
    assert not (ground / "work/ran").exists()


# --- How they are run ---------------------------------------------------------------------------


@pytest.fixture
def ground() -> Iterator[Path]:
    """Not below /tmp, which commands may write, and open to everybody."""
    with tempfile.TemporaryDirectory(prefix="fairlead-promises-", dir=GROUNDS) as top:
        for name in ("work", "home"):
            Path(top, name).mkdir()
        for path in (top, f"{top}/work", f"{top}/home"):
            os.chmod(path, 0o777)
        yield Path(top)


def call(
    ground: Path,
    script: str,
    *flags: str,
    user: str = "same",
    hardships: str = "",
    directory: str = "",
    environment: dict[str, str] | None = None,
) -> str:
    """What `fairlead call` answers, on whichever stream."""
    arguments = json.dumps({"command": ["/bin/sh", "-c", script], "timeout_ms": 60000})
    argv = [sys.executable, "-m", "fairlead", "call", *flags]
    argv += ["--cwd", str(ground / "work"), "shell", arguments]
    if hardships:
        argv = [sys.executable, "-m", "tests.kernel.hardships", hardships, *argv]
    done = subprocess.run(
        as_user(user, argv),
        cwd=directory or REPOSITORY,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(ground / "home"),
            "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.stdout + done.stderr
