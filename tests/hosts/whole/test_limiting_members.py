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

RATE_BPS = 10e6
LEAST_BPS = 1e6
SLOW_BPS = 200e3
PATIENCE_S = 5.0
SIZE = 6_000_000
"""5 s at the bottleneck's rate, 30 s at the least one and 240 s at the slow one."""
SCALE = 0.25
"""All of these are so much smaller, but where losses make the slow rate: that is one of packets and round trips."""

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


def policy(name: str, scale: float) -> dict[str, Any]:
    """The others go by their own time: TFMCC by the first report, VLMCC by ten round trips."""
    return {
        "least_rate_bps": scale * LEAST_BPS,
        **({"least_rate_s": PATIENCE_S} if name in ("mtcp", "rla", "arbor") else {}),
    }


def world_with(limited: str, name: str, parameters: dict[str, Any], scale: float) -> Any:
    """The last of four receivers has a slow link, loses much, or its application reads slowly."""
    buffers = {"buffer_bytes": round(scale * 200_000)} if limited == "reader" else {}
    world = file_world(name, {**parameters, **buffers}, scale)
    link = world.network._links["edge"]["r3"]
    if limited == "link":
        link.rate_bps, link.limit_packets = scale * SLOW_BPS, round(scale * 50)
    elif limited == "losses":
        link.loss = 0.3
    else:
        world.receivers[3].consume_bps = scale * SLOW_BPS
    return world


def file_world(name: str, parameters: dict[str, Any], scale: float) -> Any:
    """Four receivers of a file."""
    return WORLDS[name](4, size=round(scale * SIZE), rate_bps=scale * RATE_BPS, parameters=parameters)


@pytest.mark.parametrize(("limited", "name"), LIMITED)
def test_the_others_get_a_file_at_their_rate(limited: str, name: str) -> None:
    scale = 1.0 if limited == "losses" else SCALE
    world = world_with(limited, name, policy(name, scale), scale)
    world.network.run_until_ended(60)
    last = world.receivers[3]
    assert world.sender.events_of(PeerDropped) == [PeerDropped(last.address, Reason.TOO_SLOW.text)]
    assert all(bytes(host.received) == world.data for host in world.receivers[:3])
    assert not world.sender.end.complete
    assert str(last.address) in world.sender.end.reason
    assert last.endpoint.closed


@pytest.mark.parametrize("name", WORLDS)
def test_without_the_policy_they_wait(name: str) -> None:
    world = world_with("link", name, {"drop_after_s": 100.0}, SCALE)
    world.network.run(60)
    assert not world.sender.events_of(PeerDropped)
    assert not world.sender.endpoint.closed


@pytest.mark.parametrize("name", WORLDS)
def test_nobody_is_sent_away_where_all_get_more(name: str) -> None:
    world = file_world(name, policy(name, SCALE), SCALE)
    world.network.run_until_ended(60)
    assert world.sender.end.complete, world.sender.end.reason


STARS: dict[str, tuple[Callable[..., Any], float]] = {
    "arbor": (ArborStar, SCALE),
    "tfmcc": (TfmccStar, SCALE),
    "vlmcc": (VlmccStar, 1.0),  # it takes longer to find out with fewer packets
}


@pytest.mark.parametrize("name", STARS)
def test_a_stream_goes_on_at_the_others_rate(name: str) -> None:
    star, scale = STARS[name]
    rates = [scale * rate for rate in (8e6, 8e6, SLOW_BPS)]
    links = [{"rate_bps": rate, "delay_us": 10_000, "limit_packets": 30} for rate in rates]
    world = star(links, options=policy(name, scale), bottleneck={"rate_bps": scale * 5e6, "delay_us": 5_000})
    world.run(30)
    assert world.rate(0, 30, 35) > 3 * scale * LEAST_BPS
    assert not any(receiver.closed for receiver in world.receivers[:2])
