"""The order of the steps, and what each kind of rule becomes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from fairlead.model.access import Access, Network, PathMode, PathRule
from fairlead.model.confine import (
    ANYTHING,
    Attribute,
    Confinement,
    ConfineStep,
    DropCapabilities,
    Identity,
    Init,
    Landlock,
    Loopback,
    MakeNode,
    MountAttach,
    MountAttributes,
    MountNew,
    MountTree,
    Namespace,
    Node,
    NoNewPrivileges,
    Seccomp,
    Unshare,
    UserNamespace,
)
from fairlead.model.frozen import replace
from fairlead.model.sandbox import Host
from fairlead.sandbox.namespaces import MASKED_DIRECTORY, MASKED_FILE, render
from fairlead.sandbox.system import System

HOST = Host(uid=1000, gid=1000, landlock_abi=7)
SYSTEM = System(
    proc_read_only=("sys",),
    proc_masked=(("/proc/kcore", False),),
    sys_masked=("/sys/firmware",),
    run=True,
    run_kept=(("/run/systemd/resolve", True),),
    devices=("null",),
)
PROGRAM = b"\6\0\0\0\0\0\xff\x7f"


def rule(path: str, mode: PathMode, inode: int, *, directory: bool = True) -> PathRule:
    return PathRule(path, mode, Identity(8, inode), directory, "a test")


WORK = rule("/work", PathMode.WRITE, 1)
HOOKS = rule("/work/.git/hooks", PathMode.READ, 2)
SECRET = rule("/home/u/.netrc", PathMode.HIDE, 3, directory=False)


def rendered(*rules: PathRule, host: Host = HOST, **said: Any) -> Confinement:
    access = replace(Access(rules=rules), **said)
    return render(access, host, SYSTEM, agent="a", filter_program=PROGRAM)


def at(steps: tuple[ConfineStep, ...], wanted: ConfineStep) -> int:
    return steps.index(wanted)


def first(steps: tuple[ConfineStep, ...], kind: type) -> int:
    return next(n for n, step in enumerate(steps) if isinstance(step, kind))


def test_what_stays_writable_is_copied_before_all_becomes_read_only() -> None:
    """And is attached after it; a carve-out in it later still."""
    setup = rendered(WORK, HOOKS).setup
    copied = at(setup, MountTree(1, "/work", WORK.identity))
    closed = at(setup, MountAttributes("/", Attribute.READ_ONLY | Attribute.NO_DEVICES))
    attached = at(setup, MountAttach(1, "/work", WORK.identity, Attribute.NO_DEVICES))
    carved = at(setup, MountAttach(0, HOOKS.path, HOOKS.identity, Attribute.READ_ONLY))
    assert copied < closed < attached < carved


def test_each_mount_is_of_what_was_looked_at() -> None:
    """Both its source and its place have the identity that the survey saw."""
    setup = rendered(WORK, HOOKS, SECRET).setup
    named = {
        step.path: step.identity
        for step in setup
        if isinstance(step, MountAttach | MountTree) and step.identity != ANYTHING
    }
    assert named == {one.path: one.identity for one in (WORK, HOOKS, SECRET)}


def test_what_is_hidden_is_covered() -> None:
    """A directory by one that nobody may enter, a file by one that nobody may read."""
    setup = rendered(SECRET, rule("/home/u/.ssh", PathMode.HIDE, 4)).setup
    covers = {
        after.path: before.path
        for before, after in itertools.pairwise(setup)
        if isinstance(before, MountTree) and isinstance(after, MountAttach)
    }
    assert covers["/home/u/.netrc"] == MASKED_FILE
    assert covers["/home/u/.ssh"] == MASKED_DIRECTORY
    made = {step.path: step.mode for step in setup if isinstance(step, MakeNode)}
    assert made[MASKED_FILE] == made[MASKED_DIRECTORY] == 0


def test_the_filter_comes_last_and_privileges_go_before_it() -> None:
    """It would deny the steps that stand before it."""
    setup = rendered(WORK).setup
    kinds = [type(step) for step in setup]
    assert kinds[-1] is Seccomp
    assert kinds[-2] is DropCapabilities
    assert kinds.index(NoNewPrivileges) < kinds.index(Landlock) < kinds.index(DropCapabilities)
    assert max(n for n, kind in enumerate(kinds) if kind in (MountNew, MountAttach)) < kinds.index(
        NoNewPrivileges
    )


def test_without_network_there_is_a_loopback() -> None:
    """A namespace of its own, and `lo` is up in it; with the network full there is neither."""
    setup = rendered(WORK).setup
    assert Loopback() in setup
    (unshare,) = [step for step in setup if isinstance(step, Unshare)]
    assert unshare.namespaces & Namespace.NET
    shared = rendered(WORK, network=Network.FULL).setup
    assert Loopback() not in shared
    (unshare,) = [step for step in shared if isinstance(step, Unshare)]
    assert not unshare.namespaces & Namespace.NET


def test_everybody_stays_who_he_is() -> None:
    """Whoever it is maps himself; root needs no user namespace if none can be had."""
    assert UserNamespace("1000 1000 1", "1000 1000 1") in rendered(WORK).setup
    root = replace(HOST, root=True, uid=0, gid=0)
    assert rendered(WORK, host=root).setup[0] == UserNamespace("0 0 1", "0 0 1")
    bare = rendered(WORK, host=replace(root, user_namespaces=False)).setup
    assert not any(isinstance(step, UserNamespace) for step in bare)
    assert isinstance(bare[0], Unshare)


def test_where_no_proc_can_be_mounted_there_is_no_pid_namespace() -> None:
    """The old /proc would be a lie in one."""
    confinement = rendered(WORK, host=replace(HOST, new_proc=False))
    assert not any(isinstance(s, MountNew) and s.kind == "proc" for s in confinement.setup)


def test_run_is_replaced_and_what_programs_need_of_it_put_back() -> None:
    """Read-only, and closed afterwards: the sockets of daemons are gone."""
    setup = rendered(WORK).setup
    fresh = next(n for n, s in enumerate(setup) if isinstance(s, MountNew) and s.path == "/run")
    kept = [s for s in setup if isinstance(s, MountAttach) and s.path == "/run/systemd/resolve"]
    assert len(kept) == 1
    assert kept[0].attributes is Attribute.READ_ONLY
    assert fresh < at(setup, kept[0])
    assert at(setup, kept[0]) < at(
        setup, MountAttributes("/run", Attribute.READ_ONLY, recursive=False)
    )


def test_a_workspace_below_a_private_tmp_keeps_its_place() -> None:
    """Places to attach it to are made in the fresh /tmp."""
    work = rule("/tmp/a/work", PathMode.WRITE, 9)
    setup = rendered(work, private_tmp=True).setup
    fresh = next(n for n, s in enumerate(setup) if isinstance(s, MountNew) and s.path == "/tmp")
    made = [s.path for s in setup[fresh:] if isinstance(s, MakeNode)]
    assert made[:2] == ["/tmp/a", "/tmp/a/work"]
    assert all(s.node is Node.DIRECTORY for s in setup[fresh + 1 : fresh + 3])  # type: ignore[union-attr]
    assert MountAttach(1, "/tmp/a/work", ANYTHING, Attribute.NO_DEVICES) in setup


def test_each_command_has_a_domain_of_its_own_where_the_kernel_has_scopes() -> None:
    """So that it can signal neither its guard nor its neighbours."""
    assert any(isinstance(step, Landlock) and step.scopes == 2 for step in rendered(WORK).each)
    assert rendered(WORK, host=replace(HOST, landlock_abi=5)).each == ()


@pytest.mark.parametrize(("abi", "scoped"), [(5, False), (6, True), (7, True)])
def test_no_abstract_socket_and_no_signal_leads_out(abi: int, scoped: bool) -> None:
    """Both scopes stand around all commands, where the kernel has them."""
    setup = rendered(WORK, host=replace(HOST, landlock_abi=abi)).setup
    assert (Landlock(scopes=3) in setup) is scoped
    assert any(isinstance(step, Landlock) for step in setup) is scoped


def test_only_what_is_inside_counts() -> None:
    """Everything about files comes behind `Init`: the process outside keeps its own view."""
    setup = rendered(WORK).setup
    assert first(setup, Init) < first(setup, MountTree)


def test_equal_accesses_have_equal_confinements() -> None:
    """So that the commands of an agent share one."""
    assert rendered(WORK, HOOKS) == rendered(WORK, HOOKS)
    assert hash(rendered(WORK)) == hash(rendered(WORK))
    assert rendered(WORK) != rendered(WORK, HOOKS)


def test_only_roots_are_copied_ahead() -> None:
    """A launcher holds a few trees at a time. A directory that is only kept in place is copied
    from the root around it, which stands by then; what is open below a carve-out is a root."""
    git = rule("/work/.git", PathMode.WRITE, 5)
    opened = rule("/work/.git/hooks/open", PathMode.WRITE, 6)
    after = rule("/work/other", PathMode.WRITE, 7)
    setup = rendered(WORK, git, HOOKS, opened, after).setup
    closed = first(setup, MountAttributes)
    ahead = [step.path for step in setup[:closed] if isinstance(step, MountTree) and step.slot]
    assert ahead[:2] == ["/work", opened.path]
    assert not {git.path, after.path} & set(ahead)
    place = at(setup, MountTree(0, git.path, git.identity))
    put = [(s.slot, s.path) for s in setup if isinstance(s, MountAttach)]
    assert isinstance(setup[place + 1], MountAttach)
    in_order = [(1, "/work"), (0, git.path), (0, HOOKS.path), (2, opened.path), (0, after.path)]
    assert [one for one in put if one[1].startswith("/work")] == in_order


def test_slots_suffice_for_any_number_of_repositories() -> None:
    """There are 64, and one of them is the scratch one."""
    pins = [rule(f"/work/r{n:04}", PathMode.WRITE, n) for n in range(500)]
    setup = rendered(WORK, *pins).setup
    assert max(step.slot for step in setup if isinstance(step, MountTree)) < 64


def test_without_network_namespaces_none_is_made() -> None:
    """The filter is another one then."""
    setup = rendered(WORK, host=replace(HOST, net_namespaces=False)).setup
    (unshare,) = [step for step in setup if isinstance(step, Unshare)]
    assert not unshare.namespaces & Namespace.NET
    assert Loopback() not in setup


def test_the_kernel_s_switches_are_read_only_in_the_new_proc() -> None:
    """And what tells too much of it is covered, behind the mount of /proc itself."""
    setup = rendered(WORK).setup
    proc = next(n for n, s in enumerate(setup) if isinstance(s, MountNew) and s.kind == "proc")
    assert proc < at(setup, MountAttach(0, "/proc/sys", ANYTHING, Attribute.READ_ONLY))
    assert proc < at(setup, MountAttach(0, "/proc/kcore", ANYTHING, Attribute.READ_ONLY))
    assert MountAttach(0, "/sys/firmware", ANYTHING, Attribute.READ_ONLY) in setup
