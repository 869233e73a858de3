"""One session: exact accounting, endings, and who is to blame for them."""

from __future__ import annotations

import asyncio
import signal

import pytest

from fairlead.model.errors import BadRequest, SpawnFailed
from fairlead.model.output import Ending
from fairlead.model.params import Size, Stdin
from fairlead.model.process import Whom
from fairlead.session.endings import describe
from fairlead.session.session import REMEMBERED_CHUNKS
from fairlead.testing import FakeProcess, FakeSpawner
from tests.session.house import grow_to, house, is_running, python, request

FLOOD = """
import os, random
random.seed(7)
data = random.randbytes(200_000) + ("aé€😀" * 20_000).encode() + b"\\xf0\\x9f"
while data:
    count = random.randint(1, 3000)
    os.write(1, data[:count])
    data = data[count:]
"""


def flood() -> bytes:
    import random

    random.seed(7)
    return random.randbytes(200_000) + ("aé€😀" * 20_000).encode() + b"\xf0\x9f"


async def test_every_byte_appears_once_over_successive_polls() -> None:
    """Whatever is written and however it is polled, the polls together are the output."""
    async with house() as home:
        session = await home.start(python(FLOOD))
        found, polls = b"", 0
        while session.running or session.cursor < session.log.size:
            taken = session.take_unread()
            assert taken.omitted == 0
            found += taken.kept
            polls += 1
            await asyncio.sleep(0.001)
        assert found == flood()
        assert session.log.size == len(found)
        assert polls > 2


async def test_a_character_is_not_split_between_polls() -> None:
    """Each poll of a text is a text, also while the reader thread is in the middle of one."""
    source = "import os\nfor n in range(60000): os.write(1, '😀'.encode()[n % 4 : n % 4 + 1])"
    async with house() as home:
        session = await home.start(python(source))
        found = ""
        while session.running or session.cursor < session.log.size:
            found += session.take_unread().kept.decode()
            await asyncio.sleep(0)
        assert found == "😀" * 15_000


async def test_a_beginning_that_never_becomes_a_character_comes_at_the_end() -> None:
    """An unfinished character is held back while its end may come, and not lost."""
    async with house() as home:
        session = await home.start("printf 'a\\303'; read", stdin=Stdin.OPEN)
        await grow_to(session, 2)
        assert session.take_unread().kept == b"a"
        assert session.take_unread().kept == b""
        session.close_stdin()
        assert await session.wait_done(30)
        assert session.take_unread().kept == b"\xc3"


async def test_what_falls_out_of_a_look_is_counted() -> None:
    """A look is bounded: head and tail are exact, and omitted is the rest to the byte."""
    async with house() as home:
        session = await home.run("seq 100000")
        whole = session.log.range_bytes(0, session.log.size)
        taken = session.take_unread(1000)
        assert taken.head == whole[:500]
        assert taken.tail == whole[-500:]
        assert taken.total == len(whole) == session.log.size
        assert session.take_unread().total == 0


async def test_a_timeout_ends_the_whole_tree_and_keeps_the_output() -> None:
    """Code 124, who ended it, everything written until then; no child stays, setsid or not."""
    script = "echo before; setsid sleep 300 & sleep 301 & echo $!; wait"
    async with house() as home:
        session = await home.start(script, timeout=0.5)
        await session.wait_done(60)
        ending = session.ending
        assert ending is not None
        assert (ending.code, ending.timed_out, ending.survivors) == (124, True, ())
        assert ending.killed_by == "timeout after 0.5 s"
        assert not ending.descendants_alive
        assert session.process is None
        before, child = session.take_unread().kept.split()
        assert before == b"before"
        assert not is_running(int(child))
        assert describe(ending) == "timed out, exit code 124, ended by timeout after 0.5 s"


async def test_a_command_that_ignores_term_is_killed_after_the_grace() -> None:
    """TERM first; what it writes while it has time is kept; then KILL."""
    script = "trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done"
    async with house() as home:
        session = await home.start(script)
        await grow_to(session, 6)
        await session.end(by="a test")
        assert session.ending is not None
        assert session.ending.signal == signal.SIGKILL
        assert session.ending.killed_by == "a test"
        assert b"asked" in session.log.range_bytes(0, session.log.size)


async def test_end_by_many_at_once_is_one_end() -> None:
    """Whoever comes first is recorded, everybody waits, and a later call finds it done."""
    async with house() as home:
        session = await home.start("sleep 300")
        await asyncio.gather(*(session.end(by=f"caller {number}") for number in range(5)))
        assert session.ending is not None
        assert session.ending.killed_by == "caller 0"
        assert not session.running
        await session.end(by="late")
        assert session.ending.killed_by == "caller 0"


async def test_end_goes_on_when_its_caller_leaves() -> None:
    """A cancelled caller of end() does not leave the tree alive."""
    async with house() as home:
        session = await home.start("trap '' TERM; echo ready; while :; do sleep 0.05; done")
        await grow_to(session, 6)
        ending = asyncio.create_task(session.end(by="a caller"))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        assert await session.wait_done(30)
        assert session.ending is not None
        assert session.ending.killed_by == "a caller"


async def test_ending_what_is_left_keeps_the_ending() -> None:
    """end() after the exit ends the descendants; code and cause are those of the command."""
    async with house() as home:
        session = await home.run("sleep 300 & echo $!; exit 5")
        assert session.ending == Ending(code=5, descendants_alive=True)
        assert session.tree_alive
        child = int(session.take_unread().kept)
        wall_time = session.wall_time
        await session.end(by="a test")
        assert session.ending == Ending(code=5, descendants_alive=False)
        assert not is_running(child)
        assert session.wall_time == wall_time


async def test_output_of_a_descendant_is_kept_after_the_end() -> None:
    """What a child writes later still lands in the log, and the next look has it."""
    async with house() as home:
        session = await home.run("(read -t 0.3 <> <(:); echo late; exec sleep 300) & echo now")
        assert session.held_open
        assert session.take_unread().kept == b"now\n"
        deadline = asyncio.get_running_loop().time() + 30
        while session.log.size < 9 and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)  # nobody waits for an ended session: there is no event
        assert session.take_unread().kept == b"late\n"


async def test_an_ended_session_says_how_it_ended() -> None:
    """Writing, signalling and resizing are refused with the ending; the output stays."""
    async with house() as home:
        session = await home.run("echo out; exit 3", stdin=Stdin.OPEN)
        refused = rf"session {session.id} has ended \(exit code 3\)"
        for use in (
            lambda: session.write(b"x"),
            session.close_stdin,
            lambda: session.signal(15, by="a test"),
            lambda: session.resize(Size(10, 10)),
        ):
            with pytest.raises(BadRequest, match=refused):
                use()
        assert session.take_unread().kept == b"out\n"
        assert session.log.range_bytes(0, 4) == b"out\n"


async def test_a_signal_that_kills_is_on_the_record() -> None:
    """Who sent it and which one, with the code that a shell would give."""
    async with house() as home:
        session = await home.start("exec sleep 300")
        session.signal(signal.SIGUSR1, by="operator: too slow")
        assert await session.wait_done(30)
        ending = session.ending
        assert ending is not None
        assert (ending.code, ending.signal) == (138, signal.SIGUSR1)
        assert ending.killed_by == "operator: too slow (SIGUSR1)"


async def test_a_signal_that_was_survived_is_not_the_end() -> None:
    """An exit that has nothing to do with an earlier signal is nobody's deed."""
    script = "trap 'echo got' USR1; echo ready; read; read; exit 4"
    async with house() as home:
        session = await home.start(script, stdin=Stdin.OPEN)
        await grow_to(session, 6)
        session.signal(signal.SIGUSR1, by="a test", whom=Whom.GROUP)
        await grow_to(session, 10)
        session.close_stdin()
        assert await session.wait_done(30)
        assert session.ending is not None
        assert (session.ending.code, session.ending.killed_by) == (4, None)


async def test_a_polite_exit_after_term_names_who_asked() -> None:
    """A program that obeys SIGTERM and exits 0 was ended by whoever sent it."""
    async with house() as home:
        session = await home.start("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done")
        await grow_to(session, 6)
        session.signal(signal.SIGTERM, by="operator")
        assert await session.wait_done(30)
        assert session.ending is not None
        assert (session.ending.code, session.ending.killed_by) == (0, "operator (SIGTERM)")


async def test_a_real_time_signal_has_a_name() -> None:
    """A death by a signal that has no name of its own can be told all the same."""
    async with house() as home:
        session = await home.run(f"kill -{signal.SIGRTMIN + 1} $$")
        assert session.ending is not None
        assert describe(session.ending) == "signal SIGRTMIN+1"


async def test_a_command_quicker_than_its_start_leaves_no_clock() -> None:
    """The end may be known before the start returns: no timer keeps the session then."""
    async with house() as home:
        for _ in range(20):
            session = await home.start("exit 0", timeout=86_400)
            assert await session.wait_done(30)
            assert session._deadline is None
        await asyncio.gather(*(one.end(by="a test") for one in home.store.everyone()))
        assert all(one.process is None for one in home.store.everyone())


async def test_waiters_leave_nothing_behind() -> None:
    """A thousand waits that run out are forgotten, although nothing ever happens."""
    async with house() as home:
        session = await home.start("read", stdin=Stdin.OPEN)
        for _ in range(100):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.0001):
                    await session.change(session.log.size)
        assert session._waiters == []


async def test_chunk_ids_name_stretches_and_are_bounded() -> None:
    """The last answers of a session can be asked for again, older ones are forgotten."""
    async with house() as home:
        session = await home.run("seq 100")
        ids = [session.remember_chunk(n, n + 1) for n in range(REMEMBERED_CHUNKS + 10)]
        assert len(session.chunks) <= REMEMBERED_CHUNKS
        assert session.chunks[ids[-1]] == (REMEMBERED_CHUNKS + 9, REMEMBERED_CHUNKS + 10)
        assert ids[0] not in session.chunks


async def test_a_revived_session_counts_anew() -> None:
    """Another process in the same session has its own times, ending and signal record."""
    async with house() as home:
        session = await home.run("echo one; kill -TERM $$")
        first = session.wall_time
        params, env = request("echo two; exit 2")
        await home.starter.restart(session, params, env)
        assert await session.wait_done(30)
        assert session.ending is not None
        assert (session.ending.code, session.ending.signal) == (2, None)
        assert session.log.range_bytes(0, 99) == b"one\ntwo\n"
        assert session.process_start == 4
        assert first >= 0
        assert session.wall_time >= 0


async def test_a_revival_that_fails_leaves_the_old_ending() -> None:
    """If the other process can't be started the session is what it was: ended."""
    from dataclasses import replace

    async with house() as home:
        session = await home.run("exit 9")
        params, env = request("true")
        with pytest.raises(SpawnFailed):
            await home.starter.restart(session, params, replace(env, argv=("/no/such/program",)))
        assert not session.running
        assert session.ending is not None
        assert session.ending.code == 9
        with pytest.raises(BadRequest, match=r"has ended \(exit code 9\)"):
            session.write(b"x")


async def test_a_process_that_can_not_be_ended_is_reported() -> None:
    """Survivors are named in the ending, and a death that comes later changes nothing told."""

    class Stuck(FakeProcess):
        async def end_tree(self, grace: float) -> tuple[int, ...]:
            return (self.pid,)

    class StuckSpawner(FakeSpawner):
        async def spawn(self, env, sink):
            process = Stuck(env, sink, 4_300_000)
            self.processes.append(process)
            process.start(self._play)
            return process

        async def close(self) -> None:
            self.processes[0].signal(signal.SIGKILL)
            await self.processes[0].wait()

    async def waits(process: FakeProcess) -> int:
        await asyncio.Event().wait()
        return 0

    spawner = StuckSpawner(waits)
    async with house(spawner=spawner) as home:
        session = await home.start("never ends")
        await asyncio.sleep(0)
        await session.end(by="a test")
        assert session.ending is not None
        assert session.ending.survivors == (4_300_000,)
        told = session.ending
        await spawner.close()
        assert session.ending is told
