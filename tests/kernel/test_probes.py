"""What confined commands try, for real: in every tier, as root and as an ordinary user."""

from __future__ import annotations

from itertools import chain

import pytest

from fairlead.model.sandbox import MISSING
from tests.kernel.people import users
from tests.kernel.probes import ALL
from tests.kernel.probes.model import Probe, Wish, judged
from tests.kernel.probes.table import TIERS, render, run, wrong
from tests.programs import require

FEWEST = 60  # probes that the table has to have
UP_TO_THE_MACHINE = {"shared-limits"}  # an ordinary user may have no control group


@pytest.mark.slow
@pytest.mark.timeout(400)  # a hundred programs and more, on a machine that has other things to do
@pytest.mark.parametrize("user", users())
@pytest.mark.parametrize("tier", TIERS)
def test_what_must_be_denied_is_denied_and_what_must_work_works(tier: str, user: str) -> None:
    """In the first tier without exception, but for limits where there is no control group. In a
    lower one, what gets through is what the tier's missing words admit, and each of those words is
    borne out by a probe."""
    if tier == "bubblewrap":
        require("bwrap")
    for program in {probe.needs for probe in ALL} - {""}:
        require(program)
    outcomes = run(tier, user)
    table = render({(tier, user): outcomes})
    assert not wrong(outcomes), "\n".join([*wrong(outcomes), table])
    assert len(outcomes) == len(ALL)
    missing = {word for one in outcomes for word in one.missing}
    borne_out = {word for one in outcomes for word in one.excuses}
    assert borne_out <= missing, table
    assert missing - borne_out <= UP_TO_THE_MACHINE, table  # a full machine ends what no limit does
    if tier == "namespaces":
        assert missing <= UP_TO_THE_MACHINE


def test_every_probe_has_a_name_of_its_own() -> None:
    """And there are more than enough of them, of both kinds."""
    assert len({probe.name for probe in ALL}) == len(ALL) > FEWEST
    assert {probe.wish for probe in ALL} == set(Wish)


def test_only_known_words_and_tiers_excuse_a_probe() -> None:
    """A word that no tier has would excuse nothing, unnoticed."""
    assert set(chain.from_iterable(probe.unless for probe in ALL)) <= set(MISSING)
    named = chain.from_iterable((*probe.not_in, *probe.own_in) for probe in ALL)
    assert set(named) <= set(TIERS) - {"namespaces"}


OPEN = Probe(name="p", wish=Wish.DENIED, code="", unless=("metadata",))
CLOSED = Probe(name="p", wish=Wish.DENIED, code="")
USEFUL = Probe(name="p", wish=Wish.WORKS, code="", not_in=("landlock",))


@pytest.mark.parametrize(
    ("probe", "tier", "missing", "got", "right"),
    [
        (CLOSED, "landlock", (), "denied", True),
        (CLOSED, "landlock", ("metadata",), "worked", False),
        (OPEN, "landlock", ("metadata",), "changed /x", True),
        (OPEN, "landlock", (), "changed /x", False),
        (OPEN, "landlock", ("metadata",), "ran in namespaces", False),
        (OPEN, "landlock", ("metadata",), "did not run", False),
        (OPEN, "landlock", ("metadata",), "ended by SIGKILL", False),
        (CLOSED, "landlock", (), "broken", False),  # it never tried
        (USEFUL, "namespaces", (), "worked", True),
        (USEFUL, "namespaces", (), "denied", False),
        (USEFUL, "landlock", (), "denied", True),
        (USEFUL, "landlock", (), "worked", False),  # the table would say less than is so
    ],
)
def test_a_probe_is_excused_by_a_missing_word_and_by_nothing_else(
    probe: Probe, tier: str, missing: tuple[str, ...], got: str, right: bool
) -> None:
    """Else a hole could hide behind a tier that is not the first."""
    assert judged(probe, tier, missing, got, "").right is right
