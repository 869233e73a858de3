"""All sessions: ids, capacity, eviction, memory of the ended, and whose they are."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.model.errors import BadRequest, Rejected, UnknownSession
from fairlead.model.limits import Capacity
from fairlead.session.session import Session
from fairlead.session.store import FIRST_ID, LAST_ID, SessionStore
from fairlead.testing import FakeProcess, FakeSpawner
from tests.session.house import House, house

SMALL = Capacity(live=6, warn_at=5, protected=2)


async def stays(process: FakeProcess) -> int:
    """Runs until its input ends; `leaves` in its script makes that at once."""
    if "leaves" not in process.env.argv[-1]:
        while await process.read():
            pass
    return 0


def played(**said: object) -> House:
    return House(spawner=FakeSpawner(stays), **said)  # type: ignore[arg-type]


async def full(home: House, **said: object) -> list[Session]:
    """A house with as many running sessions as one agent may have, oldest first."""
    return [await home.start(f"number {n}", stdin="open", **said) for n in range(6)]


def active(home: House, agent: str = "default") -> list[int]:
    return [one.id for one in home.store.of(agent) if one.running]


def test_ids_are_random_and_unique() -> None:
    """Numbers lie in 1000..99999, never twice, and are not given out in order."""
    store = SessionStore(Capacity())
    ids = [store.reserve_id() for _ in range(5000)]
    assert len(set(ids)) == 5000
    assert min(ids) >= FIRST_ID == 1000
    assert max(ids) <= LAST_ID == 99_999
    assert ids != sorted(ids)
    assert ids != [SessionStore(Capacity()).reserve_id() for _ in range(5000)]


def test_a_released_id_is_free_again() -> None:
    """An id of which nothing came is not lost."""
    store = SessionStore(Capacity())
    number = store.reserve_id(4711)
    with pytest.raises(BadRequest, match="session 4711 exists already"):
        store.reserve_id(4711)
    store.release_id(number)
    assert store.reserve_id(4711) == 4711


def test_ids_that_run_out_are_an_error_not_a_hang() -> None:
    """When half of all numbers are taken a further one is refused."""
    store = SessionStore(Capacity())
    for _ in range((LAST_ID - FIRST_ID) // 2 + 1):
        store.reserve_id()
    with pytest.raises(Rejected, match="too many sessions"):
        store.reserve_id()


async def test_the_default_capacity_is_64_with_a_warning_at_60() -> None:
    """The sixtieth session comes with a warning, the sixty-fifth evicts one."""
    home = played()
    for _ in range(59):
        await home.start("stays", stdin="open")
    assert not home.warnings
    await home.start("stays", stdin="open")
    assert home.warnings == (
        "60 of 64 sessions are in use; end those you no longer need with kill_session",
    )
    for _ in range(4):
        await home.start("stays", stdin="open")
    assert "64 of 64" in home.warnings[0]
    assert len(active(home)) == 64
    await home.start("stays", stdin="open")
    assert "was evicted to make room" in home.warnings[0]
    assert len(active(home)) == 64
    await home.close()


async def test_the_least_recently_used_ended_one_goes_first() -> None:
    """One that has ended and was not reported goes before an older one that lives."""
    home = played(capacity=SMALL)
    sessions = await full(home)
    sessions[2].close_stdin()
    await sessions[2].wait_done(30)
    await home.start("one more", stdin="open")
    assert home.warnings[0] == (
        f"session {sessions[2].id} was evicted to make room; it had ended: /bin/bash -c 'number 2'"
    )
    assert all(one.running for one in sessions if one is not sessions[2])
    await home.close()


async def test_the_least_recently_used_live_one_goes_next() -> None:
    """With nothing ended the one that was used longest ago is ended, and says by whom."""
    home = played(capacity=SMALL)
    sessions = await full(home)
    home.store.get("default", sessions[0].id)  # used just now
    await home.start("one more", stdin="open")
    assert home.warnings[0] == (
        f"session {sessions[1].id} was evicted to make room; it was running and has been ended: "
        "/bin/bash -c 'number 1'"
    )
    assert sessions[1].ending is not None
    assert sessions[1].ending.killed_by == (
        "eviction: too many sessions, and this was the least recently used"
    )
    assert sessions[0].running
    assert home.store.get("default", sessions[1].id) is sessions[1]  # still readable
    await home.close()


async def test_the_last_used_ones_are_protected() -> None:
    """Ended ones among the last used stay while an older one lives."""
    home = played(capacity=SMALL)
    sessions = await full(home)
    for one in sessions[-2:]:
        one.close_stdin()
        await one.wait_done(30)
    assert home.store.candidate("default") is sessions[0]
    await home.close()


async def test_a_session_that_a_call_works_with_is_never_evicted() -> None:
    """Neither one that is being typed into, nor one whose first call has not returned."""
    home = played(capacity=SMALL)
    sessions = await full(home)
    async with sessions[0].interaction:
        with sessions[1].in_call():
            assert home.store.candidate("default") is sessions[2]
            for one in sessions[2:4]:
                await one.interaction.acquire()
            assert home.store.candidate("default") is sessions[4]  # protected, but idle
            for one in sessions[4:]:
                await one.interaction.acquire()
            with pytest.raises(Rejected, match="6 sessions are in use by calls"):
                await home.start("one more")
            assert all(one.running for one in sessions)
    await home.close()


async def test_places_are_kept_for_sessions_that_are_starting() -> None:
    """Twenty starts at the same moment never make more sessions than are allowed."""
    home = played(capacity=SMALL)
    started = await asyncio.gather(*(home.start("stays", stdin="open") for _ in range(20)))
    assert len({one.id for one in started}) == 20
    assert len(active(home)) == 6
    evicted = [one for one in started if not one.running]
    assert len(evicted) == 14
    await home.close()


async def test_a_reported_end_frees_the_place() -> None:
    """Once the agent knows, a session is remembered and counts no more."""
    home = played(capacity=SMALL)
    for _ in range(30):
        session = await home.start("leaves")
        await session.wait_done(30)
        home.store.retire(session)
        assert home.store.is_retired(session)
        assert not home.warnings
    assert len(list(home.store.of("default"))) == 30
    await home.close()


async def test_a_living_descendant_keeps_the_place() -> None:
    """A command that left a server behind is in use until that is gone, though it is reported."""
    capacity = Capacity(live=3, warn_at=3, protected=1)
    async with house(capacity=capacity) as home:
        sessions = []
        for _ in range(3):
            sessions.append(await home.run("sleep 300 & :"))
            home.store.retire(sessions[-1])
            assert home.store.is_retired(sessions[-1])
        await home.start("sleep 300")
        assert home.warnings[0] == (
            f"session {sessions[0].id} was evicted to make room; it had ended, and its "
            "descendants have been ended: /bin/bash -c 'sleep 300 & :'"
        )
        assert not sessions[0].tree_alive
        assert sessions[1].tree_alive
        await sessions[1].end(by="a test")
        await home.start("sleep 300")
        assert [text for text in home.warnings if "evicted" in text] == []


async def test_remembered_sessions_are_bounded_by_count() -> None:
    """The oldest are forgotten, their logs closed, their ids free."""
    home = played(capacity=Capacity(remembered=3))
    sessions = []
    for _ in range(5):
        sessions.append(await home.start("leaves"))
        await sessions[-1].wait_done(30)
        home.store.retire(sessions[-1])
    assert list(home.store.of("default")) == sessions[2:]
    with pytest.raises(UnknownSession, match="it never existed or is forgotten"):
        home.store.get("default", sessions[0].id)
    assert home.store.reserve_id(sessions[0].id) == sessions[0].id
    await home.close()


async def test_remembered_sessions_are_bounded_by_bytes() -> None:
    """Long outputs push older ones out, whatever their number."""
    async with house(capacity=Capacity(remembered_bytes=250_000)) as home:
        sessions = []
        for _ in range(4):
            sessions.append(await home.run("head -c 100000 /dev/zero"))
            home.store.retire(sessions[-1])
        assert list(home.store.of("default")) == sessions[2:]
        assert sessions[0].log.kept_bytes == 0
        assert sessions[3].log.kept_bytes == 100_000


async def test_an_unknown_number_is_told_who_lives() -> None:
    """Those that still run: an ended one, remembered or not, is no help."""
    home = played(capacity=SMALL)
    ended = await home.run("ended")
    living = await home.start("living", stdin="open")
    with pytest.raises(UnknownSession) as caught:
        home.store.get("default", 1)
    assert str(caught.value).endswith(f"; living sessions: {living.id}")
    assert home.store.get("default", ended.id) is ended


async def test_another_agents_session_does_not_exist() -> None:
    """Ids, lists, chunks and capacity are each agent's own."""
    home = played(capacity=SMALL)
    mine = await home.start("mine", stdin="open", agent="a")
    chunk = mine.remember_chunk(0, 1)
    await full(home, agent="b")
    with pytest.raises(UnknownSession, match=f"unknown session_id {mine.id}: .*living sessions: "):
        home.store.get("b", mine.id)
    with pytest.raises(UnknownSession, match="there is no living session"):
        home.store.get("c", mine.id)
    with pytest.raises(UnknownSession, match=f"unknown chunk_id {chunk}"):
        home.store.by_chunk("b", chunk)
    assert home.store.by_chunk("a", chunk) is mine
    await home.start("one more of b", stdin="open", agent="b")
    assert mine.running
    await home.close()


async def test_forgetting_an_agent_forgets_its_sessions() -> None:
    """Nothing of it is left, and the others keep theirs."""
    home = played()
    mine = await home.start("leaves", agent="a")
    other = await home.start("leaves", agent="b")
    await asyncio.gather(mine.wait_done(30), other.wait_done(30))
    home.store.forget_agent("a")
    assert home.store.everyone() == [other]
    assert home.store.reserve_id(mine.id) == mine.id
    await home.close()
