"""The plan in words: everything that a person would want to check is a line."""

from __future__ import annotations

from fairlead.model.access import (
    Access,
    Limits,
    Network,
    PathMode,
    PathRule,
    SandboxReport,
    SandboxType,
)
from fairlead.model.confine import ANYTHING, Confinement, Container, Loopback
from fairlead.model.frozen import replace
from fairlead.sandbox.confiner import Confined
from fairlead.sandbox.explain import facts, lines
from fairlead.sandbox.wrapper import Wrapper

ACCESS = Access(
    rules=(
        PathRule("/home/u/.ssh", PathMode.HIDE, ANYTHING, True, "secret"),
        PathRule("/work", PathMode.WRITE, ANYTHING, True, "workspace"),
        PathRule("/work/.git/hooks", PathMode.READ, ANYTHING, True, "protected"),
    ),
    absent=("/work/.fairlead",),
    devices=("/dev/kvm",),
    limits=Limits(memory=1024, open_files=9),
)
ALONE = Confinement(agent="a", setup=(Loopback(),))
SHARED = Confinement(agent="a", setup=())


def confined(
    kind: SandboxType = SandboxType.NAMESPACES,
    confinement: Confinement | None = ALONE,
    missing: tuple[str, ...] = (),
    wrapper: Wrapper | None = None,
    access: Access = ACCESS,
) -> Confined:
    report = SandboxReport(type=kind, tier=str(kind), missing=missing)
    return Confined(access=access, report=report, confinement=confinement, wrapper=wrapper)


def test_every_part_of_the_access_is_a_line() -> None:
    """With the reason for each rule; what stands further down wins."""
    said = lines(confined())
    assert said[:6] == [
        "tier namespaces",
        "ro /",
        "mask /home/u/.ssh (secret)",
        "rw /work (workspace)",
        "ro /work/.git/hooks (protected)",
        "watch /work/.fairlead (moved aside if it appears)",
    ]
    assert said[-2:] == ["limit memory 1024", "limit open_files 9"]
    assert "privileges none (no capability, no set-uid, system calls filtered)" in said
    (devices,) = [line for line in said if line.startswith("fresh /dev (")]
    assert devices.endswith(" kvm)")


def test_a_name_can_not_make_a_line_of_its_own() -> None:
    """A command may have made the directory that is named."""
    rule = PathRule("/work/a\nrw /home/.git", PathMode.READ, ANYTHING, True, "protected")
    access = replace(ACCESS, rules=(rule,), absent=("/work/\x1b[2J/.git/remotes",))
    said = lines(confined(access=access))
    assert r"ro /work/a\nrw /home/.git (protected)" in said
    assert r"watch /work/\x1b[2J/.git/remotes (moved aside if it appears)" in said


def test_what_is_missing_stands_first() -> None:
    """Right behind the tier's name."""
    assert lines(confined(missing=("metadata", "signals")))[0] == (
        "tier namespaces, without metadata, signals"
    )


def test_a_private_tmp_is_a_line() -> None:
    """It is in no rule."""
    assert "rw /tmp (private)" in lines(confined(access=replace(ACCESS, private_tmp=True)))


def net(one: Confined) -> str:
    (found,) = [line for line in lines(one) if line.startswith("net ")]
    return found


def test_the_network() -> None:
    """A loopback of its own where there is a namespace; where only the filter keeps commands off
    the network, none."""
    own, none = "net none (a loopback of its own)", "net none (no loopback either)"
    by_bwrap = SandboxType.BUBBLEWRAP
    container = Container(program="podman", options=(), image="i", shown=())
    assert net(confined()) == own
    assert net(confined(confinement=SHARED)) == none
    assert net(confined(SandboxType.LANDLOCK, SHARED)) == none
    assert net(confined(SandboxType.CONTAINER, replace(SHARED, container=container))) == own
    assert net(confined(by_bwrap, None, wrapper=Wrapper(argv=("bwrap", "--unshare-net")))) == own
    assert net(confined(by_bwrap, None, wrapper=Wrapper(argv=("bwrap",)))) == none
    assert net(confined(access=replace(ACCESS, network=Network.FULL))) == "net full"


def test_only_tiers_with_mounts_speak_of_mounts() -> None:
    """In the others /dev, /proc and /run are the host's."""
    assert any(line.startswith("fresh /proc") for line in lines(confined()))
    assert not any(
        line.startswith("fresh ") for line in lines(confined(SandboxType.LANDLOCK, SHARED))
    )
    lacking = lines(confined(missing=("pid-namespace",)))
    assert not any(line.startswith("fresh /proc") for line in lacking)


def test_the_same_as_data() -> None:
    """Everything that is a line is a fact."""
    assert facts(confined(missing=("signals",))) == {
        "type": "namespaces",
        "tier": "namespaces",
        "missing": ["signals"],
        "rules": [
            {"path": "/home/u/.ssh", "mode": "mask", "because": "secret"},
            {"path": "/work", "mode": "rw", "because": "workspace"},
            {"path": "/work/.git/hooks", "mode": "ro", "because": "protected"},
        ],
        "watched": ["/work/.fairlead"],
        "private_tmp": False,
        "network": "off",
        "devices": ["/dev/kvm"],
        "limits": {"memory": 1024, "open_files": 9},
    }
