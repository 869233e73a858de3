"""Sockets of every kind."""

from __future__ import annotations

from tests.kernel.probes.model import Probe, denied

NETWORK: tuple[Probe, ...] = (
    denied(
        "TCP to the host's loopback",
        'socket.create_connection(("127.0.0.1", PORT), 2)',
        unless="network",
    ),
    denied(
        "TCP to an address outside",
        'socket.create_connection(("192.0.2.1", 80), 1)',
        unless="network",
    ),
    denied(
        "UDP out",
        's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("192.0.2.1", 53))',
        unless="network",
    ),
    denied("DNS", 'socket.getaddrinfo("example.org", 80)', unless="network"),
    denied(
        "IPv6 out",
        's = socket.socket(socket.AF_INET6); s.settimeout(1); s.connect(("2001:db8::1", 80))',
        unless="network",
    ),
    denied("a raw socket", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    denied("a packet socket", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)"),
    denied("vsock", "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)"),
    denied("netlink", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)"),
    denied("the kernel's crypto sockets", "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)"),
    denied("bluetooth", "socket.socket(31, socket.SOCK_RAW, 1)"),
    denied(
        "an abstract socket outside",
        "socket.socket(socket.AF_UNIX).connect(ABSTRACT)",
        unless="unix-sockets network",
    ),
    denied(
        "a socket outside by path (docker.sock)",
        "socket.socket(socket.AF_UNIX).connect(SOCKET)",
        unless="unix-sockets",
    ),
    denied(
        "a socket outside by a link",
        'os.symlink(SOCKET, "s"); socket.socket(socket.AF_UNIX).connect("s")',
        unless="unix-sockets",
    ),
    denied(
        "the ssh agent",
        'socket.socket(socket.AF_UNIX).connect(os.environ.get("AGENT_SOCKET") or SOCKET)',
        unless="unix-sockets",
    ),
    denied(
        "D-Bus",
        'socket.socket(socket.AF_UNIX).connect("/run/dbus/system_bus_socket")',
        unless="unix-sockets",
    ),
    denied(
        "a datagram to a socket outside",
        's = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b"x", SOCKET + ".dgram")',
    ),
    denied(
        "a datagram from a pair to a socket outside",
        'a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b"x", SOCKET + ".dgram")',
    ),
    denied(
        "a socket outside through /proc/self/root",
        'os.symlink("/proc/self/root" + SOCKET, "s"); socket.socket(socket.AF_UNIX).connect("s")',
        unless="unix-sockets",
    ),
    denied(
        "a socket outside by another name of it",
        'os.link(SOCKET, "s"); socket.socket(socket.AF_UNIX).connect("s")',
        unless="unix-sockets",
    ),
    denied(
        "remove a socket outside",
        "os.unlink(SOCKET)",
    ),
    denied(
        "netlink with high bits set",
        "call(41, 198, ctypes.c_ulong(0xffffffff00000010), 3, 0)",
    ),
    denied("SCTP", "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)"),
    denied("a raw IPv6 socket", "socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)"),
)
