"""Install the peers of the benchmarks; one that cannot be had is named, and the rest goes on."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("peers.txt")
NPM_PACKAGES = ("@openai/codex", "@anthropic-ai/sandbox-runtime")
RECENT_PYTHONS = ("3.14", "3.13", "3.12")  # OpenHands needs 3.12


def default_place() -> Path:
    """Where the peers live: outside of the tree, shared by every checkout."""
    chosen = os.environ.get("FAIRLEAD_BENCH_PEERS")
    if chosen:
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "fairlead-benchmarks"


def environments() -> dict[str, list[str]]:
    """The requirements of each environment, by the name of the first."""
    paragraphs = REQUIREMENTS.read_text().split("\n\n")
    wanted = [
        [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        for text in paragraphs
    ]
    return {re.split(r"[^\w-]", lines[0])[0]: lines for lines in wanted if lines}


def python_for_peers() -> str:
    """A Python of 3.12 or later where the machine has one: it must also start, as shims may not."""
    if sys.version_info >= (3, 12):
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in RECENT_PYTHONS:
        found = [*pyenv.glob(f"{version}.*/bin/python"), shutil.which(f"python{version}")]
        for candidate in found:
            if candidate and _starts(str(candidate)):
                return str(candidate)
    return sys.executable


def _starts(python: str) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


def install_python_peer(home: Path, requirements: list[str], python: str) -> str | None:
    """None if all went well, else why not."""
    if not (home / "bin" / "python").exists():
        made = subprocess.run([python, "-m", "venv", home], capture_output=True, text=True)
        if made.returncode:
            return _last_line(made.stderr)
    pip = [
        str(home / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--upgrade",
        *requirements,
    ]
    done = subprocess.run(pip, capture_output=True, text=True)
    return _last_line(done.stderr) if done.returncode else None


def install_npm_peer(package: str, place: Path) -> str | None:
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    done = subprocess.run(
        [npm, "install", "--silent", "--prefix", place / "npm", package],
        capture_output=True,
        text=True,
    )
    return _last_line(done.stderr + done.stdout) if done.returncode else None


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "failed without a word"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=default_place(), help="default: %(default)s")
    place = parser.parse_args().into
    (place / "npm").mkdir(parents=True, exist_ok=True)
    python = python_for_peers()
    outcomes = {
        name: install_python_peer(place / name, requirements, python)
        for name, requirements in environments().items()
    }
    outcomes |= {name: install_npm_peer(name, place) for name in NPM_PACKAGES}
    for name, problem in outcomes.items():
        print(f"{name}: {problem or 'ready'}")
    return 0 if None in outcomes.values() else 1


if __name__ == "__main__":
    sys.exit(main())
