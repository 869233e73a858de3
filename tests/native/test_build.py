"""The build: small, static, in agreement with the system's headers, and robust to any plan."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from fairlead.spawn import plan
from tests.native import corpus, harness

ROOT = harness.NATIVE.parent


def test_small_static_and_self_contained(plain):
    """One file of a few kilobytes that asks for no library and no interpreter."""
    content = plain.read_bytes()
    assert len(content) < 24 * 1024
    assert b"libc.so" not in content
    assert b"ld-linux" not in content


def test_constants_agree_with_the_system(tmp_path):
    """What sys.h says of the kernel is what the system's headers say."""
    source = str(harness.NATIVE / "check_abi.c")
    harness.compile_c(tmp_path / "abi.o", "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", source)


def preprocessed(*arguments: str) -> str:
    command = [os.environ.get("CC", "cc"), "-E", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


AARCH64 = ("-U__x86_64__", "-D__aarch64__", "-ffreestanding")


def test_numbers_for_aarch64():
    """Without a compiler for it: its calls have the numbers that all newer architectures share,
    which the headers of every Linux list."""
    ours = preprocessed(*AARCH64, "-P", str(harness.NATIVE / "sys_confine.h"))
    numbers = {name: int(value) for name, value in re.findall(r"NR_(\w+) = (\d+)", ours)}
    wanted = ("-D__ARCH_WANT_NEW_STAT", "-D__ARCH_WANT_SYS_CLONE3", "-D__BITS_PER_LONG=64")
    header = "/usr/include/asm-generic/unistd.h"
    listed: dict[str, str] = dict(
        re.findall(r"#define (__NR\w+) (\w+)", preprocessed(*wanted, "-dM", header))
    )
    assert len(numbers) > 50
    for name, number in numbers.items():
        value = listed[f"__NR_{name}"]
        assert int(listed.get(value, value)) == number, name


def test_what_else_aarch64_has_of_its_own():
    """Flags that differ there, as arch/arm64 of the kernel has them."""
    text = preprocessed(*AARCH64, "-P", str(harness.NATIVE / "sys_confine.h"))
    found = dict(re.findall(r"(OPEN_\w+) = (0\d+)", text))
    assert int(found["OPEN_DIRECTORY"], 8) == 0o40000
    assert int(found["OPEN_NO_FOLLOW"], 8) == 0o100000


def test_plan_reader_survives_mutations(tmp_path):
    """A million broken plans are read without a byte out of bounds."""
    sources = [str(harness.NATIVE / name) for name in ("fuzz_plan.c", "plan.c", "valid.c")]
    fuzz = harness.compile_c(tmp_path / "fuzz", *harness.SANITIZED, *sources)
    plans = corpus.write(tmp_path)
    done = subprocess.run([fuzz, "200000", *plans], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1000000 inputs\n"), done.stderr


def test_corpus_has_every_step():
    """The plans that the fuzzer begins with hold each kind of step."""
    kinds = {type(step) for steps in corpus.PLANS.values() for step in steps}
    assert kinds == set(plan.Step.__args__)


def test_makefile_builds_what_is_shipped(plain, tmp_path):
    """`make` in native/ and the Python build make the same program."""
    target = tmp_path / "fairlead-launcher"
    arguments = ["make", "-s", "-C", str(harness.NATIVE), f"TARGET={target}"]
    subprocess.run(arguments, check=True)
    assert target.read_bytes() == plain.read_bytes()


def build_wheel(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A wheel from a copy of what the build reads."""
    copy = tmp_path / "copy"
    (copy / "src" / "fairlead").mkdir(parents=True)
    (copy / "src" / "fairlead" / "__init__.py").touch()
    (copy / "native").mkdir()
    for file in [*harness.NATIVE.glob("*.[ch]"), harness.NATIVE / "flags"]:
        (copy / "native" / file.name).write_bytes(file.read_bytes())
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        (copy / name).write_bytes((ROOT / name).read_bytes())
    arguments = [sys.executable, "setup.py", "-q", "bdist_wheel", "-d", str(tmp_path / "dist")]
    return subprocess.run(
        arguments, cwd=copy, env={**os.environ, **environment}, capture_output=True, text=True
    )


def test_wheel_holds_the_launcher(plain, tmp_path):
    """The wheel is for every Python 3 on this platform and holds the program, executable."""
    done = build_wheel(tmp_path)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    assert "-py3-none-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        entry = archive.getinfo("fairlead/_native/fairlead-launcher")
        assert entry.external_attr >> 16 & 0o111
        assert archive.read(entry) == plain.read_bytes()


def test_without_a_compiler(tmp_path):
    """No compiler is a warning and a pure wheel, not a failure."""
    done = build_wheel(tmp_path, CC="no-such-compiler")
    assert done.returncode == 0, done.stderr
    assert "the native launcher was not built" in done.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")


def test_with_a_broken_compiler(tmp_path):
    """A compiler that fails is a warning too."""
    done = build_wheel(tmp_path, CC="false")
    assert done.returncode == 0, done.stderr
    assert "the native launcher was not built" in done.stderr
