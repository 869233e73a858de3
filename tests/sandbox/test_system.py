"""The machine's own places: only what is here is dealt with."""

from __future__ import annotations

import os

from fairlead.sandbox.system import system


def test_what_is_named_is_here() -> None:
    """A mount on what is not here would fail, and with it every start."""
    here = system()
    assert all(os.path.exists(f"/proc/{name}") for name in here.proc_read_only)
    assert all(os.path.isdir(path) is directory for path, directory in here.proc_masked)
    assert all(os.path.isdir(path) is directory for path, directory in here.run_kept)
    assert all(map(os.path.isdir, here.sys_masked))
    assert all(os.path.exists(f"/dev/{name}") for name in here.devices)


def test_what_every_linux_has_is_dealt_with() -> None:
    """The kernel's switches are not writable, its memory is not readable, and the harmless devices
    are there."""
    here = system()
    assert "sys" in here.proc_read_only
    assert os.path.exists("/proc/sysrq-trigger") is ("sysrq-trigger" in here.proc_read_only)
    for name in ("kcore", "keys", "kallsyms", "timer_list"):
        assert os.path.exists(f"/proc/{name}") is ((f"/proc/{name}", False) in here.proc_masked)
    assert {"null", "zero", "full", "random", "urandom", "tty"} == set(here.devices)


def test_no_dangerous_device_is_among_the_harmless() -> None:
    """Neither terminals of others, nor memory, nor disks."""
    assert not {"ptmx", "mem", "kmsg", "kvm", "fuse", "sda", "console"} & set(system().devices)


def test_it_is_looked_at_once() -> None:
    """These places do not come and go."""
    assert system() is system()
