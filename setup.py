"""The build: everything is in pyproject.toml, but the launcher, which is a C program.

It goes into the package as a file, so that editable installs and wheels work alike. Where it
can't be built the package still is: pure Python, and it says what that costs.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel  # type: ignore[no-redef]

ROOT = Path(__file__).resolve().parent
NATIVE = ROOT / "native"
TARGET = ROOT / "src" / "fairlead" / "_native" / "fairlead-launcher"
NOT_OURS = {"check_abi.c", "fuzz_plan.c"}  # for the tests
MACHINES = {"x86_64", "AMD64", "aarch64", "arm64"}


def compiler() -> list[str] | None:
    """The compiler's command, if there is one and the launcher can run here at all."""
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        return None
    words = shlex.split(os.environ.get("CC", "cc"))
    return words if words and shutil.which(words[0]) else None


def build_launcher() -> None:
    """Compile it, or warn: a missing compiler is no reason not to install."""
    command = compiler()
    if command is None:
        warn("no C compiler (Debian: apt-get install gcc)")
        return
    sources = sorted(file.name for file in NATIVE.glob("*.c") if file.name not in NOT_OURS)
    TARGET.parent.mkdir(exist_ok=True)
    fresh = TARGET.with_name(f".{TARGET.name}.{os.getpid()}")
    try:
        # Replaced, never written to: one that is running must go on running.
        subprocess.run([*command, "@flags", *sources, "-o", str(fresh)], cwd=NATIVE, check=True)
        fresh.replace(TARGET)
    except (OSError, subprocess.CalledProcessError) as error:
        fresh.unlink(missing_ok=True)
        warn(str(error))


def warn(reason: str) -> None:
    print(
        f"warning: the native launcher was not built: {reason}\n"
        "warning: commands will start through pure Python, slower and with a weaker hold on "
        "daemons that escape",
        file=sys.stderr,
    )


class BuildPy(build_py):
    """Also run for editable installs."""

    def run(self) -> None:
        build_launcher()
        super().run()


class PlatformDistribution(Distribution):
    """With a program inside it belongs to one platform, and into its part of site-packages."""

    def has_ext_modules(self) -> bool:
        return compiler() is not None


class PlatformWheel(bdist_wheel):
    """For every Python 3, on this platform."""

    def get_tag(self) -> tuple[str, str, str]:
        _, _, platform_tag = super().get_tag()
        return "py3", "none", platform_tag


class Sdist(sdist):
    """With the sources of the launcher."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        native = [str(f.relative_to(ROOT)) for f in sorted(NATIVE.iterdir()) if f.is_file()]
        super().make_release_tree(base_dir, [*files, *(f for f in native if f not in files)])


setup(
    distclass=PlatformDistribution,
    cmdclass={"build_py": BuildPy, "bdist_wheel": PlatformWheel, "sdist": Sdist},
)
