"""A producer of much output, read to its end: what the pipe and the PTY case share."""

from __future__ import annotations

from benchmarks.model import Bench, Contender, Pace, Target
from benchmarks.rivals import enter_all

FULL = 100_000_000
QUICK_PTY = 20_000_000
LITTLE_MEMORY = Target("grown", 8 * 1024, "memory ≤ 8 MiB")


def size(bench: Bench, tty: bool) -> int:
    return QUICK_PTY if bench.quick and tty else FULL


def pace(bench: Bench) -> Pace:
    """The slowest peers need minutes for it: they are stopped, and the table says so."""
    return Pace(
        batch=1,
        warm=0,
        first_warm=0,
        rounds=10,
        share=1.5,
        patience=6.0 if bench.quick else 20.0,
    )


def contenders(bench: Bench, *, tty: bool, target: Target) -> list[Contender]:
    producer = [*bench.floor("produce", str(size(bench, tty)))]
    kind = "pty" if tty else "pipe"
    return [
        Contender(name="C read loop", argv=bench.floor("drain", kind, *producer), floor=True),
        *enter_all(
            bench,
            "drain",
            {"argv": producer, "tty": tty, "size": size(bench, tty)},
            targets=(target, LITTLE_MEMORY),
        ),
    ]
