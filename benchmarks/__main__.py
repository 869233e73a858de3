"""`python -m benchmarks`: run the cases, print a table for each, say which targets were met."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import floors, probes, report, rotation, table
from benchmarks.cases import CASES
from benchmarks.link import adopt_orphans
from benchmarks.model import Bench, Case, Row
from benchmarks.rivals import codex_binary, versions
from benchmarks.setup_peers import default_place

ROOT = Path(__file__).parents[1]
FULL_SECONDS = 540.0
QUICK_SECONDS = 45.0
MEASURING = 0.75  # of a case's time; the rest goes to starting and ending its workers

Results = list[tuple[str, Case, list[Row]]]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="at most a minute, coarse figures")
    parser.add_argument("--only", nargs="+", choices=list(CASES), metavar="NAME", default=None)
    parser.add_argument("--json", type=Path, metavar="FILE", help="the rows as data, too")
    parser.add_argument("--seconds", type=float, help="for all cases together")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    return parser.parse_args(arguments)


def environment(peers: Path) -> dict[str, str]:
    """For every worker: this package importable, a plain terminal, imports as users have them."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    codex = codex_binary(peers)
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "TERM": "dumb",
        **({"BENCH_CODEX": codex} if codex else {}),
    }


def run(chosen: Sequence[str], seconds: float, bench: Bench) -> Results:
    """Every chosen case in its share of the time; each table is printed when it is ready."""
    env = environment(bench.peers)
    until = time.monotonic() + seconds
    results: Results = []
    for number, name in enumerate(chosen):
        case = CASES[name]
        left = until - time.monotonic()  # shared anew before each: none may eat up the next
        part = _share(name, bench) / sum(_share(other, bench) for other in chosen[number:])
        contenders = case.contenders(bench)
        outcomes = rotation.run(
            contenders,
            case.pace(bench),
            seconds=left * part * MEASURING,
            env=env,
            scratch=bench.scratch,
        )
        rows = report.rows(case, contenders, outcomes)
        print(table.render(case.TITLE, case.COLUMNS, rows), flush=True)
        results.append((name, case, rows))
    return results


def _share(name: str, bench: Bench) -> float:
    return CASES[name].pace(bench).share


def as_data(results: Results) -> dict[str, Any]:
    return {
        "machine": machine(),
        "cases": {name: [asdict(row) for row in rows] for name, _, rows in results},
    }


def machine() -> Mapping[str, Any]:
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg(),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    if options.list:
        print("\n".join(f"{name:16} {case.TITLE}" for name, case in CASES.items()))
        return 0
    chosen = options.only or list(CASES)
    whole = QUICK_SECONDS if options.quick else FULL_SECONDS
    seconds = options.seconds or whole * len(chosen) / len(CASES)
    started = time.monotonic()
    adopt_orphans()
    print(" · ".join(f"{key} {value}" for key, value in machine().items()))
    print("peers: " + (" · ".join(versions(default_place())) or "none installed"))
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as scratch:
        place = Path(scratch)
        try:
            built = floors.build(place)
        except floors.NoCompiler as problem:
            print(problem, file=sys.stderr)
            return 2
        bench = Bench(floors=built, peers=default_place(), scratch=place, quick=options.quick)
        results = run(chosen, seconds, bench)
    print(table.summary([(case, rows) for _, case, rows in results]))
    if not options.quick and not options.only:
        print(f"\nwhat confined commands try\n{probes.table()}")
    print(f"\ntook {time.monotonic() - started:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(as_data(results), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
