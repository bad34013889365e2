"""A session over a tree has a least rate, and somebody in it is too slow: that one is sent away, and nobody else.

Its agent answers for it at the sender, who asks those below to come, and then sees who it is.
"""

import pytest

from hosts.endpoint import PeerDropped
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.world import World

RATE_BPS = 5e6
LEAST_BPS = 500e3
PATIENCE_S = 5.0
SLOW_BPS = 100e3
SIZE = 3_000_000
BUSH = {1: 0, 2: 0}
"""The fourth receiver is the sender's."""
CHAIN = {1: 0, 2: 1, 3: 1}


def slow_world(parents: dict[int, int], slow: int, limited: str) -> World:
    policy = {"least_rate_bps": LEAST_BPS, "least_rate_s": PATIENCE_S}
    buffers = {"buffer_bytes": 100_000} if limited == "reader" else {}
    world = World(4, size=SIZE, rate_bps=RATE_BPS, parents=parents, parameters={**policy, **buffers})
    if limited == "reader":
        world.receivers[slow].consume_bps = SLOW_BPS
    else:
        link = world.links[slow][0]
        link.rate_bps, link.limit_packets = SLOW_BPS, 25
    return world


@pytest.mark.parametrize("limited", ["link", "reader"])
@pytest.mark.parametrize(
    ("parents", "slow"), [(BUSH, 2), (BUSH, 0), (BUSH, 3), (CHAIN, 3)], ids=["leaf", "agent", "beside", "deep"]
)
def test_only_who_is_too_slow_is_sent_away(parents: dict[int, int], slow: int, limited: str) -> None:
    world = slow_world(parents, slow, limited)
    world.network.run_until_ended(100)
    last = world.receivers[slow]
    dropped = [PeerDropped(last.address, Reason.TOO_SLOW.text)]
    assert world.sender.events_of(PeerDropped) == dropped
    assert all(bytes(host.received) == world.data for host in world.receivers if host is not last)
    assert last.endpoint.closed
    assert world.sender.end is not None
    assert world.sender.end.reason == f"{last.address}: {Reason.TOO_SLOW.text}"
    assert not world.sender.end.complete


def test_who_limits_the_session_is_shown() -> None:
    """As `canopy ctl sessions` shows it: first the agent above it, then itself."""
    world = slow_world(BUSH, 2, "link")
    shown: list[str] = []
    while not world.sender.events_of(PeerDropped):
        world.network.run(world.network.now + 1.0)
        row = world.sender_core.sample(now=world.network.now)["limiting"]
        if isinstance(row, dict) and world.network.now > 3:
            shown.append(row["receiver"])
    agent, leaf = (world.receivers[index].address.host for index in (0, 2))
    assert list(dict.fromkeys(shown))[:2] == [agent, leaf]
