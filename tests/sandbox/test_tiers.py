"""What a tier lacks, what the operator accepts, and what a refusal tells him to do."""

from __future__ import annotations

import pytest

from fairlead.model.access import SandboxReport, SandboxType
from fairlead.model.errors import Rejected
from fairlead.model.frozen import replace
from fairlead.model.sandbox import MISSING, Host
from fairlead.sandbox.tiers import Fit, check_accept, demand, nothing_confines, remedy

HOST = Host(landlock_abi=7)
LANDLOCK = SandboxType.LANDLOCK


def test_a_tier_that_lacks_nothing_will_do() -> None:
    """Its report has its name and nothing missing."""
    assert demand(Fit(type=SandboxType.NAMESPACES), (), HOST) == SandboxReport(
        type=SandboxType.NAMESPACES, tier="namespaces", missing=()
    )


@pytest.mark.parametrize("word", MISSING)
def test_each_lack_is_a_refusal_unless_accepted(word: str) -> None:
    """By exactly its own word, or by `all`. The refusal says what it means and how to accept it;
    accepted, it is still in the report."""
    fit = Fit(type=LANDLOCK, missing=(word,))
    with pytest.raises(Rejected) as refused:
        demand(fit, tuple(other for other in MISSING if other != word), HOST)
    said = str(refused.value)
    assert f"with landlock, {MISSING[word]}. The command was not run." in said
    assert said.endswith(f"or accept less: --accept {word}")
    for accepted in ((word,), ("all",), tuple(MISSING)):
        assert demand(fit, accepted, HOST).missing == (word,)


def test_of_several_lacks_only_the_unaccepted_are_named() -> None:
    """All of those at once, so that nobody has to try again and again."""
    fit = Fit(type=LANDLOCK, missing=("metadata", "terminals", "signals"))
    with pytest.raises(Rejected, match=r"--accept metadata,signals$") as refused:
        demand(fit, ("terminals",), HOST)
    assert MISSING["terminals"] not in str(refused.value)


def test_words_to_accept() -> None:
    """Only known ones: a typing mistake is no consent."""
    assert check_accept(["metadata", "all"]) == ("metadata", "all")
    assert check_accept(()) == ()
    with pytest.raises(Rejected, match="accept: no such word 'meta'; allowed: protected-names, "):
        check_accept(["metadata", "meta"])
    with pytest.raises(Rejected, match="no such word 'ALL'"):
        check_accept(["ALL"])


BARE = replace(HOST, launcher=False)
UNSHARED = replace(HOST, user_namespaces=False)
APPARMOR = ("user namespaces", "user namespace: EPERM (AppArmor: kernel.apparmor_…=1)")
REMEDIES = [
    (BARE, "install gcc"),
    (BARE, "install bubblewrap"),
    (replace(BARE, bubblewrap="/usr/bin/bwrap"), "Build the launcher"),
    (replace(UNSHARED, why=(APPARMOR,)), "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
    (UNSHARED, "sysctl user.max_user_namespaces=15000"),
    (UNSHARED, "--security-opt seccomp=unconfined"),
    (replace(HOST, new_proc=False), "--security-opt systempaths=unconfined"),
    (replace(HOST, groups=False), "systemd-run --user --scope -p Delegate=yes"),
    (HOST, "`fairlead doctor` says what this machine lacks"),
    (replace(BARE, platform="darwin"), "On Linux all of it can be had"),
    (replace(BARE, platform="win32"), "run Fairlead in WSL 2"),
]


@pytest.mark.parametrize(("host", "words"), REMEDIES)
def test_a_remedy_is_something_to_do(host: Host, words: str) -> None:
    """The command to type, for the likeliest reason."""
    assert words in remedy(host)


@pytest.mark.parametrize(
    "host", [replace(BARE, user_namespaces=False), replace(BARE, bubblewrap="/usr/bin/bwrap")]
)
def test_bubblewrap_is_no_remedy_where_it_is_no_help(host: Host) -> None:
    """It needs user namespaces as well, and installing it twice helps nobody."""
    assert "install bubblewrap" not in remedy(host)


def test_where_nothing_confines() -> None:
    """Each mechanism with the reason why not, that nothing ran, and what to do."""
    host = replace(BARE, why=(("launcher", "no compiler"), ("bubblewrap", "not installed")))
    said = str(nothing_confines(host))
    assert "(launcher: no compiler; bubblewrap: not installed). The command was not run. " in said
    assert remedy(host) in said
    assert "(no mechanism was found)" in str(nothing_confines(BARE))
