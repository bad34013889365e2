"""Strangers join files over MTCP and RLA, which admit receivers while the first packets are on their way, and say no
more: the others get theirs, a little later, and the sender names the stranger and ends well.
"""

from collections.abc import Callable
from typing import Any

import pytest

from hosts.endpoint import Address, Datagram, PeerDropped
from hosts.protocols.mtcp.control import JOIN as MTCP_JOIN
from hosts.protocols.mtcp.control import Join as MtcpJoin
from hosts.protocols.rla.packets import JOIN as RLA_JOIN
from hosts.protocols.rla.packets import Join as RlaJoin
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.world import World as MtcpWorld
from tests.hosts.protocols.rla.world import World as RlaWorld

STRANGER = Address("10.7.0.1", 7000)
SIZE = 2_000_000
MOST_DELAY_S = 3.0
"""As for any packet of a stranger (topologies/attacks.py)."""
WINDOW = 1 << 24


def mtcp_join(session: int) -> bytes:
    return MTCP_JOIN.encode(MtcpJoin(session, False, True, False, True, 0, WINDOW, 0))


def rla_join(session: int) -> bytes:
    return RLA_JOIN.encode(RlaJoin(session, True, WINDOW))


WORLDS: dict[str, tuple[Callable[..., Any], Callable[[int], bytes]]] = {
    "mtcp": (MtcpWorld, mtcp_join),
    "rla": (RlaWorld, rla_join),
}


def run(name: str, copies: int, *, wanted: int = 2, kills: bool = False) -> Any:
    """The stranger's JOIN comes with the first data; `kills`: then the second receiver dies."""
    make, join = WORLDS[name]
    world = make(2, size=SIZE, wanted=wanted, wait=1.0)
    network, group = world.network, world.receivers[0].endpoint.session.group
    came = False

    def hear(node: str, datagram: Datagram) -> None:
        nonlocal came
        if came or node != "core" or datagram.destination != group or len(datagram.data) < 1000:
            return
        came = True
        packet = Datagram(join(world.sender_core.number), STRANGER, world.sender.address)
        for _ in range(copies):
            network.at(network.now, world.sender.receive, packet)
        if kills:
            network.at(network.now, world.receivers[1].kill)

    network.tap = hear
    network.run_until_ended(100)
    assert came
    return world


def ends_s(world: Any) -> float:
    return max(float(host.progress[-1][0]) for host in world.receivers)


@pytest.mark.parametrize("name", WORLDS)
def test_a_stranger_that_joins_does_not_make_the_session_fail(name: str) -> None:
    world = run(name, 100)
    assert all(bytes(host.received) == world.data for host in world.receivers)
    assert world.sender.events_of(PeerDropped) == [PeerDropped(STRANGER, Reason.UNPROVEN.text)]
    assert world.sender.end.complete
    assert world.sender.end.reason == f"{STRANGER}: {Reason.UNPROVEN.text}"
    assert ends_s(world) < ends_s(run(name, 0)) + MOST_DELAY_S
    assert world.network.now < 10


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("strangers", [0, 1])
def test_a_receiver_that_is_missing_does(name: str, strangers: int) -> None:
    """It has died before it acknowledged anything, as if it had been a stranger; but it was asked for."""
    world = run(name, strangers, kills=True)
    assert not world.sender.end.complete
    assert str(world.receivers[1].address) in world.sender.end.reason
