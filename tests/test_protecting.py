"""Which command is told of what appears, and when nobody is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from fairlead.model.access import Access, Denial, PathMode, PathRule
from fairlead.model.confine import Identity
from fairlead.model.params import ExecParams
from fairlead.protect import repositories, watched
from fairlead.protect.guard import MOVED, NAME
from fairlead.protect.inotify import Inotify
from fairlead.protecting import Protector
from fairlead.session.budget import MemoryBudget
from fairlead.session.log import OutputLog
from fairlead.session.session import Session

PATIENCE = 60.0


class Ground:
    """A protector over one writable root, and sessions that begin and end when a test says so."""

    def __init__(self, top: Path) -> None:
        self.root = top / "work"
        self.root.mkdir()
        self.surveys = 0
        self.protector = Protector(str(top / "state"), self._survey)
        self.access = self.look()

    def look(self) -> Access:
        found = os.stat(self.root)
        rule = PathRule(
            str(self.root),
            PathMode.WRITE,
            Identity(found.st_dev, found.st_ino),
            True,
            "workspace",
        )
        return Access(rules=(rule,), absent=(f"{self.root}/.claude",))

    def begin(self, access: Access | None = None) -> tuple[Session, Callable[[], None]]:
        params = ExecParams(call_id="c", tool="t", argv=("true",), cwd=self.root)
        log = OutputLog(max_bytes=1000, budget=MemoryBudget(1000))
        session = Session(1, params, log)
        leave = self.protector.over(session, self.access if access is None else access)
        return session, leave

    def make_repository(self, name: str) -> None:
        git = self.root / name / ".git"
        (git / "hooks").mkdir(parents=True)
        (git / "HEAD").touch()
        (git / "config").touch()

    def _survey(self) -> None:
        self.surveys += 1


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    made = Ground(Path(os.path.realpath(tmp_path)))
    yield made
    made.protector.close()


def names(denials: tuple[Denial, ...]) -> list[str]:
    return [os.path.basename(one.path or "") for one in denials]


async def test_the_moment_it_appears(ground: Ground) -> None:
    """Nobody has to ask: the event loop hears of it."""
    session, _ = ground.begin()
    (ground.root / ".claude").mkdir()
    async with asyncio.timeout(PATIENCE):
        while (ground.root / ".claude").exists():
            await asyncio.sleep(0)
    (only,) = session.take_denials()
    assert only.by == MOVED + NAME


async def test_before_the_result(ground: Ground) -> None:
    """Whoever waits for the end of a command has its denials with it."""
    session, _ = ground.begin()
    (ground.root / ".claude").mkdir()
    session._finish()
    assert names(session.take_denials()) == [".claude"]


async def test_a_process_that_stays_longer(ground: Ground) -> None:
    """It is watched until it has gone."""
    session, _ = ground.begin()
    session._finish()
    (ground.root / ".claude").mkdir()
    session.tree_gone()
    assert not (ground.root / ".claude").exists()
    (ground.root / ".claude").mkdir()
    await asyncio.sleep(0.05)
    assert (ground.root / ".claude").exists()


async def test_all_that_run_are_told(ground: Ground) -> None:
    """Those that have gone, and one that never began, are not."""
    former, _ = ground.begin()
    former.tree_gone()
    failed, leave = ground.begin()
    leave()
    one, other = ground.begin()[0], ground.begin()[0]
    (ground.root / ".claude").mkdir()
    one._finish()
    for session, expected in ((former, []), (failed, []), (one, [".claude"]), (other, [".claude"])):
        assert names(session.take_denials()) == expected


async def test_while_nothing_runs_it_is_a_persons(ground: Ground) -> None:
    """Also if it is there before the next command begins."""
    session, _ = ground.begin()
    session.tree_gone()
    (ground.root / ".claude").mkdir()
    await asyncio.sleep(0.05)
    assert (ground.root / ".claude").exists()


async def test_each_command_has_the_names_of_its_own_survey(ground: Ground) -> None:
    """An older one is watched by what was said then, as long as it lives."""
    older, _ = ground.begin()
    newer, _ = ground.begin(Access(rules=ground.access.rules))
    (ground.root / ".claude").mkdir()
    newer._finish()
    assert names(older.take_denials()) == [".claude"]
    assert newer.take_denials() == ()
    older.tree_gone()
    ground.begin(Access(rules=ground.access.rules))
    (ground.root / ".claude").mkdir()
    newer.tree_gone()
    assert (ground.root / ".claude").exists()


async def test_a_new_repository_asks_for_a_survey_once(ground: Ground) -> None:
    """Another command learns of it by that. What a survey can't see is no reason for another."""
    session, _ = ground.begin()
    ground.make_repository("x")
    session._finish()
    assert ground.surveys == 1
    session.tree_gone()
    ground.begin()[0]._finish()
    assert ground.surveys == 1


async def test_a_persons_repository_asks_for_a_survey(ground: Ground) -> None:
    """Before the next command is planned; nothing in it is touched."""
    session, _ = ground.begin()
    session._finish()
    session.tree_gone()
    ground.make_repository("x")
    (ground.root / "x/.git/hooks/pre-commit").touch()
    ground.protector.look()
    assert ground.surveys == 1
    assert (ground.root / "x/.git/hooks/pre-commit").exists()


async def test_nothing_can_be_written(ground: Ground) -> None:
    """Then nothing is watched."""
    ground.begin(Access())
    assert ground.protector._watches == []


async def test_a_machine_that_tells_nobody(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the names are looked at when the command has ended."""

    def refuse() -> Inotify:
        raise OSError(24, os.strerror(24))

    for module in (watched, repositories):
        monkeypatch.setattr(module, "Inotify", refuse)
    session, _ = ground.begin()
    (ground.root / ".claude").mkdir()
    session._finish()
    assert names(session.take_denials()) == [".claude"]


async def test_closing_lets_go(ground: Ground) -> None:
    """Of every descriptor."""
    before = set(os.listdir("/proc/self/fd"))
    ground.begin()
    ground.begin(Access(rules=ground.access.rules))[0]._finish()
    assert not set(os.listdir("/proc/self/fd")) <= before
    ground.protector.close()
    assert set(os.listdir("/proc/self/fd")) <= before  # what else was open may have been closed
