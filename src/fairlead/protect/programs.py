"""Which settings of git run programs, or lead it to more settings. Pure."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from fairlead.protect.gitconfig import Entry

Dangerous = Callable[[str], bool]


def _always(value: str) -> bool:
    return True


def _names_a_program(value: str) -> bool:
    """A plain yes or no turns on what git itself brings."""
    return value.lower() not in ("true", "false", "yes", "no", "on", "off", "0", "1", "")


def _by_helper(value: str) -> bool:
    """`ext::sh -c …` is a command; `any::` runs a program of that name; `-x` is an option."""
    return value.startswith("-") or "::" in value


def _by_shell(value: str) -> bool:
    return value.lstrip().startswith("!")


# pattern of the whole name -> which values, and why. Sections and keys are in lower case.
RUNS_PROGRAMS: tuple[tuple[str, Dangerous, str], ...] = (
    ("core.fsmonitor", _names_a_program, "asked for changed files"),
    ("core.sshcommand", _always, "run to connect"),
    ("core.gitproxy", _always, "run to connect"),
    ("core.hookspath", _always, "a directory of hooks"),
    ("core.editor", _always, "run for messages"),
    ("core.pager", _always, "run for output"),
    ("core.askpass", _always, "run for passwords"),
    ("core.alternaterefscommand", _always, "run on fetch"),
    ("sequence.editor", _always, "run on rebase"),
    ("interactive.difffilter", _always, "run on add -p"),
    ("pager.*", _names_a_program, "run for output"),
    ("alias.*", _always, "a command of its own"),
    ("credential.helper", _always, "run for passwords"),
    ("credential.*.helper", _always, "run for passwords"),
    ("diff.external", _always, "run on diff"),
    ("diff.*.command", _always, "run on diff"),
    ("diff.*.textconv", _always, "run on diff and log"),
    ("difftool.*.cmd", _always, "run on difftool"),
    ("difftool.*.path", _always, "run on difftool"),
    ("merge.*.driver", _always, "run on merge"),
    ("mergetool.*.cmd", _always, "run on mergetool"),
    ("mergetool.*.path", _always, "run on mergetool"),
    ("filter.*.clean", _always, "run on add"),
    ("filter.*.smudge", _always, "run on checkout"),
    ("filter.*.process", _always, "run on add and checkout"),
    ("gpg.program", _always, "run on signing"),
    ("gpg.*.program", _always, "run on signing"),
    ("gpg.ssh.defaultkeycommand", _always, "run on signing"),
    ("trailer.*.cmd", _always, "run on commit"),
    ("trailer.*.command", _always, "run on commit"),
    ("tar.*.command", _always, "run on archive"),
    ("hook.*", _always, "hooks by configuration"),
    ("gc.recentobjectshook", _always, "run on gc"),
    ("receive.procreceiverefs", _always, "runs a hook"),
    ("uploadpack.packobjectshook", _always, "run on fetch from here"),
    ("remote.*.uploadpack", _always, "run on fetch"),
    ("remote.*.receivepack", _always, "run on push"),
    ("remote.*.vcs", _always, "runs a helper program"),
    ("remote.*.url", _by_helper, "runs a helper program"),
    ("remote.*.pushurl", _by_helper, "runs a helper program"),
    ("branch.*.remote", _by_helper, "runs a helper program"),
    ("branch.*.pushremote", _by_helper, "runs a helper program"),
    ("protocol.*", _always, "allows addresses that are commands"),
    ("submodule.*.update", _by_shell, "run on submodule update"),
    ("submodule.*.url", _by_helper, "runs a helper program"),
    ("browser.*", _always, "run on help"),
    ("man.*", _always, "run on help"),
    ("guitool.*", _always, "run from git gui"),
    ("instaweb.*", _always, "run on instaweb"),
    ("imap.tunnel", _always, "run on imap-send"),
    ("sendemail.*", _always, "run on send-email"),
    ("svn.*", _always, "run by git svn"),
    ("svn-remote.*", _always, "run by git svn"),
    ("git-p4.*", _always, "run by git p4"),
    ("lfs.customtransfer.*", _always, "run by git lfs"),
    ("lfs.extension.*", _always, "run by git lfs"),
    ("annex.*", _always, "run by git annex"),
    ("include.path", _always, "another file of settings"),
    ("includeif.*", _always, "another file of settings"),
    ("init.templatedir", _always, "hooks of new repositories"),
    ("extensions.worktreeconfig", _always, "another file of settings"),
)
_BY_SECTION: dict[str, list[tuple[str, Dangerous, str]]] = {}
for _row in RUNS_PROGRAMS:
    _BY_SECTION.setdefault(_row[0].partition(".")[0], []).append(_row)


def why_dangerous(entry: Entry) -> str | None:
    """The reason, if the setting makes git run something or read more settings."""
    if entry.section == "url":
        return "runs a helper program" if _by_helper(entry.subsection or "") else None
    value = "true" if entry.value is None else entry.value
    for pattern, dangerous, why in _BY_SECTION.get(entry.section, ()):
        if fnmatchcase(entry.name, pattern) and dangerous(value):
            return why
    return None
