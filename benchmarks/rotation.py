"""All contenders of a case in turn, each round begun by another: the quiet minute is for all."""

from __future__ import annotations

import mmap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.link import Worker, WorkerGone, reap_orphans
from benchmarks.model import Contender, Outcome, Pace

START_PATIENCE = 25.0
SLACK = 1.5
FLOOD_RUN_UP = 0.15  # until the buffers of all floods are full


def run(
    contenders: Sequence[Contender],
    pace: Pace,
    *,
    seconds: float,
    env: Mapping[str, str],
    scratch: Path,
) -> dict[str, Outcome]:
    """Sample every contender for about `seconds` in all; each present one at least once."""
    outcomes = {contender.name: Outcome(missing=contender.missing) for contender in contenders}
    with ExitStack() as stack:
        present = _start(contenders, outcomes, env, scratch, stack)
        deadline = time.monotonic() + seconds
        for turn in range(pace.rounds):
            for contender, worker in _rotated(list(present.values()), turn):
                sits_out = _has_had_enough(contender, present, outcomes, deadline)
                outcome = outcomes[contender.name]
                if not sits_out and not _one_batch(contender, worker, pace, outcome, turn):
                    del present[contender.name]
            if not present or time.monotonic() > deadline:
                break
    reap_orphans()
    return outcomes


Running = dict[str, tuple[Contender, Worker]]


def _start(
    contenders: Sequence[Contender],
    outcomes: Mapping[str, Outcome],
    env: Mapping[str, str],
    scratch: Path,
    stack: ExitStack,
) -> Running:
    """Start all workers at once: their preparations are not measured."""
    started: Running = {}
    for number, contender in enumerate(contenders):
        if contender.missing is None:
            worker = Worker(contender.argv, env, scratch / f"worker-{number}.log")
            stack.callback(worker.stop)
            started[contender.name] = (contender, worker)
    deadline = time.monotonic() + START_PATIENCE
    for name, (_, worker) in list(started.items()):
        try:
            worker.wait_ready(max(0.1, deadline - time.monotonic()))
        except WorkerGone as gone:
            outcomes[name].missing = str(gone)
            worker.stop(0.2)
            del started[name]
    return started


def _rotated(
    running: list[tuple[Contender, Worker]], turn: int
) -> Iterator[tuple[Contender, Worker]]:
    first = turn % max(1, len(running))
    yield from running[first:] + running[:first]


def _has_had_enough(
    contender: Contender, present: Running, outcomes: Mapping[str, Outcome], deadline: float
) -> bool:
    """Who is slow sits out some rounds, so that the quick get samples. The floor never does."""
    own = outcomes[contender.name]
    if contender.floor or not own.rounds:
        return False
    fair = sum(outcomes[name].used for name in present) / len(present)
    too_long = time.monotonic() + own.used / len(own.rounds) > deadline
    return too_long or own.used > SLACK * fair


def _one_batch(
    contender: Contender, worker: Worker, pace: Pace, outcome: Outcome, turn: int
) -> bool:
    """False: this one drops out, and its row says why."""
    warm = pace.warm if contender.warm is None else contender.warm
    if turn == 0:
        warm = max(warm, pace.first_warm)
    started = time.monotonic()
    try:
        with _floods(contender.gate) as through:
            samples = worker.batch(warm, contender.batch or pace.batch, pace.patience)
        outcome.rounds[turn] = [
            {**sample, "flood_rate": rate} for sample in samples for rate in through
        ] or samples
        outcome.used += time.monotonic() - started
        return True
    except WorkerGone as gone:
        text = f"round {turn + 1}: {gone}"
        if outcome.rounds:
            outcome.note = f"stopped in {text}"
        else:
            outcome.missing = text
        worker.stop(0.2)
        return False


@contextmanager
def _floods(gate: Path | None) -> Iterator[list[float]]:
    """Open the gate of a contender's floods for as long as its batch runs; yields their MB/s."""
    through: list[float] = []
    if gate is None:
        yield through
        return
    with gate.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        words = memoryview(memory).cast("l")
        try:
            words[0] = 1
            time.sleep(FLOOD_RUN_UP)
            before, started = sum(words[1:]), time.monotonic()
            yield through
            seconds = time.monotonic() - started
            through.append((sum(words[1:]) - before) / seconds / 1e6)
        finally:
            words[0] = 0
            words.release()
