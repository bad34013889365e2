"""A session of files begins when its last receiver has joined, and is over when the last one has confirmed."""

import random

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram, PeerFinished, PeerJoined, SessionEnded
from hosts.protocol import Session
from tests.hosts.host import Host
from tests.hosts.network import Network

GROUP = Address("232.1.1.1", 5000)
AT_ONCE_S = 0.3
"""For a person: the programs add their own start and end to that."""
FULL_BYTES = 1000
"""What a packet with data has at least."""


def last(host: Host, kind: type) -> float:
    return max(at for at, event in host.events if isinstance(event, kind))


@pytest.mark.parametrize("name", ["mtcp", "rla", "tfmcc", "arbor"])
def test_the_first_data_and_the_end_come_at_once(name: str) -> None:
    protocol = protocols.get(name)
    network = Network(2)
    network.link("sender", "router", rate_bps=100e6, delay_s=0.002)
    data_at: list[float] = []

    def tap(node: str, datagram: Datagram) -> None:
        if datagram.destination == GROUP and len(datagram.data) > FULL_BYTES:
            data_at.append(network.now)

    network.tap = tap
    sender = protocol.sender(Session(GROUP, None, 7, 3, 5.0), random.Random(1), {})
    host = network.host("sender", sender, source=random.Random(3).randbytes(200_000))
    for number in range(3):
        network.link("router", f"r{number}", rate_bps=100e6)
        network.host(f"r{number}", protocol.receiver(Session(GROUP), random.Random(number), {}))
    network.run_until_ended(20)
    assert host.end is not None
    assert host.end.complete
    assert 0 <= data_at[0] - last(host, PeerJoined) < AT_ONCE_S
    assert 0 <= last(host, SessionEnded) - last(host, PeerFinished) < AT_ONCE_S
