"""What a shell around a command costs, and a login shell the first time and after it."""

from __future__ import annotations

from benchmarks.cases.common import LATENCY, program
from benchmarks.figures import latency as figures
from benchmarks.model import Bench, Contender, Pace, Target
from benchmarks.rivals import RIVALS, enter

TITLE = "shell `true` (floor: `true` without a shell)"
COLUMNS = LATENCY
RATIO_OF = "p50"
WITHOUT_LOGIN = "fairlead shell_command, login: false"
TARGET = Target("ratio", 2.0, "≤ 2 x without login")


def pace(bench: Bench) -> Pace:
    return Pace(batch=6, warm=1)


def contenders(bench: Bench) -> list[Contender]:
    sh, bash = program("sh"), program("bash")
    argvs = {"sh -c true": (sh, "-c", "true"), "bash -c true": (bash, "-c", "true")}
    floors = [
        Contender(name=f"C, {name}", argv=bench.floor("spawn", *argv))
        for name, argv in argvs.items()
    ]
    ours = [
        enter(bench, RIVALS[0], "spawn", {"argv": argv}, name=f"fairlead shell, {name}")
        for name, argv in argvs.items()
    ]
    login = bench.floor("spawn", bash, "-lc", "true")
    return [
        Contender(name="C, true", argv=bench.floor("spawn", program("true")), floor=True),
        *floors,
        Contender(name="C, bash -lc true", argv=login, batch=1, warm=0),
        *ours,
        enter(bench, RIVALS[0], "shell_command", {"login": False}, name=WITHOUT_LOGIN),
        enter(
            bench,
            RIVALS[0],
            "first_login",
            {},
            name="fairlead shell_command, first login",
            batch=1,
            warm=0,
        ),
        enter(
            bench,
            RIVALS[0],
            "shell_command",
            {"login": True},
            name="fairlead shell_command, login after it (÷ without)",
            against=WITHOUT_LOGIN,
            targets=(TARGET,),
        ),
    ]


__all__ = ["COLUMNS", "RATIO_OF", "TITLE", "contenders", "figures", "pace"]
