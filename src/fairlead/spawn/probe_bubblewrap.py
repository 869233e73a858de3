"""What `bwrap` can do on this machine, found by letting it do it."""

from __future__ import annotations

import os
import subprocess

from fairlead.model.frozen import replace
from fairlead.model.sandbox import Host

_ALLOW_ALL = b"\x06\0\0\0\0\0\xff\x7f"  # return SECCOMP_RET_ALLOW
_SECONDS = 5.0
_SHOWN = 200

_TREE = ("--ro-bind", "/", "/", "--dev", "/dev")
_PROC = ("--unshare-pid", "--proc", "/proc")
_NET = ("--unshare-net",)


def probe(host: Host, path: str | None) -> Host:
    """The same host with what bwrap can do there. Without it, or if it can't even show a tree
    read-only, there is none: `why` says so."""
    if path is None:
        return replace(host, bubblewrap=None, why=(*host.why, ("bubblewrap", "not installed")))
    why: list[tuple[str, str]] = []

    def can(what: str, *options: str) -> bool:
        failed = _failure(path, options)
        if failed is not None:
            why.append((what, failed))
        return failed is None

    user = can("user namespaces", "--unshare-user", *_TREE)
    if not user and not (host.root and can("bubblewrap", *_TREE)):
        return replace(host, bubblewrap=None, user_namespaces=False, why=(*host.why, *why))
    head = ("--unshare-user", *_TREE) if user else _TREE
    return replace(
        host,
        bubblewrap=path,
        user_namespaces=user,
        mount_namespaces=True,
        new_proc=can("a /proc of its own", *head, *_PROC),
        net_namespaces=can("network namespaces", *head, *_NET),
        seccomp=can("seccomp", *head, "--seccomp", "0"),
        notify=False,
        why=(*host.why, *why),
    )


def _failure(path: str, options: tuple[str, ...]) -> str | None:
    """What it says if it can't run itself with these options. Its input is a filter."""
    try:
        done = subprocess.run(
            [path, *options, "--", path, "--version"],
            input=_ALLOW_ALL,
            capture_output=True,
            env={},
            cwd="/",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {_SECONDS:g} seconds"
    except OSError as error:
        return str(error)[:_SHOWN]
    if done.returncode == 0:
        return None
    said = os.fsdecode(done.stderr).strip().splitlines()
    return said[-1][:_SHOWN] if said else f"it ended with {done.returncode}"
