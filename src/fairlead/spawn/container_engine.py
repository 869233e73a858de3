"""Asking podman or docker: one program, its words, its answer."""

from __future__ import annotations

import subprocess

from fairlead.model.errors import SandboxFailed

PATIENCE = 60.0  # seconds; a machine that is busy takes long
_TOLD = 300  # characters of what it said


def ask(argv: tuple[str, ...]) -> str:
    """Run the engine's program; what it printed. Raises `SandboxFailed` with its last words."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            start_new_session=True,  # an interrupt at the terminal is meant for us
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise failed(f"{argv[0]} {argv[1]} did not end within {PATIENCE:g} s") from None
    except OSError as error:
        raise failed(f"{argv[0]}: {error.strerror or error}", error.errno or 0) from None
    if done.returncode:
        raise failed(_last_line(done.stderr) or f"{argv[0]} {argv[1]} ended with {done.returncode}")
    return done.stdout.decode(errors="replace")


def failed(why: str, errno: int = 0) -> SandboxFailed:
    return SandboxFailed(why, step="container", errno=errno)


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("Error: ")[:_TOLD] if lines else ""
