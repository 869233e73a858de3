"""Which command listens on a port."""

from __future__ import annotations

import socket

import pytest

from fairlead.spawn import listening
from tests.spawn.running import AnySpawner, eventually, python, start

SERVER = """
import os, socket, time
with socket.create_server(({host!r}, 0), family={family}) as server:
    print(server.getsockname()[1], flush=True)
    {how}
"""
ITSELF = "time.sleep(1000)"
ITS_CHILD = "os.fork() and (server.close(), time.sleep(1000)); os.setsid(); time.sleep(1000)"


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", "socket.AF_INET"), ("::", "socket.AF_INET6")]
)
@pytest.mark.parametrize("how", [ITSELF, ITS_CHILD], ids=["itself", "child"])
async def test_a_listening_port_is_seen(
    spawner: AnySpawner, host: str, family: str, how: str
) -> None:
    """Of the command itself or of a child, IPv4 or IPv6; another port is not its own."""
    code = SERVER.format(host=host, family=family, how=how)
    running = await start(spawner, python(code))
    await running.output.shows(b"\n")
    port = int(running.output.data)
    await eventually(lambda: running.process.listens_on(port))
    with socket.create_server(("127.0.0.1", 0)) as ours:
        assert not running.process.listens_on(ours.getsockname()[1])
    assert await running.process.end_tree(0.0) == ()
    assert not running.process.listens_on(port)


def test_nobody_listens_nowhere() -> None:
    """Without processes there is no answer but no."""
    assert listening.any_listens([], 80) is False
    assert listening.listening_sockets(1 << 22, 80) == set()
