"""A member that keeps a session below its least rate is sent away, and the others go on, by all protocols that know
their receivers. One that claims losses, or that it is slow, cannot be told from one that is so.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hosts.endpoint import PeerDropped
from hosts.wire.reason import Reason
from tests.hosts.files import FileWorld
from tests.hosts.protocols.arbor.world import World as ArborStar
from tests.hosts.protocols.mtcp.world import World as MtcpWorld
from tests.hosts.protocols.rla.world import World as RlaWorld
from tests.hosts.protocols.tfmcc.world import World as TfmccStar
from tests.hosts.protocols.vlmcc.world import World as VlmccStar

LEAST_BPS = 1e6
SLOW_BPS = 200e3
PATIENCE_S = 5.0
SIZE = 6_000_000
"""5 s at the bottleneck's 10 Mbit/s, 30 s at the least rate and 240 s at the slow one."""

WORLDS: dict[str, Callable[..., Any]] = {
    "mtcp": MtcpWorld,
    "rla": RlaWorld,
    "arbor": partial(FileWorld, "arbor"),
    "tfmcc": partial(FileWorld, "tfmcc"),
}
LIMITED = [
    *[("link", name) for name in WORLDS],
    *[("losses", name) for name in WORLDS],
    ("reader", "mtcp"),
    ("reader", "rla"),
]


def policy(name: str) -> dict[str, Any]:
    """The others go by their own time: TFMCC by the first report, VLMCC by ten round trips."""
    return {"least_rate_bps": LEAST_BPS, **({"least_rate_s": PATIENCE_S} if name in ("mtcp", "rla", "arbor") else {})}


def world_with(limited: str, name: str, parameters: dict[str, Any]) -> Any:
    """The last of four receivers has a slow link, loses much, or its application reads slowly."""
    buffers = {"buffer_bytes": 200_000} if limited == "reader" else {}
    world = WORLDS[name](4, size=SIZE, parameters={**parameters, **buffers})
    link = world.network._links["edge"]["r3"]
    if limited == "link":
        link.rate_bps, link.limit_packets = SLOW_BPS, 50
    elif limited == "losses":
        link.loss = 0.3
    else:
        world.receivers[3].consume_bps = SLOW_BPS
    return world


@pytest.mark.parametrize(("limited", "name"), LIMITED)
def test_the_others_get_a_file_at_their_rate(limited: str, name: str) -> None:
    world = world_with(limited, name, policy(name))
    world.network.run_until_ended(60)
    last = world.receivers[3]
    assert world.sender.events_of(PeerDropped) == [PeerDropped(last.address, Reason.TOO_SLOW.text)]
    assert all(bytes(host.received) == world.data for host in world.receivers[:3])
    assert not world.sender.end.complete
    assert str(last.address) in world.sender.end.reason
    assert last.endpoint.closed


@pytest.mark.parametrize("name", WORLDS)
def test_without_the_policy_they_wait(name: str) -> None:
    world = world_with("link", name, {"drop_after_s": 100.0})
    world.network.run(60)
    assert not world.sender.events_of(PeerDropped)
    assert not world.sender.endpoint.closed


@pytest.mark.parametrize("name", WORLDS)
def test_nobody_is_sent_away_where_all_get_more(name: str) -> None:
    world = WORLDS[name](4, size=SIZE, parameters=policy(name))
    world.network.run_until_ended(60)
    assert world.sender.end.complete, world.sender.end.reason


STARS: dict[str, Callable[..., Any]] = {"arbor": ArborStar, "tfmcc": TfmccStar, "vlmcc": VlmccStar}


@pytest.mark.parametrize("name", STARS)
def test_a_stream_goes_on_at_the_others_rate(name: str) -> None:
    links = [{"rate_bps": rate, "delay_us": 10_000, "limit_packets": 30} for rate in (8e6, 8e6, SLOW_BPS)]
    world = STARS[name](links, options=policy(name), bottleneck={"rate_bps": 5e6, "delay_us": 5_000})
    world.run(30)
    assert world.rate(0, 30, 40) > 3 * LEAST_BPS
    assert not any(receiver.closed for receiver in world.receivers[:2])
