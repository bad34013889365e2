"""Whoever has no keys changes nothing in a sealed session: with forgeries, replays and mutations in it, it goes as it
does without them, to the last packet."""

import random
from collections import Counter
from typing import Any

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram
from hosts.protocol import Session
from hosts.security.keys import GroupKeys
from hosts.security.secured import secure
from tests.hosts.host import Host
from tests.hosts.network import Network

GROUP = Address("239.6.0.0", 5000)
KEYS = GroupKeys([(1, bytes(range(32)))])
OPTIONS: dict[str, dict[str, Any]] = {
    "webrc": {"session_rate_bps": 1e6, "slot_s": 2.0, "quiescence_s": 10.0, "epoch_s": 0.1}
}
FORGED_PER_S = 200
RUN_S = 4.0
RECEIVERS = 2


class Stranger:
    """Hears all that arrives anywhere, and sends from any address, as nothing in a plain LAN keeps it from."""

    def __init__(self, network: Network, seed: int) -> None:
        self.rng = random.Random(seed)
        self.network = network
        self.heard: list[tuple[str, Datagram]] = []
        """Who got what: only this has come, and is not on its way."""
        self.sent = 0

    def hear(self, node: str, datagram: Datagram) -> None:
        """What the network tells of each arrival."""
        gone = datagram.destination == GROUP and not self.network.is_member(GROUP, node)
        if node in self.network.hosts and not gone:  # what comes to who has left the group, its endpoint does not get
            self.heard.append((node, datagram))

    def act(self) -> None:
        """Send something, and again in a while."""
        if self.heard:
            node, datagram = self.rng.choice(self.heard)
            forged: Datagram = self.rng.choice((self.mutated, self.other_place, self.other_keys, self.again))(datagram)
            victims = [node] if forged == datagram else list(self.network.hosts)
            for victim in victims:
                self.sent += 1
                host = self.network.hosts[victim]
                assert host.endpoint.receive(forged, now=host.now) == ()
        self.network.at(self.network.now + self.rng.expovariate(FORGED_PER_S), self.act)

    def again(self, datagram: Datagram) -> Datagram:
        return datagram

    def mutated(self, datagram: Datagram) -> Datagram:
        data = bytearray(datagram.data)
        if self.rng.random() < 0.2:
            return datagram._replace(data=bytes(data[: self.rng.randrange(len(data))]))
        data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
        return datagram._replace(data=bytes(data))

    def other_place(self, datagram: Datagram) -> Datagram:
        """The same packet from or to somebody else, as the sender's back to itself."""
        places = {Address("10.9.9.9", 9), GROUP, *(host.address for host in self.network.hosts.values())}
        if self.rng.random() < 0.5:
            return datagram._replace(source=self.rng.choice(sorted(places - {datagram.source})))
        return datagram._replace(destination=self.rng.choice(sorted(places - {datagram.destination})))

    def other_keys(self, datagram: Datagram) -> Datagram:
        """An open packet, or one of a member of another group."""
        kind = self.rng.choice((1, 2, 0x10))
        return datagram._replace(data=bytes([kind]) + datagram.data[1:12] + self.rng.randbytes(40))


def session(name: str, *, attacked: bool) -> tuple[Network, list[Host], Stranger]:
    """One that has run for a while."""
    network = Network(1)
    protocol = secure(protocols.get(name), KEYS, random.Random(1), lambda: network.now)
    realtime = not protocol.carries_files or not protocol.knows_receivers
    source = network.address("sender").host
    network.link("sender", "hub", rate_bps=1e6, delay_s=0.005)
    sender = protocol.sender(Session(GROUP, None, 7, RECEIVERS, realtime=realtime), random.Random(1), OPTIONS.get(name))
    hosts = [network.host("sender", sender, source=random.Random(1).randbytes(300_000))]
    hosts[0].endless = realtime
    for number in range(RECEIVERS):
        network.link("hub", f"r{number}", rate_bps=10e6, delay_s=0.005, loss=0.01)
        receiver = protocol.receiver(
            Session(GROUP, source, 7, realtime=realtime), random.Random(number), OPTIONS.get(name)
        )
        hosts.append(network.host(f"r{number}", receiver))
    stranger = Stranger(network, 5)
    network.tap = stranger.hear
    if attacked:
        network.at(0.01, stranger.act)
    network.run(RUN_S)
    return network, hosts, stranger


@pytest.mark.parametrize("name", protocols.names())
def test_a_stranger_changes_nothing(name: str) -> None:
    _, alone, _ = session(name, attacked=False)
    _, attacked, stranger = session(name, attacked=True)
    assert stranger.sent > FORGED_PER_S
    dropped: Counter[str] = Counter()
    for one, other in zip(alone, attacked, strict=True):
        assert one.events == other.events
        assert one.progress == other.progress
        counters, others = Counter(one.endpoint.counters), Counter(other.endpoint.counters)
        dropped += others - counters
    assert set(dropped) <= {
        *("drop_forged", "drop_replayed", "drop_own", "drop_open", "drop_epoch", "drop_stale"),
        "drop_sealed",
    }
    assert sum(dropped.values()) == stranger.sent


def test_a_session_of_yesterday_is_not_begun_again() -> None:
    """Its announcements and data, with the same keys: the recording is of another time."""
    _, _, stranger = session("mtcp", attacked=False)
    later = Network(2)
    protocol = secure(protocols.get("mtcp"), KEYS, random.Random(2), lambda: later.now + 86400)
    receiver = later.host("r0", protocol.receiver(Session(GROUP), random.Random(1)))
    for node, datagram in stranger.heard:
        if node == "r0":
            later.at(0.1, receiver.receive, datagram._replace(source=later.address("sender")))
            later.at(0.1, receiver.receive, datagram)
    later.run(1.0)
    assert receiver.endpoint.session_id is None
    assert receiver.events == []
    assert receiver.endpoint.counters["drop_stale"] > 100
