"""The tier for macOS: the same walls, as a profile for `sandbox-exec`.

Pure. Of rules that match, the last one holds, so the rules of an access keep their order. Paths
are parameters of the profile and never part of its text: no name can mean anything in it.

Not run yet: tested as text, on other systems. What is in doubt is left closed. Hard links and
clones are never allowed, since it is not certain which of their two ends is checked; a loopback is
nobody's own there, so with the network off there is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.model.access import Access, Network, PathMode, PathRule
from fairlead.sandbox.limits import held_together
from fairlead.sandbox.wrapper import Wrapper

PROGRAM = "/usr/bin/sandbox-exec"

# What programs need to live: to start others, to signal and to see their own, semaphores and shared
# memory as Python's multiprocessing has them, terminals of their own.
_LIFE = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read user-preference-read)
(allow ipc-posix-sem ipc-posix-shm*)
(allow pseudo-tty)
(allow file-read* file-map-executable)"""

# Who a user is, where temporary files go, and logs. Nothing that starts programs outside, has keys,
# or speaks to windows.
_SERVICES = (
    "com.apple.bsd.dirhelper",
    "com.apple.logd",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
)
_NETWORK_SERVICES = (
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.SystemConfiguration.configd",
    "com.apple.networkd",
    "com.apple.trustd.agent",  # whether a certificate is good
)

# The content of a device is no file's. Terminals only those that were made inside; a terminal that
# was handed in is open already, and is asked for its size.
_DEVICES = """\
(deny file-read-data file-write* (subpath "/dev"))
(allow file-read-data (literal "/dev") (subpath "/dev/fd"))
(allow file-read-data file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") \
(literal "/dev/random") (literal "/dev/urandom") (literal "/dev/tty") (literal "/dev/ptmx") \
(literal "/dev/dtracehelper"))
(allow file-read-data file-write-data file-ioctl (require-all (regex #"^/dev/ttys[0-9]+$") \
(extension "com.apple.sandbox.pty")))
(allow file-ioctl (regex #"^/dev/ttys[0-9]+$"))"""

# Not to sockets in the file system: other programs listen on those. But one of them knows names.
_INTERNET = """\
(allow network-outbound (remote ip "*:*") (literal "/private/var/run/mDNSResponder"))
(allow network-bind network-inbound (local ip "*:*"))
(allow system-socket (socket-domain AF_ROUTE))"""

_PRIVATE_TMP = "/private/tmp"


def render(access: Access) -> Wrapper:
    """What stands around every command under this access."""
    given = (f"-D{name}={path}" for name, path in parameters(access).items())
    return Wrapper(argv=(PROGRAM, "-p", profile(access), *given))


def missing(access: Access) -> tuple[str, ...]:
    """What this tier can't do, in words of `MISSING`."""
    return (
        *(["private-tmp"] if access.private_tmp else []),
        "pid-namespace",
        "terminals",  # what is typed into its own one (TIOCSTI) is read by whoever is next there
        "shared-memory",
        "seccomp",
        *(["shared-limits"] if held_together(access.limits) else []),
    )


def profile(access: Access) -> str:
    """The profile's text. It depends on what kinds of rules there are, and on no path."""
    return "\n".join(
        [
            _LIFE,
            _lookup(_SERVICES),
            _DEVICES,
            *(f"(allow file-read-data file-write-data file-ioctl {it})" for it in _asked(access)),
            *_internet(access),
            *_temporary(access),
            *(line for n, rule in enumerate(access.rules) for line in _ruled(rule, f"RULE_{n}")),
            *(_closed("file-write*", f"ABSENT_{n}") for n, _ in enumerate(access.absent)),
            "",
        ]
    )


def parameters(access: Access) -> dict[str, str]:
    """The paths, by the names that the profile has for them."""
    return {
        **{f"DEVICE_{n}": path for n, path in enumerate(access.devices)},
        **{f"RULE_{n}": rule.path for n, rule in enumerate(access.rules)},
        **{f"ABSENT_{n}": path for n, path in enumerate(access.absent)},
    }


def _lookup(services: tuple[str, ...]) -> str:
    named = " ".join(f'(global-name "{name}")' for name in services)
    return f"(allow mach-lookup {named})"


def _asked(access: Access) -> Iterator[str]:
    return (f'(subpath (param "DEVICE_{n}"))' for n, _ in enumerate(access.devices))


def _internet(access: Access) -> Iterator[str]:
    if access.network is Network.FULL:
        yield _INTERNET
        yield _lookup(_NETWORK_SERVICES)


def _temporary(access: Access) -> Iterator[str]:
    if access.private_tmp:  # it is missing that it is private, not that it is there
        yield f'(allow file-write* (subpath "{_PRIVATE_TMP}"))'


def _ruled(rule: PathRule, name: str) -> Iterator[str]:
    kind = "subpath" if rule.directory else "literal"
    place = f'({kind} (param "{name}"))'
    match rule.mode:
        case PathMode.WRITE:
            yield f"(allow file-write* {place})"
            # Moved away, what is closed in it would be open under the new name.
            yield f'(deny file-write-unlink (literal (param "{name}")))'
        case PathMode.READ:
            yield f"(deny file-write* {place})"
        case PathMode.HIDE:
            yield f"(deny file-read* file-write* process-exec* network* {place})"


def _closed(operations: str, name: str) -> str:
    """Also what is not there yet: here a name needs no mount to be kept from appearing."""
    return f'(deny {operations} (subpath (param "{name}")))'
