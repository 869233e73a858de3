"""`fairlead aside`: what was moved out of a command's way, to look at and to put back."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from fairlead.cli.flags import Flag, Syntax
from fairlead.config.paths import state_directory
from fairlead.model.errors import BadRequest
from fairlead.protect.aside import Aside, find, list_aside, put_back, recover

SYNTAX = Syntax(
    usage="fairlead aside list [--json]   or   … show ID   or   … restore ID…",
    about="A name that a command may not make is moved aside when it appears, and so is what\n"
    "would have git run programs in a repository that a command made. Look at it before you\n"
    "put it back: from then on programs obey it. What comes back while a command runs that\n"
    "may not make it is moved aside again.",
    flags=(Flag("json", "print the list as JSON"),),
)
MOST_SHOWN = 64 << 10  # bytes of a file
MOST_LISTED = 200  # names of a directory


def main(arguments: Sequence[str]) -> int:
    line = SYNTAX.parse(arguments)
    verb, *ids = line.words or ["list"]
    work = _VERBS.get(verb)
    if work is None:
        raise BadRequest(f"aside: expected one of {', '.join(_VERBS)}, got {verb!r}")
    if line.on("json") and verb != "list":
        raise BadRequest("--json: only for the list")
    recover(state_directory())  # what somebody was killed at becomes whole, or never was
    return work(ids, line.on("json"))


def _list(ids: Sequence[str], as_json: bool) -> int:
    if ids:
        raise BadRequest(f"aside list: unexpected {ids[0]!r}")
    found = list_aside(state_directory())
    if as_json:
        print(json.dumps([_facts(one) for one in found], indent=2, ensure_ascii=False))
        return 0
    for one in found:
        print(f"{one.id}  {plain(one.path)}  ({plain(one.because)})")
    if not found:
        print("nothing is aside")
    return 0


def _show(ids: Sequence[str], _: bool) -> int:
    if len(ids) != 1:
        raise BadRequest("aside show: give one ID; `fairlead aside list` has them")
    one = find(state_directory(), ids[0])
    for name, fact in _facts(one).items():
        print(f"{name + ':':<9} {plain(str(fact))}")
    print()
    for text in _inside(one.content):
        print(text)
    return 0


def _restore(ids: Sequence[str], _: bool) -> int:
    if not ids:
        raise BadRequest("aside restore: give one ID or more; `fairlead aside list` has them")
    for one in ids:
        print(f"{plain(put_back(state_directory(), one))} is back")
    return 0


_VERBS: dict[str, Callable[[Sequence[str], bool], int]] = {
    "list": _list,
    "show": _show,
    "restore": _restore,
}


def _facts(one: Aside) -> dict[str, str]:
    return {
        "id": one.id,
        "path": one.path,
        "because": one.because,
        "when": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.when)),
        "mode": f"{one.mode:o}",
        "content": one.content,
    }


def _inside(path: str) -> Iterator[str]:
    """What it is and what it says, as text that changes nothing in a terminal."""
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        yield f"a link to {plain(os.readlink(path))}"
    elif stat.S_ISDIR(mode):
        yield "a directory:"
        yield from _names(path)
    elif stat.S_ISREG(mode):
        with open(path, "rb") as file:
            content = file.read(MOST_SHOWN + 1)
        yield from (
            plain(text) for text in content[:MOST_SHOWN].decode(errors="replace").split("\n")
        )
        if len(content) > MOST_SHOWN:
            yield f"… {os.path.getsize(path) - MOST_SHOWN} bytes more"
    else:
        yield "neither a file nor a directory"


def _names(top: str) -> Iterator[str]:
    left = MOST_LISTED
    for directory, _, files in os.walk(top):
        for name in sorted(files):
            if left == 0:
                yield "…"
                return
            left -= 1
            yield f"  {plain(os.path.relpath(os.path.join(directory, name), top))}"


def plain(text: str) -> str:
    """Agents choose names: nothing in them moves the cursor or hides the rest of the line."""
    return "".join(
        char if char.isprintable() or char == "\t" else ascii(char)[1:-1] for char in text
    )
