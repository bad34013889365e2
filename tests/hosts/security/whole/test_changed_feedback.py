"""What receivers say to their sender in a sealed session reaches it as they said it, or not at all: whoever passes it
on and changes a bit is a forger, whatever the protocol, and the session goes on."""

import random

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram
from hosts.protocol import Session
from hosts.security.keys import GroupKeys
from hosts.security.secured import secure
from tests.hosts.network import Network

KEYS = GroupKeys([(1, bytes(32))])
GROUP = Address("239.1.1.1", 5000)
EACH = 5
"""Packet to the sender is changed."""
SPEAKING = ("mtcp", "rla", "tfmcc", "vlmcc", "arbor")
"""Protocols whose senders hear of their receivers."""


class Meddling(Network):
    """Flips a bit on the way from the receivers, each time another one."""

    def __init__(self) -> None:
        super().__init__(1)
        self.passed = 0
        self.changed = 0

    def forward(self, node: str, datagram: Datagram) -> None:
        if node == "sender" and datagram.destination == self.address("sender"):
            self.passed += 1
            if self.passed % EACH == 0:
                data = bytearray(datagram.data)
                bit = self.changed * 11 % (8 * len(data))
                data[bit // 8] ^= 1 << bit % 8
                datagram = datagram._replace(data=bytes(data))
                self.changed += 1
        super().forward(node, datagram)


@pytest.mark.parametrize("name", SPEAKING)
def test_changed_feedback_is_none(name: str) -> None:
    network = Meddling()
    protocol = secure(protocols.get(name), KEYS, random.Random(1), lambda: network.now)
    network.link("sender", "switch", rate_bps=1e8)
    network.link("switch", "r0", rate_bps=4e6, delay_s=0.01)
    network.link("switch", "r1", rate_bps=4e6, delay_s=0.02)
    realtime = not protocol.carries_files
    data = random.Random(1).randbytes(1_000_000)
    session = Session(GROUP, network.address("sender").host, 7, receivers=2, realtime=realtime)
    sender = network.host("sender", protocol.sender(session, random.Random(2)), source=data)
    sender.endless = realtime
    receivers = [network.host(f"r{n}", protocol.receiver(session, random.Random(3 + n))) for n in range(2)]
    network.run(10.0) if realtime else network.run_until_ended(30.0)
    counters = sender.endpoint.counters
    assert network.changed >= 3
    assert counters["opened"] == network.passed - network.changed, counters
    if realtime:
        assert counters["data_packets"] > 1000
    else:
        assert all(bytes(host.received) == data for host in receivers)
        assert sender.end is not None
        assert sender.end.complete
