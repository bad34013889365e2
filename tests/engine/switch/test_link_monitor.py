"""Which interfaces are up, from rtnetlink."""

import asyncio
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.switch.link_monitor import IFF_RUNNING, IFF_UP, RTM_DELLINK, RTM_NEWLINK, LinkMonitor, link_changes
from tests.engine.namespaces import Namespace, ip

LIMIT_S = 10.0


def message(index: int, flags: int, kind: int = RTM_NEWLINK, attributes: bytes = b"") -> bytes:
    body = struct.pack("=BxHiII", 0, 1, index, flags, 0xFFFFFFFF) + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body + bytes(-len(body) % 4)


def test_up_is_administratively_up_with_a_carrier() -> None:
    data = (
        message(3, IFF_UP | IFF_RUNNING, attributes=b"abc")
        + message(4, IFF_UP)
        + message(5, IFF_RUNNING)
        + message(6, IFF_UP | IFF_RUNNING, RTM_DELLINK)
        + message(7, IFF_UP | IFF_RUNNING, kind=20)
    )
    assert link_changes(data) == [(3, True), (4, False), (5, False), (6, False)]


@given(st.binary(max_size=200))
def test_any_bytes_end(data: bytes) -> None:
    link_changes(data)
    link_changes(message(1, IFF_UP) + data)


def test_a_missing_interface_is_an_error() -> None:
    with pytest.raises(OSError, match=r"No such device|no interface"):
        LinkMonitor({1: "nothere0"})


@pytest.mark.root
async def test_a_ports_interface_goes_down_and_up(space: Namespace) -> None:
    ip("link", "add", "a0", "type", "veth", "peer", "name", "b0")
    ip("link", "set", "a0", "up")
    monitor = LinkMonitor({4: "a0"})
    assert not monitor.is_up("a0"), "its peer is down"
    changed: asyncio.Queue[tuple[int, bool]] = asyncio.Queue()
    monitor.start(lambda port: changed.put_nowait((port, monitor.is_up("a0"))))
    for state, up in (("up", True), ("down", False), ("up", True)):
        ip("link", "set", "b0", state)
        assert await asyncio.wait_for(changed.get(), LIMIT_S) == (4, up)
    ip("link", "del", "a0")
    assert await asyncio.wait_for(changed.get(), LIMIT_S) == (4, False)
    monitor.stop()
    monitor.stop()
