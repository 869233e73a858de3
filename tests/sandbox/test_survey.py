"""From an operator's words to an `Access`: links, nesting, carve-outs, what is not there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fairlead.model.access import Access, Network, PathMode, SandboxPolicy
from fairlead.model.errors import Rejected
from fairlead.model.frozen import replace
from fairlead.model.sandbox import SandboxSettings
from fairlead.protect.gitdirs import protected
from fairlead.sandbox.survey import MOST_GLOBBED, Guarded, Surroundings, survey

READ, WRITE, HIDE = PathMode.READ, PathMode.WRITE, PathMode.HIDE
NOTHING = Guarded()


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    """A home and a workspace, as a real path."""
    place = Path(os.path.realpath(tmp_path))
    for name in ("home/.ssh", "work/.git/hooks", "work/src"):
        (place / name).mkdir(parents=True)
    return place


@pytest.fixture
def look(ground: Path) -> Callable[..., Access]:
    def survey_with(
        *, guarded: Guarded = NOTHING, environment: dict[str, str] | None = None, **said: object
    ) -> Access:
        settings = SandboxSettings(
            policy=SandboxPolicy.WORKSPACE_WRITE, workspace=ground / "work", exclude_slash_tmp=True
        )
        around = Surroundings(
            home=str(ground / "home"), environment=environment or {}, sockets=False
        )
        return survey(replace(settings, **said), around, guarded)  # type: ignore[arg-type]

    return survey_with


def modes(access: Access, ground: Path) -> dict[str, PathMode]:
    """The rules below our ground, by relative path."""
    top = f"{ground}/"
    return {r.path.removeprefix(top): r.mode for r in access.rules if r.path.startswith(top)}


def test_the_workspace_is_writable_and_secrets_are_hidden(
    look: Callable[..., Access], ground: Path
) -> None:
    """Nothing else is said: what no rule names is readable."""
    assert modes(look(), ground) == {"home/.ssh": HIDE, "work": WRITE}


def test_read_only_writes_nowhere(look: Callable[..., Access], ground: Path) -> None:
    """Not even in the workspace."""
    access = look(policy=SandboxPolicy.READ_ONLY)
    assert access.writable == ()


def test_a_protected_path_in_a_writable_root(look: Callable[..., Access], ground: Path) -> None:
    """It is carved out, and the deeper rule wins."""
    access = look(guarded=Guarded(read_only=(str(ground / "work/.git"),)))
    assert modes(access, ground)["work/.git"] is READ
    found = access.rule_for(str(ground / "work/.git/hooks/pre-commit"))
    assert found is not None
    assert found.mode is READ


def test_what_lies_above_a_carve_out_is_kept_in_place(
    look: Callable[..., Access], ground: Path
) -> None:
    """Else the directory could be moved away with the mount in it, and another one be made."""
    (ground / "work/a/b/.git").mkdir(parents=True)
    access = look(guarded=Guarded(read_only=(str(ground / "work/a/b/.git"),)))
    found = modes(access, ground)
    assert found["work/a"] is WRITE
    assert found["work/a/b"] is WRITE
    assert found["work/a/b/.git"] is READ


def test_a_root_below_another_is_one_root(look: Callable[..., Access], ground: Path) -> None:
    """A rule that says no more than the one above it is left out."""
    assert "work/src" not in modes(look(writable_roots=(ground / "work/src",)), ground)


def test_deny_inside_writable_inside_read_only(look: Callable[..., Access], ground: Path) -> None:
    """Each layer holds."""
    (ground / "work/src/keys").mkdir()
    access = look(deny_read=("src/keys",))
    assert modes(access, ground)["work/src/keys"] is HIDE
    assert modes(access, ground)["work"] is WRITE


def test_a_symbolic_link_stands_for_what_it_leads_to(
    look: Callable[..., Access], ground: Path
) -> None:
    """Roots and secrets are followed to the end: the link itself protects nothing."""
    (ground / "real").mkdir()
    (ground / "link").symlink_to(ground / "real")
    (ground / "vault").mkdir()
    (ground / "home/.aws").symlink_to(ground / "vault")
    found = modes(look(workspace=ground / "link"), ground)
    assert found["real"] is WRITE
    assert found["vault"] is HIDE
    assert "home/.aws" not in found


def test_globs_hide_what_matches(look: Callable[..., Access], ground: Path) -> None:
    """Relative ones begin at the workspace; files that begin with a dot count."""
    (ground / "work/src/.env").write_text("KEY=1")
    (ground / "work/.env").write_text("KEY=2")
    found = modes(look(deny_read=("**/.env",)), ground)
    assert found["work/.env"] is HIDE
    assert found["work/src/.env"] is HIDE


def test_an_exception_from_the_secrets(look: Callable[..., Access], ground: Path) -> None:
    """`allow_read` takes back what would be hidden."""
    assert "home/.ssh" not in modes(look(allow_read=("~/.ssh",)), ground)


def test_temporary_files(look: Callable[..., Access], ground: Path) -> None:
    """TMPDIR and /tmp are writable, unless they are excluded."""
    (ground / "scratch").mkdir()
    environment = {"TMPDIR": str(ground / "scratch")}
    assert modes(look(environment=environment), ground)["scratch"] is WRITE
    excluded = look(environment=environment, exclude_tmpdir=True)
    assert "scratch" not in modes(excluded, ground)
    assert "/tmp" in look(exclude_slash_tmp=False).writable
    assert "/tmp" not in look().writable


def test_start_up_files_of_a_writable_home(look: Callable[..., Access], ground: Path) -> None:
    """Where the home directory is the workspace, what a shell runs at its start stays as it is."""
    (ground / "home/.bashrc").write_text("")
    found = modes(look(workspace=ground / "home"), ground)
    assert found["home"] is WRITE
    assert found["home/.bashrc"] is READ


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"workspace": Path("/no/such")}, "the workspace /no/such can't be used: No such file"),
        ({"writable_roots": (Path("/no/such"),)}, "writable root /no/such can't be used"),
        ({"workspace": Path("/etc/passwd")}, "the workspace /etc/passwd is not a directory"),
        ({"workspace": Path("/")}, "confines nothing"),
        ({"writable_roots": (Path("/proc/self"),)}, "lies in /proc, which no command may write"),
        ({"workspace": Path("/run")}, "is /run, which is another one inside; name a directory"),
        ({"deny_read": ("",)}, "deny_read: expected a path or a glob, got an empty text"),
        ({"devices": ("tape",)}, "devices: no such name 'tape'; allowed: kvm, dri, fuse, nvidia"),
    ],
)
def test_what_can_not_be_had(
    look: Callable[..., Access], said: dict[str, object], refusal: str
) -> None:
    """A refusal says which and why."""
    with pytest.raises(Rejected, match=refusal):
        look(**said)


def test_a_workspace_that_is_hidden(look: Callable[..., Access], ground: Path) -> None:
    """It can't be both, and the refusal names the rule."""
    (ground / "home/.ssh/work").mkdir()
    with pytest.raises(Rejected, match=r"lies in .*/home/\.ssh, which is hidden \(secret\)"):
        look(workspace=ground / "home/.ssh/work")


def test_our_own_directory_is_hidden_or_watched(ground: Path) -> None:
    """It is hidden where it exists, and must not appear where a command could make it."""
    settings = SandboxSettings(
        policy=SandboxPolicy.WORKSPACE_WRITE, workspace=ground / "work", exclude_slash_tmp=True
    )
    own = (str(ground / "work/state"),)
    around = Surroundings(home=str(ground / "home"), environment={}, own=own, sockets=False)
    assert survey(settings, around, Guarded()).absent == own
    (ground / "work/state").mkdir()
    access = survey(settings, around, Guarded())
    assert access.absent == ()
    assert modes(access, ground)["work/state"] is HIDE


def test_a_socket_of_somebody_else_is_covered(ground: Path) -> None:
    """Whatever listens in the file system outside of the sandbox can't be connected to; one in
    the workspace is tolerated only where the network is shared anyway."""
    settings = SandboxSettings(
        policy=SandboxPolicy.WORKSPACE_WRITE, workspace=ground / "work", exclude_slash_tmp=True
    )
    around = Surroundings(home=str(ground / "home"), environment={})
    with socket.socket(socket.AF_UNIX) as outside, socket.socket(socket.AF_UNIX) as inside:
        for listener, name in ((outside, "docker.sock"), (inside, "work/db.sock")):
            listener.bind(os.fspath(ground / name))
            listener.listen()
        alone = modes(survey(settings, around, Guarded()), ground)
        shared = modes(survey(replace(settings, network=Network.FULL), around, Guarded()), ground)
    assert alone["docker.sock"] is alone["work/db.sock"] is HIDE
    assert shared["docker.sock"] is HIDE
    assert "work/db.sock" not in shared


def test_what_nobody_but_root_could_reach_needs_no_cover(
    look: Callable[..., Access], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command is root without root's rights: another user's closed directory is closed to it,
    and a mount made in its namespace could not get there either."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(os.path.realpath(made))
        place.chmod(0o711)
        for name, mode in (("closed", 0o700), ("open", 0o711)):
            (place / name).mkdir()
            (place / name / "key").touch()
            (place / name).chmod(mode)
        for name in ("geteuid", "getegid"):
            monkeypatch.setattr(os, name, lambda: 4321)
        monkeypatch.setattr(os, "getgroups", list)
        hidden = (f"{place}/closed/key", f"{place}/open/key")
        found = modes(look(deny_read=hidden, workspace=place), place)
    assert found["open/key"] is HIDE
    assert "closed/key" not in found


# --- What is where, in every combination --------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Links to make, what the operator says, and the rules that come of it beside the workspace
    and the secret that is always there."""

    rules: dict[str, PathMode] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    roots: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


GIT, HOOKS = "work/.git", "work/.git/hooks"
LAYOUTS = {
    "plain": Layout(),
    "a linked root": Layout(links={"l": "other"}, roots=("l",), rules={"other": WRITE}),
    "below a linked parent": Layout(links={"l": "other"}, roots=("l/a",), rules={"other/a": WRITE}),
    "a link to a link": Layout(
        links={"l": "m", "m": "other"}, roots=("l",), rules={"other": WRITE}
    ),
    "the same root twice": Layout(links={"l": "work"}, roots=("l", "work")),
    "a root below a root": Layout(roots=("work/src",)),
    "names that begin alike": Layout(roots=("workshop",), rules={"workshop": WRITE}),
    "a carve-out": Layout(protected=(HOOKS,), rules={GIT: WRITE, HOOKS: READ}),
    "open in closed": Layout(roots=(HOOKS,), protected=(GIT,), rules={GIT: READ, HOOKS: WRITE}),
    "closed in open in closed": Layout(
        roots=(HOOKS,),
        protected=(GIT,),
        deny=(f"{HOOKS}/k",),
        rules={GIT: READ, HOOKS: WRITE, f"{HOOKS}/k": HIDE},
    ),
    "protected and hidden": Layout(
        protected=("work/src",), deny=("work/src",), rules={"work/src": HIDE}
    ),
    "protected below hidden": Layout(
        protected=("work/src/a",), deny=("work/src",), rules={"work/src": HIDE}
    ),
    "hidden below hidden": Layout(deny=("other", "other/a"), rules={"other": HIDE}),
    "hidden by way of a link": Layout(links={"l": "other"}, deny=("l/a",), rules={"other/a": HIDE}),
    "hidden and shown": Layout(deny=("other",), allow=("other",)),
    "shown by way of a link": Layout(links={"l": "other"}, deny=("other",), allow=("l",)),
    "hidden, in it shown": Layout(deny=("other",), allow=("other/a",), rules={"other": HIDE}),
    "some of a glob shown": Layout(deny=("other/*",), allow=("other/a",), rules={"other/b": HIDE}),
    "a glob over what is not there": Layout(deny=("nowhere/*", "no?")),
    "a link that leads nowhere": Layout(links={"l": "gone"}, deny=("l",)),
    "a link in a circle": Layout(links={"l": "m", "m": "l"}, deny=("l",)),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(look: Callable[..., Access], ground: Path, layout: Layout) -> None:
    """One rule for a path: the deepest that says something, and of those for one path the
    strictest."""
    for name in ("other/a", "other/b", "workshop", "work/src/a", f"{HOOKS}/k"):
        (ground / name).mkdir(parents=True)
    for name, target in layout.links.items():
        (ground / name).symlink_to(target)
    access = look(
        guarded=Guarded(read_only=tuple(f"{ground}/{name}" for name in layout.protected)),
        writable_roots=tuple(ground / name for name in layout.roots),
        deny_read=tuple(f"{ground}/{name}" for name in layout.deny),
        allow_read=tuple(f"{ground}/{name}" for name in layout.allow),
    )
    found = {os.path.relpath(r.path, ground): r.mode for r in access.rules if below(r.path, ground)}
    assert found == {"home/.ssh": HIDE, "work": WRITE} | layout.rules
    paths = [rule.path.split("/") for rule in access.rules]
    assert paths == sorted(paths)
    assert all(os.path.realpath(rule.path) == rule.path for rule in access.rules)


def test_a_root_above_the_workspace(look: Callable[..., Access], ground: Path) -> None:
    """It is the root then; what holds the secret in it is kept in place."""
    access = look(writable_roots=(ground,))
    assert str(ground) in access.writable
    assert modes(access, ground) == {"home": WRITE, "home/.ssh": HIDE}


def below(path: str, directory: Path) -> bool:
    return Path(path).is_relative_to(directory)


def test_what_a_rule_stands_on_is_written_down(look: Callable[..., Access], ground: Path) -> None:
    """Device, number and kind, as they were when it was looked at."""
    (ground / "home/.netrc").write_text("")
    for rule in look().rules:
        seen = os.lstat(rule.path)
        assert (rule.identity.device, rule.identity.inode) == (seen.st_dev, seen.st_ino)
        assert rule.directory is os.path.isdir(rule.path)


def test_a_workspace_that_is_a_link_in_the_middle(
    look: Callable[..., Access], ground: Path
) -> None:
    """Relative patterns mean what they would mean there."""
    (ground / "real/in").mkdir(parents=True)
    (ground / "real/in/.env").write_text("")
    (ground / "way").symlink_to("real")
    found = modes(look(workspace=ground / "way/in", deny_read=("*.env", ".env")), ground)
    assert found["real/in"] is WRITE
    assert found["real/in/.env"] is HIDE


def test_a_pattern_that_hides_too_much(look: Callable[..., Access], ground: Path) -> None:
    """It is refused instead of half obeyed; as many as the limit is still obeyed."""
    (ground / "many").mkdir()
    for number in range(MOST_GLOBBED):
        (ground / f"many/f{number}").touch()
    found = modes(look(deny_read=(f"{ground}/many/*",)), ground)
    assert sum(name.startswith("many/") for name in found) == MOST_GLOBBED
    (ground / "many/one more").touch()
    with pytest.raises(Rejected, match=r"deny_read .*many/\*: more than 256 paths match"):
        look(deny_read=(f"{ground}/many/*",))


def test_magic_in_the_names_of_directories(tmp_path: Path) -> None:
    """The home and the workspace are meant as they are called."""
    place = Path(os.path.realpath(tmp_path))
    for name in ("h[o]me/.ssh", "home/.ssh", "w*rk", "work"):
        (place / name).mkdir(parents=True)
    for name in ("w*rk/.env", "work/.env"):
        (place / name).touch()
    settings = SandboxSettings(
        policy=SandboxPolicy.WORKSPACE_WRITE,
        workspace=place / "w*rk",
        exclude_slash_tmp=True,
        deny_read=("*.env", "~/.s?h"),
    )
    around = Surroundings(home=str(place / "h[o]me"), environment={}, sockets=False)
    found = modes(survey(settings, around, NOTHING), place)
    assert found == {"h[o]me/.ssh": HIDE, "w*rk": WRITE, "w*rk/.env": HIDE}


def test_home_itself_as_a_pattern(look: Callable[..., Access], ground: Path) -> None:
    """`~` alone is the whole of it."""
    assert modes(look(deny_read=("~",)), ground)["home"] is HIDE


def test_start_up_files_that_are_not_there_must_not_appear(
    look: Callable[..., Access], ground: Path
) -> None:
    """A shell obeys a new one just as well. Where the home is not writable nobody can make one."""
    (ground / "home/.bashrc").touch()
    access = look(workspace=ground / "home")
    assert f"{ground}/home/.zshrc" in access.absent
    assert f"{ground}/home/.config/git" in access.absent
    assert f"{ground}/home/.bashrc" not in access.absent
    assert look().absent == ()


def test_a_protected_link_is_kept_in_place(look: Callable[..., Access], ground: Path) -> None:
    """A mount on the link itself, and all above it: else it could lead elsewhere. What it leads to
    is protected as well; outside of the roots it can't be changed anyway."""
    (ground / "work/deep").mkdir()
    (ground / "work/deep/.claude").symlink_to("../src")
    access = look(
        guarded=Guarded(
            read_only=(f"{ground}/work/src",),
            links=(f"{ground}/work/deep/.claude", f"{ground}/home/elsewhere", f"{ground}/work/src"),
        )
    )
    assert modes(access, ground) == {
        "home/.ssh": HIDE,
        "work": WRITE,
        "work/deep": WRITE,
        "work/deep/.claude": READ,
        "work/src": READ,
    }
    (link,) = [rule for rule in access.rules if rule.link]
    seen = (ground / "work/deep/.claude").lstat()
    assert (link.identity.device, link.identity.inode) == (seen.st_dev, seen.st_ino)
    assert (link.directory, link.because) == (False, "protected link")


def test_start_up_files_by_way_of_links(look: Callable[..., Access], ground: Path) -> None:
    """As those have them who keep such files in a repository: every link on the way stays, and so
    does the file. A circle and a way without end are no way."""
    (ground / "home/dots/config/git").mkdir(parents=True)
    (ground / "home/dots/bashrc").touch()
    (ground / "home/rc").symlink_to("dots/bashrc")
    (ground / "home/.bashrc").symlink_to(ground / "home/rc")
    (ground / "home/.config").symlink_to("./../home/dots/config")
    (ground / "home/.zshrc").symlink_to(".zshrc")
    (ground / "home/.profile").symlink_to("nowhere")
    access = look(workspace=ground / "home")
    links = {os.path.relpath(rule.path, ground / "home") for rule in access.rules if rule.link}
    assert links == {".bashrc", "rc", ".config", ".zshrc", ".profile"}
    found = modes(access, ground)
    assert found["home/dots/bashrc"] is found["home/dots/config/git"] is READ
    assert found["home/dots"] is found["home/dots/config"] is WRITE


def test_who_makes_a_root_of_a_start_up_directory_means_it(
    look: Callable[..., Access], ground: Path
) -> None:
    """Or of what is in it."""
    (ground / "home/.config/fish/functions").mkdir(parents=True)
    access = look(writable_roots=(ground / "home", ground / "home/.config/fish/functions"))
    assert modes(access, ground)["home"] is WRITE
    assert "home/.config/fish" not in {
        name for name, mode in modes(access, ground).items() if mode is READ
    }


def test_a_file_that_leads_to_a_git_directory(look: Callable[..., Access], ground: Path) -> None:
    """Of a submodule: the file itself is protected, so that it leads to no other; where it leads,
    commits work and hooks do not change."""
    modules = ground / "work/.git/modules/sub"
    for directory in ("hooks", "info", "objects", "refs"):
        (modules / directory).mkdir(parents=True)
    for name in (".git", ".git/modules/sub"):
        (ground / "work" / name / "HEAD").write_text("ref: refs/heads/main\n")
        (ground / "work" / name / "config").write_text("[core]\n")
        for directory in ("objects", "refs"):
            (ground / "work" / name / directory).mkdir(exist_ok=True)
    (ground / "work/sub").mkdir()
    (ground / "work/sub/.git").write_text("gitdir: ../.git/modules/sub\n")
    guarded = protected(str(ground / "work"), git_commit=True)
    access = look(
        guarded=Guarded(
            read_only=guarded.read_only,
            absent=guarded.absent,
            pinned=guarded.writable_mountpoints,
        )
    )
    found = modes(access, ground)
    assert found["work/sub/.git"] is READ
    assert found["work/sub"] is found["work/.git"] is found["work/.git/modules"] is WRITE
    assert found["work/.git/modules/sub/config"] is found["work/.git/modules/sub/hooks"] is READ
    writable = access.rule_for(str(modules / "objects/00"))
    assert writable is not None
    assert writable.mode is WRITE


ON_OTHER_MOUNTS = """
import ctypes, json, os, sys
from pathlib import Path
from fairlead.model.access import SandboxPolicy
from fairlead.model.sandbox import SandboxSettings
from fairlead.protect.gitdirs import protected
from fairlead.sandbox.survey import MOST_GLOBBED, Guarded, Surroundings, survey
libc, ground = ctypes.CDLL(None, use_errno=True), Path(sys.argv[1])
def done(result):
    assert result == 0, os.strerror(ctypes.get_errno())
user = 0 if os.geteuid() == 0 else 0x10000000
done(libc.unshare(0x20000 | user))
done(libc.mount(b"none", b"/", None, 0x44000, None))
for name in ("work", "work/mounted", "other"):
    (ground / name).mkdir(exist_ok=True)
    done(libc.mount(b"tmpfs", os.fsencode(ground / name), b"tmpfs", 0, None))
for name in ("work/mounted/.git/hooks", "other/root"):
    (ground / name).mkdir(parents=True)
settings = SandboxSettings(policy=SandboxPolicy.WORKSPACE_WRITE, workspace=ground / "work",
    writable_roots=(ground / "other/root",), exclude_slash_tmp=True)
around = Surroundings(home=str(ground / "home"), environment={}, sockets=False)
hooks = os.fspath(ground / "work/mounted/.git/hooks")
access = survey(settings, around, Guarded(read_only=(hooks,)))
print(json.dumps([(os.path.relpath(rule.path, ground), rule.mode, rule.identity.device)
                  for rule in access.rules if rule.path.startswith(str(ground))]))
"""


def test_roots_on_other_mounts(ground: Path) -> None:
    """A root may be a mount, lie in one, and have one in it: each rule has the device that it is
    really on, and what holds a carve-out is kept in place across them."""
    done = subprocess.run(
        [sys.executable, "-c", ON_OTHER_MOUNTS, str(ground)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = {name: (mode, device) for name, mode, device in json.loads(done.stdout)}
    assert {name: mode for name, (mode, _) in rows.items()} == {
        "home/.ssh": "mask",
        "other/root": "rw",
        "work": "rw",
        "work/mounted": "rw",
        "work/mounted/.git": "rw",
        "work/mounted/.git/hooks": "ro",
    }
    devices = {name: device for name, (_, device) in rows.items()}
    assert devices["work/mounted"] == devices["work/mounted/.git/hooks"]
    assert len({devices[name] for name in ("home/.ssh", "other/root", "work", "work/mounted")}) == 4


def test_a_workspace_that_only_root_could_enter(
    look: Callable[..., Access], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command could work there: a refusal that says what to do, and no failed mount."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(os.path.realpath(made))
        (place / "closed" / "inner").mkdir(parents=True)
        place.chmod(0o711)
        (place / "closed").chmod(0o700)
        for name in ("geteuid", "getegid"):
            monkeypatch.setattr(os, name, lambda: 4321)
        monkeypatch.setattr(os, "getgroups", list)
        for path in (place / "closed", place / "closed" / "inner"):
            with pytest.raises(Rejected, match="can't be entered without root's rights"):
                look(workspace=path)
